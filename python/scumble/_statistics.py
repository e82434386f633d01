"""Figures of a whole release with intervals, and its rows with noise removed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _input, _scumble
from ._checks import real, several, whole
from ._errors import NotIdentifiable, ParameterError
from ._release import Release, inner


class Family(NamedTuple):
    """Figures of one kind, as arrays with one entry per figure."""

    at: np.ndarray
    """int64 ``[figures, n]``: which coordinate, pair of coordinates, attribute, zone or centroid."""
    value: np.ndarray
    error: np.ndarray
    """Standard errors."""
    low: np.ndarray
    """Lower ends of the intervals."""
    high: np.ndarray
    """Upper ends."""
    false_reports_move: np.ndarray | None
    """The most that the stated number of false reports can have moved each figure; infinite where there is no bound."""
    about: str
    correction: str


class Statistics(Mapping[str, Family]):
    """Families of figures by name. A family that the release cannot give raises :class:`NotIdentifiable` with the reason."""

    def __init__(self, told: dict[str, Any]):
        self.raw = told
        """All of it, as the command line's ``--json``."""
        self._names = [name for name, part in told.items() if isinstance(part, dict) and "conditions" not in part]

    @property
    def rows(self) -> list[int]:
        """Rows of the release, or of both releases."""
        return self.raw["rows"]

    @property
    def shuffled(self) -> dict[str, Any] | None:
        """The amplified guarantee, if it was asked for."""
        return self.raw.get("shuffled")

    def __getitem__(self, name: str) -> Family:
        if name not in self._names:
            raise KeyError(name)
        told = self.raw[name]
        if "refused" in told:
            raise NotIdentifiable(told["refused"])
        figures = told["figures"]
        column = lambda key: np.array([figure[key] for figure in figures], dtype=np.float64)  # noqa: E731
        interval = np.array([figure["interval"] for figure in figures], dtype=np.float64).reshape(-1, 2)
        moved = [figure.get("false_reports_move") for figure in figures]
        return Family(
            at=np.array([figure["at"] for figure in figures], dtype=np.int64),
            value=column("value"),
            error=column("error"),
            low=interval[:, 0],
            high=interval[:, 1],
            false_reports_move=None
            if not moved or moved[0] is None
            else np.array([np.inf if isinstance(most, str) else most for most in moved]),
            about=told["about"],
            correction=told["correction"],
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def told(self) -> list[str]:
        """Names of the families that the release can give."""
        return [name for name in self._names if "refused" not in self.raw[name]]


def statistics(
    r: Release,
    *,
    since: Release | None = None,
    target: str = "population",
    simultaneous: bool = False,
    false_reports: int | None = None,
    attributes: Sequence[int] | None = None,
    largest: int = _scumble.LARGEST,
    centroids: Any = None,
    shuffled: float | None = None,
) -> Statistics:
    """Means, shares and covariances of a release, each with a 95% interval. Costs no privacy.

    `since`: an earlier release with the same projection; the figures are then differences, `r` minus `since`.
    `target`: what an interval is for: the ``population`` that the rows are a sample of, or these ``rows``.
    `simultaneous`: widens the intervals of a family until all of them hold at once.
    `false_reports`: how many rows may be false; the result says how far they can have moved each figure.
    `attributes`: the attributes whose means are wanted, where the release gives means of attributes. Without it, `largest` says
    how many of the largest are given.
    `centroids`: public vectors; rows are counted by the nearest.
    `shuffled`: a delta, if only these figures leave a trusted collector and each person has one row. The result then states
    the amplified epsilon, and leaves out figures that would break it.

    >>> import numpy as np, scumble
    >>> x = np.random.default_rng(0).random((4000, 8)) < 0.3
    >>> m = scumble.Mechanism("raw-staircase", dim=8, epsilon=4.0, range=(0, 1))
    >>> told = scumble.statistics(m.release(x.astype(np.float32)))
    >>> bool(np.all(np.abs(told["attribute_mean"].value - 0.3) < 0.05))
    True
    """
    held, points = inner(r), None
    if centroids is not None:
        points, *more = _input.blocks(centroids, r.mechanism.dim)
        if more:
            raise ParameterError("centroids must be one array")
    told = _scumble.statistics(
        held,
        None if since is None else inner(since),
        target,
        simultaneous,
        whole("false_reports", false_reports),
        None if attributes is None else several(whole, "attributes", attributes),
        whole("largest", largest),
        points,
        real("shuffled", shuffled),
    )
    return Statistics(json.loads(told))


def decode(r: Release, *, rows: Release | None = None, method: str = "wiener") -> np.ndarray:
    """The rows of `r` with noise removed through what they have in common: float32 ``[rows, k]``. Costs no privacy.

    `rows`: another release to decode with what was learned from `r`, such as queries of the same population and projection.
    `method`: ``wiener``, ``scale`` for rows of very different length, or ``bounds``: each value becomes the nearest that the
    range allows, which works for any number of rows.
    ``wiener`` and ``scale`` are refused with :class:`NotIdentifiable` where they are known to hurt: below 10 rows per
    coordinate, or with hardly any signal.

    >>> import numpy as np, scumble
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((2000, 3)) @ rng.random((3, 64)) / 3
    >>> m = scumble.Mechanism("dp-oporp-staircase", dim=64, k=16, epsilon=4.0, range=(0, 1), seed=bytes(32))
    >>> r = m.release(x)
    >>> exact, decoded = m.project(x), scumble.decode(r)
    >>> bool(np.mean((decoded - exact) ** 2) < 0.5 * np.mean((r.values - exact) ** 2))
    True
    """
    return _scumble.decode(inner(r), None if rows is None else inner(rows), method)
