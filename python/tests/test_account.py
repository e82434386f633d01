"""Budgets: Python and the command line keep one ledger."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess

import numpy as np
import pytest

import scumble
from conftest import mechanism, run


@pytest.fixture
def account(tmp_path):
    return scumble.Account(tmp_path / "ledger", "customers", budget=12.0)


def test_refused_over_budget_and_given_back_on_failure(account, rng):
    m, x = mechanism(epsilon=5.0), rng.random((3, 64))
    first = m.release(x, account=account)
    bad = x.copy()
    bad[1, 1] = np.nan
    with pytest.raises(scumble.DataError):
        m.release(bad, account=account)
    m.release(x, account=account)
    with pytest.raises(scumble.OverBudget, match="at most epsilon 2 is left"):
        m.release(x, account=account)
    entries = account.statement["entries"]
    assert [entry["state"] for entry in entries] == ["recorded", "cancelled", "recorded"]
    assert entries[0]["certificate"] == first.certificate["digest"]
    with pytest.raises(scumble.ParameterError, match="budget"):
        m.release(x, account=scumble.Account(account.ledger, "customers", budget=100.0))
    with pytest.raises(scumble.ParameterError, match="nobody"):
        scumble.Account(account.ledger, "nobody").statement


@pytest.mark.parametrize("change", ["epsilon = -1", "times = 1000000000", "state = 'forgotten'"])
def test_a_ledger_that_no_release_has_written_is_refused(account, rng, change):
    """A minus sign would give budget back."""
    m, x = mechanism(epsilon=5.0), rng.random((3, 64))
    m.release(x, account=account)
    with contextlib.closing(sqlite3.connect(account.ledger)) as ledger, ledger:
        ledger.execute("PRAGMA ignore_check_constraints = 1")
        ledger.execute(f"UPDATE entry SET {change}")
    with pytest.raises(scumble.ScumbleError, match="the ledger was altered"):
        m.release(x, account=account)
    with pytest.raises(scumble.ScumbleError, match="the ledger was altered"):
        account.statement


def test_one_ledger_with_the_command_line(account, cli, rng, tmp_path):
    x = rng.random((3, 64))
    np.save(tmp_path / "x.npy", x)
    r = mechanism(epsilon=7.0).release(x, account=account)
    r.save(tmp_path / "r.parquet")
    assert scumble.load(tmp_path / "r.parquet").certificate["digest"] == account.statement["entries"][0]["certificate"]
    words = [cli, "release", tmp_path / "x.npy", "--mechanism", "dp-oporp-staircase", "--range", "0,1", "-k", 32, "--beta", 1]
    words += ["--ledger", account.ledger, "--dataset", "customers"]
    run(*words, "--epsilon", 4, "--out", tmp_path / "a.npy")
    assert account.statement["spent"] == pytest.approx(11.0)
    refused = subprocess.run([str(w) for w in [*words, "--epsilon", 2, "--out", tmp_path / "b.npy"]], capture_output=True)
    assert refused.returncode == 1 and not (tmp_path / "b.npy").exists()
