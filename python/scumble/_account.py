"""Budgets: what a data set may spend over all of its releases, kept in a ledger file."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from . import _scumble
from ._checks import real
from ._errors import ParameterError


@dataclasses.dataclass(frozen=True)
class Account:
    """A data set's account in a ledger, the file that ``scumble release --ledger`` keeps. Pass it to a release.

    `ledger`: the file, made at the first use. `dataset`: name of the data set. `budget`, `budget_delta`: the most that
    all of its releases may cost together, fixed at the first use and not needed afterwards. Mechanisms with a delta need
    a `budget_delta`.

    >>> import os, tempfile, numpy as np, scumble
    >>> account = scumble.Account(os.path.join(tempfile.mkdtemp(), "ledger"), "customers", budget=8.0)
    >>> m = scumble.Mechanism("dp-oporp-staircase", dim=64, k=16, epsilon=5.0, range=(0, 1), seed=bytes(32))
    >>> r = m.release(np.zeros((3, 64)), account=account)
    >>> account.statement["spent"], [entry["state"] for entry in account.statement["entries"]]
    (5.0, ['recorded'])
    >>> m.release(np.zeros((3, 64)), account=account)
    Traceback (most recent call last):
        ...
    scumble._errors.OverBudget: refused: data set 'customers' has a budget of epsilon 8, 5 of it spent in 1 releases...
    """

    ledger: str | os.PathLike[str]
    dataset: str
    budget: float | None = None
    budget_delta: float = 0.0

    @property
    def statement(self) -> dict[str, Any]:
        """Budget, what is spent and left, and every release. May be shown to anyone."""
        for account in json.loads(_scumble.ledger_statement(os.fspath(self.ledger)))["accounts"]:
            if account["dataset"] == self.dataset:
                return account
        raise ParameterError(f"the ledger has no data set {self.dataset!r}")

    @property
    def limit(self) -> tuple[float, float] | None:
        """(epsilon, delta) of the budget, if it was given."""
        return None if self.budget is None else (real("budget", self.budget), real("budget_delta", self.budget_delta))

    def reserve(self, releaser: _scumble.Releaser) -> _scumble.Charge:
        """Spends what one release costs, before any noise is drawn; refuses what is over budget."""
        return _scumble.Charge(os.fspath(self.ledger), self.dataset, self.limit, releaser)


@contextlib.contextmanager
def charge(account: Account | None, releaser: _scumble.Releaser) -> Iterator[Callable[[str], None]]:
    """Reserves, and yields the function that records a certificate; gives back what a failed release had reserved."""
    if account is None:
        yield lambda certificate: None
        return
    if not isinstance(account, Account):
        raise TypeError(f"account must be a scumble.Account, got {type(account).__name__}")
    reserved = account.reserve(releaser)
    try:
        yield reserved.record
    finally:
        reserved.cancel()
