"""Several rows of one person: at most a given number leave, and the certificate states what they cost together."""

from __future__ import annotations

import collections
import warnings

import numpy as np
import pytest
import scipy.sparse

import scumble
from conftest import mechanism
from scumble.arrow import new_key

PERSONS = [f"p{i % 7}" for i in range(40)] + ["alone"]


def released(m, x, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return m.release(x, persons=PERSONS, **options)


@pytest.mark.parametrize("most", [1, 3, 6, 100])
def test_at_most_so_many_rows_of_each_person(rng, most):
    x, ids = rng.random((41, 64)), np.arange(41)
    r = released(mechanism(), x, ids=ids, labels=ids, rows_per_person=most)
    counts = collections.Counter(PERSONS[i] for i in r.ids)
    assert counts == {person: min(most, n) for person, n in collections.Counter(PERSONS).items()}
    assert (r.ids == r.labels).all() and len(r.values) == len(r.ids) == r.certificate["rows"]
    person = r.certificate["person"]
    assert person["rows"] == most and person["delta"] == 0 and person["epsilon"] == pytest.approx(5.0 * most)
    assert "ONE person" in person["statement"] and f"up to {most} of each" in r.certificate["not_protected"][-1]
    assert not any(name in str(r.certificate) for name in PERSONS)


def test_a_choice_by_key_that_no_value_has_a_part_in(rng, tmp_path):
    m, ids = mechanism(), np.arange(41)
    options = {"ids": ids, "rows_per_person": 2, "sticky_key": new_key()}
    one, other = (released(m, x, **options) for x in (rng.random((41, 64)), np.zeros((41, 64))))
    assert (one.ids == other.ids).all()
    sparse = released(m, scipy.sparse.csr_matrix(np.zeros((41, 64))), **options)
    assert (sparse.ids == one.ids).all() and (sparse.values == other.values).all()
    fresh = {tuple(released(m, np.zeros((41, 64)), ids=ids, rows_per_person=2).ids) for _ in range(20)}
    assert len(fresh) > 10
    one.save(tmp_path / "r.parquet")
    assert scumble.verify(tmp_path / "r.parquet")["person"] == one.certificate["person"]
    without = released(m, np.zeros((41, 64)), rows_per_person=2)  # Parquet numbers the rows, and keeps the statement
    without.save(tmp_path / "n.parquet")
    assert scumble.load(tmp_path / "n.parquet").certificate["person"] == without.certificate["person"]


def test_a_key_that_brings_its_seed_bounds_persons_too(rng):
    unseeded = scumble.Mechanism("dp-oporp-laplace", dim=64, k=16, epsilon=5.0, range=(0, 1))
    r = released(unseeded, rng.random((41, 64)), ids=np.arange(41), rows_per_person=2, sticky_key=new_key())
    assert r.certificate["person"]["rows"] == 2
    assert max(collections.Counter(PERSONS[i] for i in r.ids).values()) == 2


def test_an_account_pays_for_the_rows_that_stay(rng, tmp_path):
    x, ids, account = rng.random((41, 64)), np.arange(41), scumble.Account(tmp_path / "budget.db", "mail", budget=10.0)
    options = {"ids": ids, "rows_per_person": 2, "sticky_key": new_key(), "account": account}
    one, again = (released(mechanism(), x, **options) for _ in range(2))
    assert (one.ids == again.ids).all() and (one.values == again.values).all()
    assert len(one.ids) == 2 * 7 + 1


def test_the_best_rule(rng):
    x = rng.random((41, 64))
    gaussian = mechanism("dp-oporp", delta=1e-6)
    person = released(gaussian, x, rows_per_person=4).certificate["person"]
    assert person["delta"] == 1e-6 and 5.0 < person["epsilon"] < 20.0
    less = released(mechanism(epsilon=0.1), x, rows_per_person=6, person_delta=1e-3).certificate["person"]
    assert less["delta"] == 1e-3 and less["epsilon"] < 0.6


def test_the_operator_hears_how_many_are_left_out(rng):
    with pytest.warns(UserWarning, match="19 of 41 rows are left out"):
        mechanism().release(rng.random((41, 64)), persons=PERSONS, rows_per_person=3, ids=range(41))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mechanism().release(rng.random((41, 64)), persons=PERSONS, rows_per_person=6)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"persons": PERSONS}, "rows_per_person"),
        ({"rows_per_person": 2}, "need persons"),
        ({"persons": PERSONS, "rows_per_person": 0}, "at least 1"),
        ({"persons": PERSONS[1:], "rows_per_person": 2}, "one for each of the 41 rows"),
        ({"persons": [None] * 41, "rows_per_person": 2}, "row 0: persons must be all"),
        ({"persons": PERSONS, "rows_per_person": 10**6}, "at most 10000"),
        ({"persons": PERSONS, "rows_per_person": 2, "person_delta": 1.0}, "delta"),
    ],
)
def test_wrong_uses(rng, options, error):
    with pytest.raises(scumble.ScumbleError, match=error):
        mechanism().release(rng.random((41, 64)), **options)
