"""Public structure: files, mechanisms that rest on them, pickles, refusals."""

import pickle

import numpy as np
import pytest

import scumble
from conftest import SEED


def public(rows: int = 200, seed: int = 0) -> np.ndarray:
    return np.repeat(np.random.default_rng(seed).random((rows, 16)), 4, axis=1)


def test_bins_are_learned_saved_and_used(tmp_path):
    bins = scumble.learn_bins(public(), 16)
    bins.save(tmp_path / "my.bins")
    assert scumble.PublicFile.load(tmp_path / "my.bins") == bins
    made = dict(dim=64, k=16, epsilon=40.0, range=(0, 1), seed=SEED)
    m = scumble.Mechanism("dp-oporp-staircase", bins=tmp_path / "my.bins", **made)
    assert m == scumble.Mechanism("dp-oporp-staircase", bins=bins, **made)
    assert pickle.loads(pickle.dumps(m)) == m
    rows = public(50, 1)
    values = m.release(rows).values
    # Groups of four equal attributes: a bin is four times one of them.
    sums = rows.reshape(50, 16, 4).sum(axis=2)
    assert np.abs(np.sort(values, axis=1) - np.sort(sums, axis=1)).max() < 0.5


def test_grids_need_no_file():
    m = scumble.Mechanism("dp-signoporp-ceil", dim=784, k=49, epsilon=1.0, range=(0, 1), bins="grid:28x28", seed=SEED)
    assert m.parameters["bins"] == "grid:28x28"
    with pytest.raises(scumble.ParameterError):
        scumble.Mechanism("dp-signoporp-ceil", dim=783, k=49, epsilon=1.0, range=(0, 1), bins="grid:28x28")


def test_the_released_rows_must_not_be_the_sample():
    rows = public()
    bins = scumble.learn_bins(rows, 16)
    m = scumble.Mechanism("dp-oporp-laplace", dim=64, k=16, epsilon=1.0, range=(0, 1), bins=bins)
    with pytest.raises(scumble.NotPrivate, match="the very rows"):
        m.release(rows)
    m.release(public(200, 2))


def test_books_and_components_survive_files_and_pickles(tmp_path):
    rng = np.random.default_rng(3)
    rows, sample = rng.normal(size=(40, 24)), rng.normal(size=(300, 24))
    book = scumble.make_book(sample, 128)
    m = scumble.Mechanism("privbook", dim=24, epsilon=30.0, range=(-5, 5), book=book, seed=SEED)
    release = m.release(rows, ids=np.arange(40))
    release.save(tmp_path / "words.parquet")
    loaded = scumble.load(tmp_path / "words.parquet")
    assert np.array_equal(loaded.values, release.values)
    words = sample[np.arange(128) * 300 // 128]
    nearest = (words / np.linalg.norm(words, axis=1)[:, None]) @ rows.T
    hit = np.abs(release.values[:, None, :] - words[None]).max(axis=2).argmin(axis=1)
    assert (hit == nearest.argmax(axis=0)).mean() > 0.9
    assert pickle.loads(pickle.dumps(m)).release(rows).values.shape == (40, 24)
    components = scumble.learn_components(sample, 16)
    c = scumble.Mechanism("privcube", dim=24, k=16, epsilon=5.0, range=(-5, 5), components=components, purpose="training")
    assert pickle.loads(pickle.dumps(c)) == c
    assert c.release(rows).bits.shape == (40, 2)


@pytest.fixture(params=["book", "components", "bins"])
def resting(request, tmp_path):
    """A mechanism that rests on a public file too large for a certificate, and that file."""
    sample = np.random.default_rng(3).normal(size=(300, 24))
    if request.param == "book":
        file = scumble.make_book(sample, 128)
        return "book", file, scumble.Mechanism("privbook", dim=24, epsilon=9.0, range=(-5, 5), book=file)
    if request.param == "components":
        file = scumble.learn_components(sample, 8)
        return "components", file, scumble.Mechanism("privcube", dim=24, k=8, epsilon=9.0, range=(-5, 5), components=file)
    wide = np.random.default_rng(3).random((30, 1 << 15))
    file = scumble.learn_bins(wide, 64)
    return "bins", file, scumble.Mechanism("dp-oporp-laplace", dim=1 << 15, k=64, epsilon=9.0, range=(0, 1), bins=file)


def test_a_release_that_rests_on_a_public_file_is_like_any_other(resting, tmp_path):
    kind, file, m = resting
    x = np.random.default_rng(4).random((20, m.dim))
    account = scumble.Account(tmp_path / "ledger", "rows", budget=10.0)
    r = m.release(x, account=account)
    assert [entry["state"] for entry in account.statement["entries"]] == ["recorded"]
    again = pickle.loads(pickle.dumps(r))
    assert np.array_equal(again.values, r.values) and again.mechanism == m
    assert scumble.inspect(r).startswith("# Privacy statement")
    r.save(tmp_path / "r.parquet")
    content = (tmp_path / "r.parquet").read_bytes()
    (tmp_path / "elsewhere.parquet").write_bytes(content)
    uses = [
        lambda **given: scumble.load(content, **given).mechanism,
        lambda **given: scumble.load(tmp_path / "elsewhere.parquet", **given).mechanism,
        lambda **given: scumble.check_certificate(r.certificate_json, **given),
        lambda **given: scumble.Mechanism.from_parameters(m.parameters, **given),
        lambda **given: scumble.verify(tmp_path / "elsewhere.parquet", **given) and m,
    ]
    file.save(tmp_path / "public")
    for use in uses:
        with pytest.raises(scumble.ScumbleError, match=f"{file.sha256} with {kind}"):
            use()
        assert use(**{kind: file}) == use(**{kind: tmp_path / "public"}) == m
    other = scumble.make_book(np.eye(24)) if kind == "book" else scumble.learn_bins(public(), 16)
    with pytest.raises(scumble.ParameterError, match="is not the file"):
        scumble.Mechanism.from_parameters(m.parameters, **{kind: other})


def test_decoding_symbols_of_a_bin_that_never_varies_is_refused():
    """Corners of images are always black: the noise of symbols, which is known by what varies least, is then unknown."""
    images, _ = scumble.digits()
    for id, method in [("dp-signoporp-ceil", "wiener"), ("dp-signoporp-ceil", "scale"), ("dp-oporp-zones", "wiener")]:
        m = scumble.Mechanism(id, dim=784, k=64, epsilon=20.0, range=(0, 255), bins="grid:28x28", seed=SEED)
        r = m.release(images[:3000])
        with pytest.raises(scumble.NotIdentifiable, match="the same in every row"):
            scumble.decode(r, method=method)
        with pytest.raises(scumble.NotIdentifiable, match="the same in every row"):
            scumble.search(r, images[:2], decode=method)
