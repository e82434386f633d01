"""How well search and training still work on your own rows: tables and figures. Reads private rows: no output is private."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _input, _scumble
from ._checks import real, several, whole
from ._errors import DataError, ParameterError
from ._mechanism import Mechanism, check_id, fields
from ._plan import public_rows


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What was measured. Computed from the private rows: keep it with them."""

    outcomes: list[dict[str, Any]]
    """One dict per measurement; epsilon is None for the sketch without privacy."""
    title: str = "scumble evaluation"

    @property
    def table(self) -> dict[str, np.ndarray]:
        """Columns as numpy arrays, one entry per measurement; epsilon is infinite without privacy."""
        rows = [row | {"epsilon": float("inf") if row["epsilon"] is None else row["epsilon"]} for row in self.outcomes]
        return {name: np.array([row[name] for row in rows]) for name in self.outcomes[0]}

    @property
    def figures(self) -> dict[str, str]:
        """An SVG for each metric: the metric against epsilon, one curve per mechanism."""
        return dict(self._page()[0])

    @property
    def html(self) -> str:
        """The whole page: text, figures and tables, in one file."""
        return self._page()[1]

    def mean(self, metric: str, *, mechanism: str, epsilon: float | None = None, k: int | None = None) -> float:
        """Mean of a metric over the repetitions.

        `mechanism`: an id, ``none`` for the sketch without privacy, or a design as `table` names it, such as
        ``"dp-oporp-staircase, bins"`` or ``"auto, public sample"``.
        """
        named = [row for row in self.outcomes if row["design"] == mechanism]
        of_id = [row for row in self.outcomes if row["mechanism"] == mechanism and not row["design"].startswith("auto")]
        values = [
            row["value"]
            for row in named or of_id
            if row["metric"] == metric
            and epsilon in (None, row["epsilon"])
            and k in (None, row["k"])
        ]
        if not values:
            raise KeyError(f"nothing was measured for {metric}, {mechanism}, epsilon={epsilon}, k={k}")
        return float(np.mean(values))

    def _page(self) -> tuple[list[tuple[str, str]], str]:
        return _scumble.evaluation_page(self.title, json.dumps(self.outcomes))

    def _repr_html_(self) -> str:
        return "".join(self.figures.values())

    def __repr__(self) -> str:
        return f"Evaluation({len(self.outcomes)} measurements)"


def evaluate(
    x: Any,
    queries: Any,
    *,
    mechanisms: str | Sequence[str],
    epsilons: float | Sequence[float],
    k: int | Sequence[int],
    range: tuple[float, float],
    beta: float | None = None,
    labels: tuple[Sequence[Any], Sequence[Any]] | None = None,
    repetitions: int = _scumble.REPETITIONS,
    depths: Sequence[int] = (1, 10, 50),
    encoding: str | None = None,
    svm_c: float | None = None,
    without_privacy: bool = True,
    public_sample: Any = None,
    public_labels: Any = None,
    like: str | None = None,
    title: str = "scumble evaluation",
    **options: Any,
) -> Evaluation:
    """Releases rows and queries with every mechanism at every epsilon and size, and measures how useful they are.

    Without `labels`: `recall@R` for every R in `depths`, with released and with exact queries. This is the share of the true
    R nearest rows that are among the R rows found.
    With `labels` of (rows, queries): the accuracy of a linear SVM trained on the released `x` and tested on the released
    `queries`; its C is `svm_c`, or chosen for every model by cross-validation on its training rows. `options` go to
    :class:`scumble.Mechanism`. A given `delta` goes to the mechanisms that take one; without it, those that need one
    use 1e-6. `bins` are measured next to OPORP.

    The mechanism ``"auto"`` is what :func:`scumble.plan` chooses at each epsilon, with its encoding and clip. With
    `public_sample`, `public_labels` or `like`, as `plan` takes them, it chooses its own k, and learns bins, components or a
    book from the public rows, never from those that are evaluated.

    >>> import numpy as np, scumble
    >>> x = np.random.default_rng(0).random((300, 64))
    >>> e = scumble.evaluate(x[:200], x[200:], mechanisms=["dp-oporp-staircase", "dp-oporp"], epsilons=[1.0, 20.0], k=32,
    ...                      range=(0, 1), delta=1e-6)
    >>> e.mean("recall@50", mechanism="dp-oporp-staircase", epsilon=20.0) > e.mean("recall@50", mechanism="dp-oporp", epsilon=1.0)
    True
    >>> sorted(e.table)[:4], e.figures["recall@50"][:4]
    (['bits_per_row', 'delta', 'design', 'encoding'], '<svg')
    >>> rows = np.repeat(np.random.default_rng(1).random((700, 16)), 4, axis=1)         # attributes move in fours
    >>> e = scumble.evaluate(rows[:400], rows[400:450], mechanisms=["auto", "dp-oporp-staircase"], epsilons=2.0, k=16,
    ...                      range=(0, 1), public_sample=rows[450:])
    >>> e.mean("recall@50", mechanism="auto, public sample") > e.mean("recall@50", mechanism="dp-oporp-staircase")
    True
    """
    mechanisms = [mechanisms] if isinstance(mechanisms, str) else list(mechanisms)
    epsilons = several(real, "epsilons", epsilons)
    if not mechanisms or not epsilons:
        raise ParameterError("give at least one mechanism and one epsilon")
    codes: tuple[list[int], list[int]] | tuple[None, None] = (None, None)
    if labels is not None:
        classes = {name: code for code, name in enumerate(sorted({str(c) for part in labels for c in part}))}
        codes = ([classes[str(c)] for c in labels[0]], [classes[str(c)] for c in labels[1]])
        if (len(codes[0]), len(codes[1])) != (_input.rows_of(x), _input.rows_of(queries)):
            raise DataError("labels must be (one for each row of x, one for each query)")
    unknown = options.keys() - inspect.signature(Mechanism).parameters.keys()
    if unknown:
        raise TypeError(f"{min(unknown)!r} is not an argument of evaluate or Mechanism")
    dim = _input.dim_of(x)
    given = fields(mechanism=None, dim=dim, epsilon=epsilons[0], range=range, beta=beta, k=None, **options)
    given |= {} if encoding is None else {"encoding": encoding}
    request = {
        "task": "classification" if labels is not None else "retrieval",
        "mechanisms": [None if id == "auto" else check_id(id) for id in mechanisms],
        "k": several(whole, "k", k),
        "like": like,
        "epsilons": epsilons,
        "repetitions": whole("repetitions", repetitions),
        "depths": several(whole, "depths", depths),
        "without_privacy": without_privacy,
        "svm_c": real("svm_c", svm_c),
    }
    public = public_rows(public_sample, public_labels, dim)
    first, second = ((_input.whole(rows, dim), code) for rows, code in zip((x, queries), codes))
    found = _scumble.evaluate(first, second, public, json.dumps(given), json.dumps(request))
    return Evaluation(json.loads(found), title)
