"""Search and estimates agree with plain numpy on the same released numbers."""

from __future__ import annotations

import numpy as np
import pytest

import scumble
from conftest import mechanism


def test_hamming_is_exact(rng):
    m = mechanism("dp-signoporp-ceil", k=50)
    base, queries = m.release(rng.random((300, 64))), m.release(rng.random((7, 64)))
    hits = scumble.search(base, queries, top=10)
    distances = (base.values[None] != queries.values[:, None]).sum(2)
    assert np.array_equal(hits.scores, np.sort(distances, axis=1)[:, :10])
    assert np.array_equal(hits.rows, np.argsort(distances, axis=1, kind="stable")[:, :10])


def test_cosine_of_exact_queries(rng):
    m, x = mechanism(), rng.random((300, 64))
    r = m.release(x, ids=np.arange(300) * 10)
    hits = scumble.search(r, x[:5], top=400, exact=True)
    assert hits.rows.shape == (5, 300)  # no more than there are
    q = m.project(x[:5]).astype("f8")
    cosine = q @ r.values.T / np.linalg.norm(q, axis=1)[:, None] / np.linalg.norm(r.values, axis=1)
    assert np.allclose(hits.scores, np.sort(cosine, axis=1)[:, ::-1], atol=1e-5)
    assert np.array_equal(hits.ids, hits.rows * 10)
    inner = scumble.search(r, x[:5], top=1, metric="inner-product")
    assert np.array_equal(inner.rows[:, 0], (q @ r.values.T).argmax(1))


def test_queries_of_the_wrong_kind(rng):
    m, x = mechanism(), rng.random((9, 64))
    r = m.release(x)
    with pytest.raises(scumble.ParameterError, match="exact=False"):
        scumble.search(r, x, exact=False)
    with pytest.raises(scumble.ParameterError, match="exact=True"):
        scumble.search(r, r, exact=True)
    with pytest.raises(scumble.ParameterError, match="seed"):
        scumble.search(r, mechanism(seed=bytes(32)).release(x))
    with pytest.raises(scumble.ParameterError, match="metric"):
        scumble.search(r, x, metric="euclid")
    for top in (0, -1):
        with pytest.raises(scumble.ParameterError, match="top must be at least 1"):
            scumble.search(r, x, top=top)
    with pytest.raises(scumble.ParameterError, match="Hamming"):
        scumble.search(r, x, metric="hamming")
    with pytest.raises(scumble.DataError):
        scumble.search(r, x[:, :5])


def test_estimates_cover_the_truth(rng):
    """95% intervals of 300 pairs: fewer than 250 hits has probability below 1e-9."""
    m = mechanism(dim=256, k=128)
    x = rng.random((600, 256))
    r = m.release(x)
    truths = {
        scumble.inner_product: lambda u, v: u @ v,
        scumble.squared_distance: lambda u, v: ((u - v) ** 2).sum(),
        scumble.cosine: lambda u, v: u @ v / np.linalg.norm(u) / np.linalg.norm(v),
        scumble.angle: lambda u, v: np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v)),
    }
    for estimator, truth in truths.items():
        hits = 0
        for i in range(300):
            e = estimator(r, i, 300 + i)
            low, high = e.interval
            assert np.isnan(e.value) or (low <= e.value <= high and e.variance > 0)
            hits += np.isnan(e.value) or low <= truth(x[i], x[300 + i]) <= high
        assert hits >= 250, (estimator.__name__, hits)
    e = scumble.squared_norm(r, -1)
    assert e == scumble.squared_norm(r, 599) and float(e) == e.value
    assert e.interval[0] <= (x[-1] ** 2).sum() * 1.5


def test_estimates_across_releases(rng):
    m, x = mechanism(), rng.random((4, 64))
    a, b = m.release(x), m.release(x)
    assert scumble.inner_product(a, 0, 1, other=b).variance > 0
    with pytest.raises(scumble.NotIdentifiable, match="itself"):
        scumble.inner_product(a, 1, 1)
    scumble.inner_product(a, 1, 1, other=b)  # the same row under other noise is another matter
    with pytest.raises(IndexError):
        scumble.inner_product(a, 0, 4)
    with pytest.raises(scumble.ParameterError, match="seed"):
        scumble.inner_product(a, 0, 1, other=mechanism(seed=bytes(32)).release(x))
    bits = mechanism("dp-signoporp-rr").release(x)
    with pytest.raises(scumble.NotIdentifiable, match="ranking"):
        scumble.inner_product(bits, 0, 1)


def test_estimates_against_an_exact_query(rng):
    """As above, of values and of rows of unit record."""
    x = rng.normal(size=(300, 256))
    x /= np.linalg.norm(x, axis=1)[:, None]
    queries = x + rng.normal(size=x.shape) / 16
    for id, epsilon in (("dp-oporp-staircase", 5.0), ("privcube", 30.0)):
        r = mechanism(id, dim=256, k=128, epsilon=epsilon, range=(-1.0, 1.0), beta=None).release(x)
        estimates = [scumble.inner_product_with_query(r, i, query) for i, query in enumerate(queries)]
        hits = sum(e.interval[0] <= u @ v <= e.interval[1] for e, u, v in zip(estimates, x, queries))
        assert hits >= 250, (id, hits)
    with pytest.raises(scumble.NotIdentifiable):
        scumble.inner_product_with_query(mechanism("dp-signoporp-rr").release(rng.random((2, 64))), 0, np.zeros(64))
    with pytest.raises(scumble.DataError, match="256"):
        scumble.inner_product_with_query(r, 0, np.zeros(255))


