"""The linear SVM of `scumble evaluate` agrees with scikit-learn's LinearSVC within 0.5% accuracy."""

import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
BINARY = os.environ.get("SCUMBLE", str(ROOT / "target" / "release" / "scumble"))


def idx(name):
    raw = gzip.open(DATA / "mnist" / name).read()
    axes = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(axes)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * axes).reshape(shape)


def mnist():
    return idx("train-images-idx3-ubyte.gz").reshape(-1, 784)[:4000], idx("train-labels-idx1-ubyte.gz")[:4000]


def minilm():
    x = np.load(DATA / "minilm-clinc150" / "embeddings.npy")
    lines = (DATA / "minilm-clinc150" / "texts.tsv").read_text().splitlines()[1:]
    split, intent = np.array([line.split("\t")[:2] for line in lines]).T
    names = np.unique(intent[split == "train"])[:15]  # a tenth of the classes keeps the test short
    keep = np.flatnonzero((split == "train") & np.isin(intent, names))
    np.random.default_rng(0).shuffle(keep)  # the file is sorted by class
    return x[keep], np.searchsorted(names, intent[keep])


def ours(rows, *more):
    with tempfile.TemporaryDirectory() as folder:
        words = [BINARY, "evaluate", rows, *more, "--mechanisms", "dp-oporp-staircase", "--epsilons", 5, "-k", 16]
        words += ["--query-count", 1, "--repetitions", 1, "--json", "--out", f"{folder}/report.html"]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        results = json.loads(done.stdout)["results"]
    return next(line["mean"] for line in results if line["design"] == "rows as they are")


def theirs(x, y):
    """Trained on the first four fifths, as `evaluate` does, with C from the same values."""
    cut = len(y) * 4 // 5
    squares = x.multiply(x).sum(1) if hasattr(x, "multiply") else (x * x).sum(1)
    grid = {"C": 10.0 ** np.arange(-3, 3) / np.mean(squares[:cut])}
    search = GridSearchCV(LinearSVC(), grid, cv=StratifiedKFold(5, shuffle=True, random_state=0), n_jobs=2)
    return search.fit(x[:cut], y[:cut]).score(x[cut:], y[cut:])


@unittest.skipUnless(DATA.exists(), "the data are not here")
class AgreesWithLinearSvc(unittest.TestCase):
    def dense(self, x, y, low, high):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/x.npy", x)
            np.save(f"{folder}/y.npy", y.astype(np.int64))
            found = ours(f"{folder}/x.npy", "--labels", f"{folder}/y.npy", f"--range={low},{high}")
        expected = theirs(x.astype(np.float64), y)
        self.assertLessEqual(abs(found - expected), 0.005, (found, expected))

    def test_mnist(self):
        self.dense(*mnist(), 0, 255)

    def test_minilm(self):
        self.dense(*minilm(), -1, 1)

    def test_spamassassin(self):
        path = DATA / "spamassassin-trigram" / "train.svm.gz"
        found = ours(path, "--labels", "--range=0,1", "--dim", 171642)
        x, y = load_svmlight_file(gzip.open(path), n_features=171642)
        x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
        expected = theirs(x, y)
        self.assertLessEqual(abs(found - expected), 0.005, (found, expected))


if __name__ == "__main__":
    unittest.main()
