"""What a newcomer does in the first hour."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import scumble
import scumble.sklearn

RANGE = (0.0, 1.0)


def mechanism(**options):
    given = dict(dim=32, k=16, epsilon=4.0, range=RANGE, seed=bytes(32)) | options
    return scumble.Mechanism(given.pop("mechanism", "dp-oporp-staircase"), **given)


def rows(n=200, dim=32):
    return np.random.default_rng(1).random((n, dim), dtype=np.float32)


def _released(n: int) -> int:
    return len(mechanism().release(rows(n)))


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_child_process_releases(method):
    mechanism().release(rows(2000))  # the parent has threads now
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(_released, [2000, 500])) == [2000, 500]


def _used(what: str) -> int:
    x, r = rows(2000), mechanism().release(rows(2000))
    used = {
        "decode": lambda: scumble.decode(r),
        "search": lambda: scumble.search(r, x[:3], decode="wiener").rows,
        "statistics": lambda: scumble.statistics(r).told(),
        "bins": lambda: scumble.learn_bins(x, 8).content,
        "components": lambda: scumble.learn_components(x, 8).content,
    }
    return len(used[what]())


@pytest.mark.parametrize("what", ["decode", "search", "statistics", "bins", "components"])
def test_a_forked_child_uses_what_it_released(what):
    used = _used(what)  # the parent has threads now
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        assert pool.submit(_used, what).result() == used


def test_joblib_and_threads_release():
    joblib = pytest.importorskip("joblib")
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(_released)(n) for n in (700, 800)) == [700, 800]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(_released, [300] * 8)) == [300] * 8


@pytest.mark.parametrize(
    "options",
    [
        dict(mechanism="dp-oporp-staircase"),
        dict(mechanism="dp-signoporp-ceil"),
        dict(mechanism="dp-oporp-lattice", symbols=3),
        dict(mechanism="privcube", epsilon=20.0),
    ],
)
def test_project_is_on_the_scale_of_the_release(options):
    m = mechanism(**options)
    x = rows(1)
    released = m.release(np.repeat(x, 20_000, axis=0)).values.mean(axis=0)
    expected = m.project(x)[0]
    slope = float(released @ expected) / float(expected @ expected)
    assert 0.9 < slope < 1.1


def test_a_model_trained_on_bits_takes_projected_rows():
    from sklearn.linear_model import RidgeClassifier

    rng = np.random.default_rng(3)
    centres = rng.random((5, 64))
    y = rng.integers(0, 5, 3000)
    x = np.clip(centres[y] + 0.15 * rng.standard_normal((3000, 64)), 0, 1).astype(np.float32)
    m = scumble.Mechanism("dp-signoporp-ceil", dim=64, k=64, epsilon=6.0, range=RANGE, seed=bytes(32))
    model = RidgeClassifier().fit(m.release(x[:2000]).values, y[:2000])
    assert model.score(m.project(x[2000:]), y[2000:]) > 0.7


def test_a_release_is_an_ordinary_object(tmp_path):
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    r = mechanism().release(rows(), ids=np.arange(100, 300), labels=["a", "b"] * 100)
    again = pickle.loads(pickle.dumps(r))
    assert again.certificate_json == r.certificate_json and (again.values == r.values).all()
    assert (r[3] == r.values[3]).all() and r[10:20].shape == (10, 16) and np.asarray(r).shape == (200, 16)
    table = r.to_arrow()
    assert table.column_names == ["id", "label", "sketch"] and table["id"][0].as_py() == 100
    assert pa.table(r).equals(table) if hasattr(pa, "table") else True
    frame = r.to_pandas()
    assert frame.shape == (200, 17) and frame.index[0] == 100 and isinstance(frame, pd.DataFrame)
    path = tmp_path / "r.parquet"
    r.save(path)
    assert (scumble.load(path.read_bytes()).values == r.values).all()
    for shown in (r, r.mechanism, scumble.plan(dim=32, epsilon=4.0, range=RANGE)):
        assert "<table>" in shown._repr_html_()
    assert scumble.inspect(r).startswith("# Privacy statement") and scumble.inspect(path).startswith("# Privacy")


def test_a_damaged_pickle_is_refused():
    r = mechanism(mechanism="dp-signoporp-ceil").release(rows())
    function, (certificate, packed, *others) = r.__reduce__()
    with pytest.raises(scumble.CertificateError):
        function(certificate, bytes([packed[0] ^ 1]) + packed[1:], *others)


def test_a_sticky_release_takes_the_seed_of_its_key(tmp_path):
    key = tmp_path / "sticky.key"
    scumble.keygen(key, sticky=True)
    m = scumble.Mechanism("dp-oporp-staircase", dim=32, k=16, epsilon=4.0, range=RANGE)
    r = m.release(rows(), ids=np.arange(200), sticky_key=key)
    assert r.mechanism.seed == scumble.sticky_seed(key)
    again = m.release(rows(), ids=np.arange(200), sticky_key=key)
    assert (again.values == r.values).all()


class Changing:
    """Rows that are others each time they are looked at."""

    shape, ndim, dtype = (50, 32), 2, np.dtype(np.float32)

    def __init__(self) -> None:
        self.looks = 0

    def __array__(self, dtype=None, copy=None):
        self.looks += 1
        return np.full((50, 32), self.looks % 7 / 10, dtype=np.float32)


def test_rows_that_change_after_they_were_charged_are_not_released(tmp_path):
    key = tmp_path / "sticky.key"
    scumble.keygen(key, sticky=True)
    account = scumble.Account(tmp_path / "ledger.db", "people", budget=100.0)
    rows = Changing()
    with pytest.raises(scumble.DataError, match="changed after it was charged"):
        mechanism().release(rows, ids=np.arange(50), sticky_key=key, account=account)
    assert rows.looks == 2  # once to charge, once to release


def test_mistakes_are_named(tmp_path):
    pd = pytest.importorskip("pandas")
    m = mechanism()
    with pytest.raises(TypeError, match="release_file"):
        m.release("vectors.parquet")
    frame = pd.DataFrame(rows(), columns=[f"a{i}" for i in range(32)])
    with pytest.raises(scumble.DataError, match="drop id"):
        m.release(frame.assign(id=range(200)))
    assert len(m.release(frame.astype("Float32"))) == 200
    hole = frame.astype("Float32")
    hole.iloc[3, 4] = pd.NA
    with pytest.raises(scumble.DataError, match="row 3, column 4"):
        m.release(hole)
    with pytest.raises(scumble.ParameterError, match="takes no delta"):
        mechanism(delta=1e-6)
    with pytest.raises(scumble.ParameterError, match="beta"):
        mechanism(mechanism="dp-oporp-laplace", unit="l1")
    account = scumble.Account(tmp_path / "ledger.db", "people", budget=4.0)
    m.release(rows(), account=account)
    fresh = scumble.Account(tmp_path / "ledger.db", "people")
    assert str(fresh.statement["spent"]) == "4.0"


def test_torch_tensors_are_taken_or_refused_aloud():
    torch = pytest.importorskip("torch")
    m = mechanism()
    x = torch.tensor(rows())
    assert len(m.release(x)) == 200
    with pytest.raises(TypeError, match="detach"):
        m.release(x.clone().requires_grad_())
    with pytest.raises(TypeError, match="bfloat16"):
        m.release(x.bfloat16())


def test_private_projection_refuses_to_release_rows_twice_without_an_account(tmp_path):
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.linear_model import RidgeClassifier

    Projection = scumble.sklearn.PrivateProjection
    with pytest.raises(TypeError, match="range"):
        Projection()
    x = np.random.default_rng(11).random((120, 32))
    y = (x.sum(1) > 16).astype(int)
    first = Projection(range=RANGE, exact_transform=True)
    released = first.fit_transform(x)
    assert released.shape == (120, 32) and (first.transform(x) == first.transform(x)).all()
    with pytest.raises(scumble.NotPrivate, match="account"):
        Projection(range=RANGE).fit_transform(x[:10])
    pipeline = make_pipeline(Projection(range=RANGE, exact_transform=True), RidgeClassifier())
    search = GridSearchCV(pipeline, {"privateprojection__epsilon": [1.0, 2.0]}, cv=2, error_score="raise")
    z = np.random.default_rng(12).random((120, 32))
    with pytest.raises(scumble.NotPrivate, match="account"):
        search.fit(z, y)
    account = scumble.Account(tmp_path / "ledger.db", "people", budget=100.0)
    search.set_params(estimator__privateprojection__account=account).fit(z, y)
    assert account.statement["spent"] == pytest.approx(1 + 1 + 2 + 2 + search.best_params_["privateprojection__epsilon"])


def test_release_file_streams_and_shows_progress(tmp_path):
    np.save(tmp_path / "in.npy", rows(5000))
    seen = []
    c = scumble.release_file(
        tmp_path / "in.npy", tmp_path / "out.parquet", mechanism=mechanism(), progress=lambda *at: seen.append(at)
    )
    assert c["rows"] == 5000 and seen[-1] == (5000, 5000)
    with pytest.raises(ZeroDivisionError):
        scumble.release_file(
            tmp_path / "in.npy", tmp_path / "no.parquet", mechanism=mechanism(), progress=lambda *at: 1 / 0
        )
    assert not (tmp_path / "no.parquet").exists()
    with pytest.raises(scumble.FileError):
        scumble.release_file(tmp_path / "none.npy", tmp_path / "no.parquet", mechanism=mechanism())


def test_the_command_line_is_in_the_wheel(tmp_path):
    np.save(tmp_path / "in.npy", rows())
    words = "release in.npy --out out.npy --mechanism dp-oporp-staircase --epsilon 4 --range 0,1 -k 16".split()
    done = subprocess.run([sys.executable, "-m", "scumble", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(scumble.load(tmp_path / "out.npy")) == 200
    refused = subprocess.run([sys.executable, "-m", "scumble", *words, "--unit", "l1"], cwd=tmp_path, capture_output=True)
    assert refused.returncode in (1, 2)
    beside = os.path.join(os.path.dirname(sys.executable), "scumble")
    assert subprocess.run([beside, "--version"], capture_output=True, text=True).stdout.startswith("scumble ")


def test_frames_of_arrow_numbers_are_read():
    pd = pytest.importorskip("pandas")
    x, m = rows(20), mechanism()
    frame = pd.DataFrame(x.copy()).astype("float[pyarrow]")
    assert np.array_equal(m.project(frame), m.project(x))
    frame.iloc[3, 2] = None
    with pytest.raises(scumble.DataError, match="row 3, column 2: value is missing"):
        m.release(frame)


def test_mistakes_in_what_is_released_are_named():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    x, m = rows(20), mechanism()
    frame = pd.DataFrame(x)
    with pytest.raises(scumble.DataError, match="drop user, which holds no numbers"):
        m.release(frame.assign(user="somebody"))
    with pytest.raises(scumble.DataError, match="column '7' holds no numbers"):
        m.release(frame.drop(columns=[7]).assign(**{"7": "somebody"}))
    with pytest.raises(TypeError, match=r"give x.collect\(\)"):
        m.release(pl.DataFrame(x).lazy())
    with pytest.raises(TypeError, match="a release already"):
        m.release(m.release(x))
    for nothing in (None, 3, {"a": 1}, (row for row in x)):
        for use in (m.release, m.project):
            with pytest.raises(TypeError, match="holds no rows"):
                use(nothing)
    with pytest.raises(scumble.DataError, match="ids must be all 64-bit integers or all strings"):
        m.release(x, ids=pd.date_range("2020-01-01", periods=20))


def test_mistakes_in_what_is_used_are_named(tmp_path):
    x, m = rows(20), mechanism()
    r = m.release(x)
    uses = [
        lambda it: scumble.search(it, x),
        lambda it: scumble.decode(it),
        lambda it: scumble.decode(r, rows=it),
        lambda it: scumble.statistics(it),
        lambda it: scumble.statistics(r, since=it),
        lambda it: scumble.inner_product(it, 0, 1),
        lambda it: scumble.inner_product_with_query(it, 0, x[0]),
        lambda it: scumble.Release.together([r, it]),
    ]
    for use in uses:
        with pytest.raises(TypeError, match="scumble.Release is needed, got str: scumble.load reads one"):
            use("release.parquet")
        with pytest.raises(TypeError, match="scumble.Release is needed, got ndarray"):
            use(x)
    np.save(tmp_path / "in.npy", x)
    for use in (
        lambda **given: m.release(x, **given),
        lambda **given: scumble.release_file(tmp_path / "in.npy", tmp_path / "out.npy", mechanism=m, **given),
    ):
        with pytest.raises(TypeError, match="account must be a scumble.Account, got str"):
            use(account="releases.ledger")
    with pytest.raises(TypeError, match="mechanism must be a scumble.Mechanism, got str"):
        scumble.release_file(tmp_path / "in.npy", tmp_path / "out.npy", mechanism="dp-oporp-staircase")


def test_files_that_are_not_there_are_file_errors(tmp_path):
    missing = tmp_path / "no" / "file"
    for use in (
        lambda: mechanism(bins=missing),
        lambda: scumble.PublicFile.load(missing),
        lambda: scumble.learn_bins(rows(), 8).save(missing),
        lambda: scumble.keygen(missing),
        lambda: scumble.load("http://127.0.0.1:1/release.parquet"),
    ):
        with pytest.raises(scumble.FileError):
            use()
    with pytest.raises(scumble.DataError) as fault:
        scumble.load(b"junk")
    assert str(fault.value).startswith("the bytes: ")


def test_a_release_that_protects_nobody_warns():
    with pytest.warns(UserWarning, match="epsilon 50 protects nobody"):
        mechanism(epsilon=50.0).release(rows(5))
    with pytest.warns(UserWarning, match="beta = 0.001 is less"):
        mechanism(beta=0.001).release(rows(5))


def test_an_evaluation_of_nothing_is_refused():
    x = rows(60)
    given = dict(mechanisms="dp-oporp-staircase", epsilons=4.0, k=16, range=RANGE)
    for table, queries, repetitions in ((x[:0], x, 1), (x, x[:0], 1), (x, x, 0)):
        with pytest.raises(scumble.ParameterError, match="nothing to measure.*repetitions"):
            scumble.evaluate(table, queries, repetitions=repetitions, **given)


def test_a_search_for_nothing_finds_nothing():
    x = rows(400)
    r = mechanism().release(x)
    for decode in (None, "wiener", "bounds"):
        assert scumble.search(r, x[:0], decode=decode).rows.shape[0] == 0


def test_a_plan_for_training_tests_exact_rows_on_the_scale_of_the_release():
    """Bits are -1 and 1, these values a hundredth of it: on their own scale every row would fall to the largest class."""
    rng = np.random.default_rng(3)
    labels = rng.choice(4, 2000, p=[0.4, 0.2, 0.2, 0.2])
    sample = np.clip(0.01 * (rng.normal(size=(4, 32))[labels] + 0.5 * rng.normal(size=(2000, 32))), -0.01, 0.01)
    given = dict(dim=32, epsilon=8.0, range=(-0.01, 0.01), k=32, mechanism="dp-signoporp-ceil")
    found = scumble.plan(public_sample=sample, public_labels=labels, **given).measured["accuracy"]
    assert found["private"] > 0.8 and found["exact_rows"] > found["private"] - 0.05


@pytest.mark.parametrize("name, negative", [("depths", [-1]), ("k", [-1]), ("repetitions", -1), ("bytes", -1), ("words", -1)])
def test_numbers_out_of_their_domain_are_named(name, negative):
    x = rows(60)

    def use(value):
        if name == "bytes":
            scumble.plan(dim=32, epsilon=4.0, range=RANGE, bytes=value)
        elif name == "words":
            scumble.make_book(x, words=value)
        else:
            given = dict(mechanisms="dp-oporp-staircase", epsilons=4.0, k=16, range=RANGE)
            scumble.evaluate(x, x[:5], **(given | {name: value}))

    with pytest.raises(scumble.ParameterError, match=f"^{name} must not be negative, got -1"):
        use(negative)
    with pytest.raises(scumble.ParameterError, match=f"^{name} is too large"):
        use([2**70] if isinstance(negative, list) else 2**70)
    with pytest.raises(TypeError, match=f"^{name} must be an integer, got float"):
        use([1.5] if isinstance(negative, list) else 1.5)


def test_other_numbers_that_are_too_large_are_named(tmp_path):
    x, m = rows(60), mechanism()
    r, account = m.release(x), scumble.Account(tmp_path / "ledger.db", "people", budget=10**400)
    uses = {
        "top": lambda: scumble.search(r, x, top=2**70),
        "k": lambda: scumble.learn_bins(x, 2**70),
        "budget": lambda: m.release(x, account=account),
        "rows_per_person": lambda: m.release(x, persons=range(60), rows_per_person=2**70),
        "person_delta": lambda: m.release(x, persons=range(60), rows_per_person=2, person_delta=10**400),
        "epsilons": lambda: scumble.evaluate(x, x, mechanisms="raw-laplace", epsilons=10**400, k=16, range=RANGE),
    }
    for name, use in uses.items():
        with pytest.raises(scumble.ParameterError, match=f"^{name} is too large"):
            use()
