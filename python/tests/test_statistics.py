"""Figures of whole releases and decoding, through the Python package."""

import numpy as np
import pytest

import scumble


def release(x, name="dp-oporp-staircase", **more):
    options = dict(dim=x.shape[1], k=16, epsilon=4.0, beta=1.0, range=(0, 1), seed=bytes(32)) | more
    return scumble.Mechanism(name, **options).release(x)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return (rng.random((4000, 3)) @ rng.random((3, 64)) / 3).astype(np.float32)


def test_figures_hold_the_truth(rows):
    r = release(rows)
    told = scumble.statistics(r, target="rows", simultaneous=True)
    exact = r.mechanism.project(rows)
    mean, covariance = told["mean"], told["covariance"]
    assert np.all((mean.low <= exact.mean(0)) & (exact.mean(0) <= mean.high))
    truth = np.cov(exact.T)[covariance.at[:, 0], covariance.at[:, 1]]
    assert np.mean((covariance.low <= truth) & (truth <= covariance.high)) > 0.98
    assert "Bonferroni" in mean.correction and told.rows == [4000]
    assert set(told.told()) <= set(told) and "share" not in told.told()
    with pytest.raises(scumble.NotIdentifiable, match="see the means"):
        told["share"]
    with pytest.raises(KeyError):
        told["median"]


def test_drift_shares_centroids_and_false_reports(rows):
    low, high = rows, np.minimum(rows + 0.1, 1)
    drift = scumble.statistics(release(high, "raw-staircase", k=64), since=release(low, "raw-staircase", k=64))
    assert np.all(np.abs(drift["attribute_mean"].value - 0.1) < 6 * drift["attribute_mean"].error)
    bits = scumble.statistics(release(rows, "dp-signoporp-rr"), false_reports=40)
    assert bits["share"].value.shape == (16,) and np.all(bits["share"].false_reports_move < 0.02)
    counts = scumble.statistics(release(rows), centroids=rows[:3])["nearest_centroid"]
    assert counts.value.sum() == pytest.approx(1)
    assert np.isinf(scumble.statistics(release(rows), false_reports=1)["mean"].false_reports_move).all()


def test_shuffling_is_stated_or_refused(rows):
    told = scumble.statistics(release(rows, "dp-oporp-zones", symbols=3, epsilon=2.0), shuffled=1e-6)
    assert told.shuffled["epsilon"] < 0.3 and told.shuffled["reports"] == 4000
    with pytest.raises(scumble.NotPrivate, match="ANY two"):
        scumble.statistics(release(rows), shuffled=1e-6)


def test_decoding_helps_and_is_refused_where_it_hurts(rows):
    r = release(rows)
    exact = r.mechanism.project(rows)
    for method in ("wiener", "scale"):
        decoded = scumble.decode(r, method=method)
        assert decoded.shape == (4000, 16)
        assert np.mean((decoded - exact) ** 2) < 0.5 * np.mean((r.values - exact) ** 2)
    queries = release(rows[:5])
    assert scumble.decode(r, rows=queries).shape == (5, 16)
    assert scumble.search(r, rows[:5], top=3, decode="wiener").rows.shape == (5, 3)
    with pytest.raises(scumble.NotIdentifiable, match="too few"):
        scumble.decode(release(rows[:100]))
    few = release(rows[:100], epsilon=0.5)  # of 1,600 values hundreds lie beyond the bounds
    nearer = scumble.decode(few, method="bounds")  # works for any number of rows, and moves none away from the truth
    errors = [((x - exact[:100]) ** 2).sum(1) for x in (nearer, few.values)]
    assert (errors[0] <= errors[1] * (1 + 1e-6)).all() and (errors[0] < errors[1]).any()
    with pytest.raises(scumble.ParameterError, match="wiener, scale or bounds"):
        scumble.decode(r, method="median")


def test_numbers_out_of_their_domain_are_named(rows):
    r = release(rows, "raw-staircase", k=64)
    for given in ({"false_reports": -1}, {"attributes": [-1]}, {"largest": -1}):
        with pytest.raises(scumble.ParameterError, match=f"^{min(given)} must not be negative, got -1"):
            scumble.statistics(r, **given)
    for given in ({"false_reports": 2**70}, {"attributes": [2**70]}, {"largest": 2**70}, {"shuffled": 10**400}):
        with pytest.raises(scumble.ParameterError, match=f"^{min(given)} is too large"):
            scumble.statistics(r, **given)
    with pytest.raises(TypeError, match="attributes must be an integer, got float"):
        scumble.statistics(r, attributes=[1.5])
