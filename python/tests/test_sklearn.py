"""PrivateProjection as scikit-learn sees it."""

from __future__ import annotations

import concurrent.futures
import os
import tempfile
import threading
import uuid

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import scumble
from scumble.sklearn import PrivateProjection as Projection

LEDGER = os.path.join(tempfile.mkdtemp(), "ledger.db")


def PrivateProjection(*mechanism, range=(0.0, 1.0), **options):
    """With an account of its own: these tests release the same rows again and again."""
    account = scumble.Account(LEDGER, f"tests {uuid.uuid4().hex}", budget=9000.0)
    return Projection(*mechanism, range=range, account=account, **options)


# By the tag non_deterministic scikit-learn itself leaves out check_transformer_general, check_transformer_data_not_an_array,
# check_methods_sample_order_invariance, check_methods_subset_invariance and check_pipeline_consistency. These two ignore it.
FRESH = "two transforms of the same rows differ: noise is fresh by design, and equal noise would be a leak"
EXCEPTIONS = {"check_fit_idempotent": FRESH, "check_estimators_pickle": FRESH}


@parametrize_with_checks(
    [PrivateProjection(range=(-10.0, 10.0)), PrivateProjection("dp-signoporp-ceil", range=(-10.0, 10.0))],
    expected_failed_checks=lambda estimator: EXCEPTIONS,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def data(rng, rows=600):
    x = rng.random((rows, 64))
    return x, (x[:, :32].sum(1) > x[:, 32:].sum(1)).astype(int)


def test_pipeline_learns(rng):
    x, y = data(rng)
    model = make_pipeline(PrivateProjection(epsilon=20.0, k=64), LinearSVC())
    assert model.fit(x[:400], y[:400]).score(x[400:], y[400:]) > 0.8
    assert model.fit(sp.csr_matrix(x[:400]), y[:400]).score(sp.csr_matrix(x[400:]), y[400:]) > 0.8


def test_set_output_and_names(rng):
    import pandas

    x, _ = data(rng, 20)
    frame = PrivateProjection(k=8).set_output(transform="pandas").fit_transform(pandas.DataFrame(x).add_prefix("c"))
    assert list(frame.columns) == [f"privateprojection{i}" for i in range(8)] and frame.shape == (20, 8)


def test_grid_search_and_clone(rng):
    x, y = data(rng, 200)
    search = GridSearchCV(make_pipeline(PrivateProjection(), LinearSVC()), {"privateprojection__k": [16, 64]}, cv=2)
    assert search.fit(x, y).best_params_["privateprojection__k"] in (16, 64)
    p = PrivateProjection("dp-oporp-staircase", seed=bytes(32), options={"sketch_clip": 2.0})
    assert clone(p).get_params() == p.get_params()
    assert p.fit(x).mechanism_.parameters["sketch_clip"] == 2.0


def test_fit_reads_no_value(rng):
    """Two tables of the same shape give the same mechanism."""
    a, b = (PrivateProjection(seed=bytes(32)).fit(rng.random((30, 64))).mechanism_ for _ in range(2))
    assert a == b


def test_release_has_a_certificate(rng):
    x, y = data(rng, 30)
    r = PrivateProjection().fit(x).release(x, labels=y)
    assert r.certificate["rows"] == 30 and r.labels.tolist() == y.tolist()


def test_errors_keep_their_names(rng):
    with pytest.raises(scumble.NotPrivate):
        PrivateProjection(unit="l1", beta=1.0).fit(rng.random((5, 8)))
    with pytest.raises(ValueError, match="k must be"):
        PrivateProjection(k="all").fit(rng.random((5, 8)))


def test_rows_are_known_again_whatever_holds_them(rng):
    for first, second in (("dense", "csr"), ("csr", "dense"), ("dense", "repeated"), ("csc", "csr")):
        x = rng.random((20, 8)) * (rng.random((20, 8)) < 0.5)
        x[0, 0], x[1, 1] = 0.5, -0.0
        forms = {"dense": x, "csr": sp.csr_matrix(x), "csc": sp.csc_matrix(x), "repeated": sp.coo_matrix(x).tocsr()}
        half = forms["repeated"]
        forms["repeated"] = sp.csr_matrix(
            (np.repeat(half.data / 2, 2), np.repeat(half.indices, 2), 2 * half.indptr), shape=half.shape
        )
        Projection(range=(0, 1)).fit_transform(forms[first])
        with pytest.raises(scumble.NotPrivate, match="rows equal to some of these were released before"):
            Projection(range=(0, 1)).fit_transform(forms[second][3:7])


def test_rows_of_another_width_are_others():
    for dim in (4, 5, 6):
        assert Projection(range=(0, 1), k=2).fit_transform(np.zeros((3, dim))).shape == (3, 2)
    with pytest.raises(scumble.NotPrivate, match="rows equal to some"):
        Projection(range=(0, 1), k=2).fit_transform(np.zeros((1, 5)))


def test_a_release_that_failed_is_not_remembered(rng):
    x = rng.random((20, 8))
    p = Projection(range=(0, 1)).fit(x)
    with pytest.raises(scumble.DataError):
        p.release(x, ids=[1, 2])
    assert len(p.release(x)) == 20
    with pytest.raises(scumble.NotPrivate):
        p.release(x)


def _released(x, account):
    return Projection(range=(0, 1), account=account).fit_transform(x).shape


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_worker_processes_need_an_account(rng, backend, tmp_path):
    joblib = pytest.importorskip("joblib")
    x = rng.random((20, 8))
    run = joblib.Parallel(n_jobs=2, backend=backend)
    with pytest.raises(scumble.NotPrivate, match="worker process"):
        run(joblib.delayed(_released)(x, None) for _ in range(2))
    account = scumble.Account(tmp_path / "ledger", "people", budget=10.0)
    assert run(joblib.delayed(_released)(x, account) for _ in range(2)) == [(20, 8)] * 2
    assert account.statement["spent"] == pytest.approx(10.0)


def test_threads_release_rows_once(rng):
    x, before = rng.random((2000, 64)), threading.Barrier(4)

    def use(_):
        before.wait()
        try:
            return Projection(range=(0, 1)).fit_transform(x).shape
        except scumble.NotPrivate:
            return None

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sorted(map(str, pool.map(use, range(4)))) == ["(2000, 64)"] + ["None"] * 3
