"""Makes data sets that chose none of `plan`'s settings, from what is on any machine with scikit-learn and Pillow:

    python tests/python/held_out.py target/held-out
    SCUMBLE_HELD_OUT=$PWD/target/held-out SCUMBLE_PLAN_EPSILONS=0.5,1,2,3,5,10 \\
        cargo test --release -p scumble-lab --test it -- --nocapture suits_data_of_other_kinds

Images (scikit-learn's digits and patches of its photographs), text (docstrings of the standard library), word vectors
(co-occurrences in them), and made-up rows (random walks, clusters).
"""

import importlib
import inspect
import pathlib
import pkgutil
import re
import sys
import warnings
from collections import Counter

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds
from sklearn.datasets import dump_svmlight_file, load_digits, load_sample_images

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(1)
sets = []


def add(name, x, lo, hi, images="-"):
    """One set: as a file, and as a line with what a publisher would know of it."""
    x = x[rng.permutation(x.shape[0])]
    sparse = not isinstance(x, np.ndarray)
    file = name + (".svm" if sparse else ".npy")
    if sparse:
        dump_svmlight_file(x, np.zeros(x.shape[0]), str(folder / file), zero_based=False)
        norm, density = np.sqrt(x.multiply(x).sum(1)).mean(), x.nnz / np.prod(x.shape)
    else:
        np.save(folder / file, x.astype("f4"))
        norm, density = np.linalg.norm(x, axis=1).mean(), (x != 0).mean()
    sets.append("\t".join(map(str, (name, file, x.shape[1], images, lo, hi, round(float(norm), 3), round(float(density), 5)))))


def patches(image, side, count):
    """Squares cut out at random places."""
    tops, lefts = (rng.integers(0, n - side, count) for n in image.shape[:2])
    return np.array([image[t : t + side, l : l + side].ravel() for t, l in zip(tops, lefts)])


def docstrings():
    """Docstrings of the standard library's modules, classes and functions."""
    found = set()
    for module in pkgutil.iter_modules():
        if module.name.startswith(("_", "antigravity", "this", "idlelib", "test", "lib2to3")) or module.name not in sys.stdlib_module_names:
            continue
        try:
            loaded = importlib.import_module(module.name)
        except Exception:  # modules for other systems
            continue
        things = [loaded] + [thing for _, thing in inspect.getmembers(loaded)]
        things += [part for thing in things if inspect.isclass(thing) for _, part in inspect.getmembers(thing)]
        found |= {text for thing in things if isinstance(text := getattr(thing, "__doc__", None), str) and len(text) > 60}
    return sorted(found)


def counts(documents, scale):
    """Counts of features per document; `scale`: divided by the largest of the document."""
    names = {name: at for at, name in enumerate(sorted({name for d in documents for name in d}))}
    rows, columns, values = [], [], []
    for row, document in enumerate(documents):
        most = max(document.values()) if scale else 1
        for name, count in document.items():
            rows.append(row), columns.append(names[name]), values.append(count / most)
    return csr_matrix((values, (rows, columns)), shape=(len(documents), len(names))), list(names)


warnings.simplefilter("ignore")
digits = load_digits().data
add("digits", digits, 0, 16, "images:8x8")
china, flower = load_sample_images().images
grey = np.concatenate([patches(image.mean(2), 28, 4500) for image in (china, flower)])
add("patches", grey, 0, 255, "images:28x28")
add("colours", np.concatenate([patches(image, 16, 4500) for image in (china, flower)]), 0, 255, "images:16x16x3")

texts = docstrings()
trigrams, _ = counts([Counter(text[i : i + 3] for i in range(len(text) - 2)) for text in texts], scale=True)
add("docstrings", trigrams, 0, 1)
words, names = counts([Counter(re.findall("[a-z]+", text.lower())) or Counter(["-"]) for text in texts], scale=False)
together = words.sign().T @ words.sign()
together = together.tocsr()
together.setdiag(0)
together.eliminate_zeros()
often = np.asarray(together.sum(1)).ravel()
entries = together.tocoo()
pmi = np.log(entries.data * often.sum() / (often[entries.row] * often[entries.col]))
ppmi = csr_matrix((np.maximum(pmi, 0), (entries.row, entries.col)), shape=together.shape)
u, s, _ = svds(ppmi, k=100, random_state=0)
vectors = (u * np.sqrt(s))[np.asarray(words.sum(0)).ravel() >= 3]
add("word-vectors", vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), -0.4, 0.4)

walks = np.cumsum(rng.normal(0, 0.05, (9000, 128)), axis=1) + rng.random((9000, 1))
add("walks", walks.clip(-1, 2), -1, 2)
centres = rng.random((60, 200))
add("clusters", (centres[rng.integers(0, 60, 9000)] + rng.normal(0, 0.2, (9000, 200))).clip(0, 1), 0, 1)
(folder / "sets.tsv").write_text("\n".join(sets) + "\n")
print((folder / "sets.tsv").read_text())
