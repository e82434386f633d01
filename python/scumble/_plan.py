"""What to choose and what to expect of it, before any budget is spent."""

from __future__ import annotations

import dataclasses
import inspect
import json
from typing import Any

from . import _input, _scumble
from ._mechanism import Mechanism, fields
from ._release import facts_table


@dataclasses.dataclass(frozen=True)
class Plan:
    """A choice, its forecast, and what it was chosen from."""

    mechanism: Mechanism
    """What to take: ``plan.mechanism.release(x, encoding=plan.encoding)``."""
    encoding: str
    """How rows are written."""
    forecast: dict[str, Any]
    """Noise, flips, standard errors of the estimators, recall with and without privacy, bytes a row."""
    measured: dict[str, Any] | None
    """What a trial on the sample found, if there was one."""
    alternatives: list[dict[str, Any]]
    """The best choice of every mechanism and size, best first: parameters, encoding, forecast, measured."""

    def _repr_html_(self) -> str:
        recall = self.forecast["recall"]
        facts = {
            "mechanism": repr(self.mechanism),
            "encoding": self.encoding,
            "recall, both sides private": f"{recall['private']:.2f}",
            "recall, exact query": f"{recall['exact_query']:.2f}",
            "recall without privacy": f"{recall['without_privacy']:.2f}",
        }
        return facts_table("Plan", facts)

    def __repr__(self) -> str:
        recall = self.forecast["recall"]
        return f"Plan({self.mechanism!r}, {self.encoding}, recall {recall['private']:.2f} of {recall['without_privacy']:.2f})"


def plan(
    *,
    dim: int,
    epsilon: float,
    range: tuple[float, float],
    mechanism: str | None = None,
    k: int | None = None,
    encoding: str | None = None,
    bytes: int | None = None,
    sample: Any = None,
    **options: Any,
) -> Plan:
    """Chooses what is left open, by public numbers, and forecasts what to expect.

    `mechanism`, `k`, `encoding`: fixed if given. `bytes`: the most that a row may take. `options`: beta, delta, unit,
    norm, density and the other arguments of :class:`scumble.Mechanism`; `norm`, a public guess of a row's length, makes
    the forecast much better.

    `sample`: rows to try the choices on. The plan then depends on them: it is as private as they are, and what is chosen
    with it is outside the guarantee unless the sample is public.

    >>> import scumble
    >>> p = scumble.plan(dim=784, epsilon=5.0, range=(0.0, 1.0), beta=1.0, norm=9.0, seed=bytes(32))
    >>> 0.0 < p.forecast["recall"]["private"] <= p.forecast["recall"]["without_privacy"] <= 1.0
    True
    >>> p.mechanism.dim, len(p.alternatives) > 3
    (784, True)
    """
    unknown = options.keys() - inspect.signature(Mechanism).parameters.keys()
    if unknown:
        raise TypeError(f"{min(unknown)!r} is no argument of plan or Mechanism")
    given = fields(mechanism=mechanism, dim=dim, epsilon=epsilon, range=range, k=k, **options)
    given |= {name: value for name, value in (("encoding", encoding), ("bytes", bytes)) if value is not None}
    block = None if sample is None else _input.whole(sample, dim)
    found = json.loads(_scumble.plan(json.dumps(given), block))
    best, *alternatives = found
    return Plan(
        Mechanism.from_parameters(best["parameters"]), best["encoding"], best["forecast"], best["measured"], alternatives
    )
