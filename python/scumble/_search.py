"""Exact search over a release."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _input, _scumble
from ._checks import whole
from ._errors import ParameterError
from ._release import Release, inner


class Hits(NamedTuple):
    """The best rows of every query, best first."""

    rows: np.ndarray
    """int64 ``[queries, top]``: rows of the release."""
    scores: np.ndarray
    """float32 ``[queries, top]``: larger is better, but ``hamming`` counts differing bits."""
    ids: np.ndarray | None
    """``[queries, top]``: their ids, if the release has any."""


def search(
    r: Release,
    queries: Any,
    top: int = _scumble.TOP,
    *,
    exact: bool | None = None,
    metric: str | None = None,
    decode: str | None = None,
) -> Hits:
    """The `top` rows of `r` that are nearest to each query. Ties go to the lower row.

    `queries`: a :class:`Release` with the same projection, or an array of the searcher's own vectors. The latter are
    projected but not noised: they rank clearly better, and they are not protected, so they must stay with the searcher.
    `exact`: says which of the two is meant; other queries are then an error.
    `metric`: ``hamming`` (bits against bits, the default there), ``cosine`` (the default elsewhere), ``inner-product``.
    `decode`: ``wiener``, ``scale`` or ``bounds`` removes noise first, see :func:`decode`.

    >>> import numpy as np, scumble
    >>> m = scumble.Mechanism("dp-oporp-staircase", dim=64, k=32, epsilon=10.0, range=(0, 1), seed=bytes(32))
    >>> x = np.random.default_rng(0).random((100, 64))
    >>> hits = scumble.search(m.release(x), x[:3], top=5)
    >>> hits.rows.shape, hits.rows[:, 0].tolist()
    ((3, 5), [0, 1, 2])
    """
    held, released = inner(r), isinstance(queries, Release)
    if exact is not None and exact == released:
        wanted = "the searcher's own vectors" if exact else "a release: m.release(queries), with the same seed"
        raise ParameterError(f"exact={exact} needs {wanted}")
    top = whole("top", top, least=1)
    blocks = [queries._inner] if released else _input.blocks(queries, r.mechanism.dim)
    parts = [_scumble.search(held, block, top, metric, decode) for block in blocks]
    rows, scores = (np.concatenate(part) for part in zip(*parts))
    return Hits(rows, scores, None if r.ids is None else r.ids[rows])