def test_evaluate(rng, tmp_path):
    centres = rng.random((10, 64))
    kind = rng.integers(0, 10, 500)
    x = np.clip(centres[kind] + rng.normal(0, 0.1, (500, 64)), 0, 1).astype("f4")
    options = dict(mechanisms=["dp-oporp-staircase", "dp-signoporp-ceil", "dp-oporp"], epsilons=[1.0, 10.0], k=32,
                   range=(0.0, 1.0), delta=1e-6)
    e = scumble.evaluate(x[:400], x[400:], repetitions=2, **options)
    assert set(e.table["mechanism"]) == {"dp-oporp-staircase", "dp-signoporp-ceil", "dp-oporp", "none"}
    assert {len(column) for column in e.table.values()} == {len(e.outcomes)}
    recall = lambda id, epsilon: e.mean("recall@50", mechanism=id, epsilon=epsilon)
    assert recall("dp-oporp-staircase", 10.0) > max(recall("dp-oporp", 10.0), recall("dp-oporp-staircase", 1.0))
    assert e.mean("recall@50", mechanism="none") > recall("dp-oporp-staircase", 1.0)
    assert np.isinf(e.table["epsilon"][e.table["mechanism"] == "none"]).all()
    assert e.figures["recall@50"].startswith("<svg") and "<html" in e.html and "svg" in e._repr_html_()
    with pytest.raises(KeyError):
        e.mean("recall@50", mechanism="privcube")
    classes = kind.astype(str)
    e = scumble.evaluate(x[:400], x[400:], labels=(classes[:400], classes[400:]), **options)
    assert e.mean("accuracy", mechanism="dp-oporp-staircase", epsilon=10.0) > 0.5
    with pytest.raises(scumble.DataError, match="labels"):
        scumble.evaluate(x[:400], x[400:], labels=(classes, classes), **options)
    with pytest.raises(scumble.ParameterError, match="C must be positive"):
        scumble.evaluate(x[:400], x[400:], labels=(classes[:400], classes[400:]), svm_c=0.0, **options)
    with pytest.raises(scumble.ParameterError):
        scumble.evaluate(x[:400], x[400:], **(options | {"epsilons": []}))


def test_evaluate_what_plan_chooses_from_public_rows(rng):
    rows = np.repeat(rng.random((760, 16)), 4, axis=1)  # attributes move in fours
    own, queries, public = rows[:400], rows[400:460], rows[460:]
    options = dict(mechanisms=["auto", "dp-oporp-staircase", "dp-oporp"], epsilons=[1.0, 4.0], k=16, range=(0, 1))
    e = scumble.evaluate(own, queries, public_sample=public, bins=scumble.learn_bins(public, 16), **options)
    recall = lambda design: e.mean("recall@50", mechanism=design, epsilon=1.0)
    assert min(recall("auto, public sample"), recall("dp-oporp-staircase, bins")) > recall("dp-oporp-staircase") > recall("dp-oporp")
    assert e.mean("recall@50", mechanism="dp-oporp-staircase") == e.mean("recall@50", mechanism="dp-oporp-staircase", k=16)
    assert {row["delta"] for row in e.outcomes if row["mechanism"] == "dp-oporp"} == {1e-6}
    assert "auto, public sample" in e.figures["recall@50"]
    with pytest.raises(scumble.ParameterError, match="learned from these rows"):
        scumble.evaluate(own, queries, public_sample=own, **options)
    with pytest.raises(scumble.ParameterError, match="public_labels"):
        scumble.evaluate(own, queries, public_labels=[0] * 300, **options)
    with pytest.raises(scumble.ParameterError, match="unknown mechanism"):
        scumble.evaluate(own, queries, **(options | {"mechanisms": ["autos"]}))
    with pytest.raises(TypeError, match="norms"):
        scumble.evaluate(own, queries, norms=1.0, **options)


def test_plan(rng):
    options = dict(dim=64, epsilon=5.0, range=(0.0, 1.0), beta=1.0, norm=4.0)
    p = scumble.plan(**options)
    assert p.mechanism.dim == 64 and p.forecast["bytes_per_row"] > 0 and p.measured is None
    r = p.mechanism.release(rng.random((5, 64)), encoding=p.encoding)
    assert r.packed.shape[1] == p.forecast["bytes_per_row"]
    fixed = scumble.plan(mechanism="dp-oporp-laplace", k=16, **options)
    assert (fixed.mechanism.id, fixed.mechanism.k) == ("dp-oporp-laplace", 16)
    small = scumble.plan(bytes=8, **options)
    assert small.forecast["bytes_per_row"] <= 8
    tried = scumble.plan(sample=rng.random((400, 64)), mechanism="dp-oporp-staircase", **options)
    assert tried.measured["recall"]["private"] >= 0
    with pytest.raises(scumble.ParameterError):
        scumble.plan(**(options | {"epsilon": -1.0}))
    with pytest.raises(TypeError, match="'betta' is not an argument"):
        scumble.plan(betta=0.5, **options)
