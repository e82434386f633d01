"""Similarities from a release alone, each with its variance and 95% interval."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from . import _input, _scumble
from ._release import Release, inner


class Estimate(NamedTuple):
    """A number with its uncertainty. All are NaN where it is undefined (a debiased norm that is not positive)."""

    value: float
    variance: float
    interval: tuple[float, float]
    """95% interval."""

    def __float__(self) -> float:
        return self.value


def inner_product(r: Release, i: int, j: int, other: Release | None = None) -> Estimate:
    """``u.v`` of row `i` of `r` and row `j` of `other` (of `r` itself by default).

    >>> import numpy as np, scumble
    >>> m = scumble.Mechanism("dp-oporp-staircase", dim=256, k=128, epsilon=20.0, range=(0, 1), seed=bytes(32))
    >>> r = m.release(np.ones((2, 256)))
    >>> e = scumble.inner_product(r, 0, 1)
    >>> e.interval[0] <= e.value <= e.interval[1], e.variance > 0
    (True, True)
    """
    return _estimate("inner_product", r, i, j, other)


def squared_distance(r: Release, i: int, j: int, other: Release | None = None) -> Estimate:
    """``|u-v|^2``, see :func:`inner_product`."""
    return _estimate("squared_distance", r, i, j, other)


def cosine(r: Release, i: int, j: int, other: Release | None = None) -> Estimate:
    """``u.v / (|u| |v|)``, see :func:`inner_product`. NaN when a debiased norm is not positive."""
    return _estimate("cosine", r, i, j, other)


def angle(r: Release, i: int, j: int, other: Release | None = None) -> Estimate:
    """The angle in radians: from the bits of ``dp-signrp-rr``, or from values. Other bits do not give it.

    >>> import numpy as np, scumble
    >>> m = scumble.Mechanism("dp-signoporp-ceil", dim=32, k=16, epsilon=3.0, range=(0, 1), seed=bytes(32))
    >>> scumble.angle(m.release(np.eye(32)), 0, 1)
    Traceback (most recent call last):
        ...
    scumble._errors.NotIdentifiable: the angle is not identifiable from dp-signoporp-ceil...
    """
    return _estimate("angle", r, i, j, other)


def squared_norm(r: Release, i: int) -> Estimate:
    """``|u|^2`` of row `i`."""
    return _estimate("squared_norm", r, i, i, None)


def inner_product_with_query(r: Release, i: int, query: Any) -> Estimate:
    """``u.v`` of row `i` and `query`, a vector of your own. The query is projected without noise: keep it to yourself.

    For releases of unit ``record`` (privcube, signcap) this is ``u.v / |u|``, because such a release does not contain the
    length of a row. For rows of length 1 it is the inner product.

    >>> import numpy as np, scumble
    >>> x = np.random.default_rng(0).normal(size=(2, 256)) / 16
    >>> m = scumble.Mechanism("privcube", dim=256, k=128, epsilon=60.0, range=(-1, 1), seed=bytes(32))
    >>> e = scumble.inner_product_with_query(m.release(x), 0, x[0])
    >>> e.interval[0] < e.value < e.interval[1], e.variance > 0
    (True, True)
    """
    held = inner(r)
    (block,) = _input.blocks(_input.array_of(query)[None], r.mechanism.dim)
    projected = held.mechanism().exact(block)
    return Estimate(*_scumble.estimate_with_query(held, _row(r, i), projected[0]))


def _row(r: Release, i: int) -> int:
    i = operator.index(i)
    if not -len(r) <= i < len(r):
        raise IndexError(f"row {i} does not exist: the release has {len(r)} rows")
    return i % len(r)


def _estimate(kind: str, r: Release, i: int, j: int, other: Release | None) -> Estimate:
    other = r if other is None else other
    a, b = inner(r), inner(other)
    return Estimate(*_scumble.estimate(kind, a, _row(r, i), b, _row(other, j)))
