"""What one's own data keep under privacy: a table and figures. Needs the private rows, so nothing here is private."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _input, _scumble
from ._errors import DataError, ParameterError
from ._mechanism import Mechanism, mechanisms as _mechanisms


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What was measured. Computed from the private rows: keep it where they may be kept."""

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
        """The whole page: reading, figures, tables. Stands alone in a file."""
        return self._page()[1]

    def mean(self, metric: str, *, mechanism: str, epsilon: float | None = None, k: int | None = None) -> float:
        """Mean of a metric over the repetitions. `mechanism`: an id, or ``none`` for the sketch without privacy."""
        values = [
            row["value"]
            for row in self.outcomes
            if (row["metric"], row["mechanism"]) == (metric, mechanism)
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
    repetitions: int = 1,
    depths: Sequence[int] = (1, 10, 50),
    encoding: str | None = None,
    svm_c: float | None = None,
    without_privacy: bool = True,
    title: str = "scumble evaluation",
    **options: Any,
) -> Evaluation:
    """Releases rows and queries with every mechanism at every epsilon and size, and measures what is left.

    Without `labels`: `recall@R` for every R in `depths`, the share of the true R nearest rows among the R found, with
    released and with exact queries.
    With `labels` of (rows, queries): the accuracy of a linear SVM trained on the released `x` and tested on the released
    `queries`; its C is `svm_c`, or chosen for every model by cross-validation on its training rows. `options` go to
    :class:`scumble.Mechanism`. A `delta` given goes to the mechanisms that take one.

    >>> import numpy as np, scumble
    >>> x = np.random.default_rng(0).random((300, 64))
    >>> e = scumble.evaluate(x[:200], x[200:], mechanisms=["dp-oporp-staircase", "dp-oporp"], epsilons=[1.0, 20.0], k=32,
    ...                      range=(0, 1), delta=1e-6)
    >>> e.mean("recall@50", mechanism="dp-oporp-staircase", epsilon=20.0) > e.mean("recall@50", mechanism="dp-oporp", epsilon=1.0)
    True
    >>> sorted(e.table)[:4], e.figures["recall@50"][:4]
    (['bits_per_row', 'delta', 'design', 'encoding'], '<svg')
    """
    mechanisms = [mechanisms] if isinstance(mechanisms, str) else list(mechanisms)
    epsilons = [float(e) for e in np.atleast_1d(epsilons)]
    if not mechanisms or not epsilons:
        raise ParameterError("give at least one mechanism and one epsilon")
    codes: tuple[list[int], list[int]] | None = None
    if labels is not None:
        classes = {name: code for code, name in enumerate(sorted({str(c) for part in labels for c in part}))}
        codes = ([classes[str(c)] for c in labels[0]], [classes[str(c)] for c in labels[1]])
        if (len(codes[0]), len(codes[1])) != (_input.rows_of(x), _input.rows_of(queries)):
            raise DataError("labels must be (one for each row of x, one for each query)")
    dim = _input.dim_of(x)
    first, second = _input.whole(x, dim), _input.whole(queries, dim)
    notions = {m["id"]: m["notion"] for m in _mechanisms()}
    sizes = [k] if isinstance(k, int) else list(k)
    delta = options.pop("delta", None)
    outcomes: dict[tuple[Any, ...], dict[str, Any]] = {}
    for size in sizes:
        for id in mechanisms:  # one call each, so that Ctrl-C is heard in between
            takes_delta = notions.get(id) in ("approximate", "either", "individual")
            m = Mechanism(
                id, dim=dim, k=size, epsilon=epsilons[0], range=range, beta=beta, seed=bytes(32),
                delta=delta if takes_delta else None, **options,
            )
            request = {
                "task": "classification" if labels is not None else "retrieval",
                "epsilons": epsilons,
                "repetitions": repetitions,
                "depths": list(depths),
                "without_privacy": without_privacy,
                "rows_as_they_are": without_privacy and not outcomes,
                "svm_c": svm_c,
                "encoding": encoding,
            }
            found = _scumble.evaluate(first, second, codes, json.dumps(m.parameters), json.dumps(request))
            for row in json.loads(found):  # the sketch without privacy is measured again for every mechanism
                place = (row["design"], row["k"], row["epsilon"], row["repetition"], row["metric"])
                outcomes.setdefault(place, row)
    return Evaluation(list(outcomes.values()), title)
