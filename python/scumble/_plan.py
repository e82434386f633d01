"""What to choose and what to expect of it, before any budget is spent."""

from __future__ import annotations

import dataclasses
import inspect
import json
from typing import Any

import numpy as np

from . import _input, _scumble
from ._checks import whole
from ._errors import ParameterError
from ._mechanism import Mechanism, fields
from ._release import facts_table


@dataclasses.dataclass(frozen=True)
class Plan:
    """A choice, its forecast, and the alternatives."""

    mechanism: Mechanism
    """What to take: ``plan.mechanism.release(x, encoding=plan.encoding)``."""
    encoding: str
    """How rows are written."""
    forecast: dict[str, Any]
    """Noise, flips, correlation with the projected value, standard errors of the estimators, bytes per row."""
    measured: dict[str, Any] | None
    """What a trial on the sample found, if there was one."""
    telling: bool
    """False when the public sample was too small to say what to expect of other rows."""
    alternatives: list[dict[str, Any]]
    """The best choice of every mechanism and size, best first: parameters, encoding, forecast, measured."""

    def _repr_html_(self) -> str:
        facts = {"mechanism": repr(self.mechanism), "encoding": self.encoding}
        return facts_table("Plan", facts | dict([self._expected]))

    def __repr__(self) -> str:
        what, found = self._expected
        return f"Plan({self.mechanism!r}, {self.encoding}, {what} {found})"

    @property
    def _expected(self) -> tuple[str, str]:
        return ("recall", self.recall) if self.accuracy is None else ("accuracy", self.accuracy)

    @property
    def recall(self) -> str:
        """What a trial on the sample found. Not known without one: it depends on how the rows relate to each other."""
        if self.measured is None or "recall" not in self.measured:
            return "not known without a sample to search"
        if not self.telling:
            return "not said: the sample is too small to tell"
        found = self.measured["recall"]
        return f"{found['private']:.2f} both sides private, {found['exact_query']:.2f} exact query, on the sample; rows of another kind may do worse"

    @property
    def accuracy(self) -> str | None:
        """What a classifier trained on a release of the public sample reached, if its labels were given."""
        if self.measured is None or "accuracy" not in self.measured:
            return None
        if not self.telling:
            return "not said: the sample is too small to tell"
        found = self.measured["accuracy"]
        without = "" if found["without_privacy"] is None else f", {found['without_privacy']:.2f} without privacy"
        return f"{found['private']:.2f} tested on released rows, {found['exact_rows']:.2f} on exact ones{without}"


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
    public_sample: Any = None,
    public_labels: Any = None,
    like: str | None = None,
    **options: Any,
) -> Plan:
    """Chooses what is left open, from public numbers, and says what to expect.

    `mechanism`, `k`, `encoding`: fixed if given. `bytes`: the most bytes that a row may take. `options`: beta, delta, unit,
    norm, density and the other arguments of :class:`scumble.Mechanism`; `norm`, a public guess of a row's length, makes
    the forecast much better.

    `sample`: rows to try the choices on. The plan then depends on them: it is as private as they are, and what is chosen
    with it is outside the guarantee.

    `public_sample`: PUBLIC rows of the same kind, none of them to be released. Bins, components and a book are learned from
    one half and tried on the other; what is chosen is learned from all of them, and the plan is public too.
    `public_labels`: the class of each public row: the plan is then for training. A classifier is trained on a release of
    each choice and tested, in place of a search.
    `like`: what the rows are, ``"images:28x28"`` or ``"images:32x32x3"``; blocks of neighbouring pixels are then taken, or
    tried on the public sample.

    >>> import numpy as np, scumble
    >>> p = scumble.plan(dim=784, epsilon=5.0, range=(0.0, 1.0), beta=1.0, norm=9.0, seed=bytes(32))
    >>> 0.0 < p.forecast["correlation"] <= 1.0, p.recall
    (True, 'not known without a sample to search')
    >>> p.mechanism.dim, len(p.alternatives) > 3
    (784, True)

    >>> public = np.repeat(np.random.default_rng(0).random((400, 16)), 4, axis=1)       # attributes move in fours
    >>> p = scumble.plan(dim=64, epsilon=1.0, range=(0, 1), public_sample=public, seed=bytes(32))
    >>> private = np.repeat(np.random.default_rng(1).random((10, 16)), 4, axis=1)
    >>> len(p.mechanism.release(private, encoding=p.encoding)), p.mechanism.parameters["bins"] is not None
    (10, True)
    >>> labels = public[:, 0] > 0.5
    >>> scumble.plan(dim=64, epsilon=2.0, range=(0, 1), public_sample=public, public_labels=labels).accuracy
    'not said: the sample is too small to tell'
    >>> scumble.plan(dim=784, epsilon=1.0, range=(0, 255), like="images:28x28").mechanism.k
    81
    """
    unknown = options.keys() - inspect.signature(Mechanism).parameters.keys()
    if unknown:
        raise TypeError(f"{min(unknown)!r} is not an argument of plan or Mechanism")
    given = fields(mechanism=mechanism, dim=dim, epsilon=epsilon, range=range, k=k, **options)
    given |= {name: value for name, value in (("encoding", encoding), ("bytes", whole("bytes", bytes))) if value is not None}
    if sample is not None and public_sample is not None:
        raise ParameterError("a sample is private or public: give sample or public_sample")
    private = None if sample is None else _input.whole(sample, dim)
    public, classes = public_rows(public_sample, public_labels, dim) or (None, None)
    found = json.loads(_scumble.plan(json.dumps(given), private, public, classes, like))
    best, *alternatives = found
    chosen = Mechanism.from_parameters(best["parameters"])
    telling = public_sample is None or best["telling"]
    return Plan(chosen, best["encoding"], best["forecast"], best["measured"], telling, alternatives)


def public_rows(sample: Any, labels: Any, dim: int) -> tuple[Any, list[int] | None] | None:
    """A public sample and its classes, as the compiled part takes them."""
    if sample is None:
        if labels is not None:
            raise ParameterError("public_labels need the public_sample that they belong to")
        return None
    classes = None if labels is None else np.unique(np.asarray(labels), return_inverse=True)[1].tolist()
    return _input.whole(sample, dim), classes
