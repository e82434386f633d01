"""A private projection as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._mechanism import Mechanism
from ._release import Release


class PrivateProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Replaces every row by its differentially private sketch, so that all that follows in a pipeline is private too.

    ``fit`` reads the number of features and nothing else: the projection is public and free of data, the other
    parameters must not be computed from the rows. ``transform`` draws fresh secret noise on every call: calling it twice
    on the same rows gives different values and spends epsilon twice.

    Parameters
    ----------
    mechanism, epsilon, delta, beta, range, unit, repeats : see :class:`scumble.Mechanism`.
    k : size of the sketch; ``"auto"`` takes the lesser of 256 and the number of features.
    seed : public seed of the projection, 32 bytes or 64 hexadecimal digits; by default ``fit`` makes a fresh one. Fit
        once and transform every table with the same object, or give the seed: sketches of other seeds do not compare.
    encoding : see :meth:`scumble.Mechanism.release`.
    options : further arguments of :class:`scumble.Mechanism`, as a dict.

    Attributes
    ----------
    mechanism_ : the :class:`scumble.Mechanism`.
    n_features_in_ : number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from scumble.sklearn import PrivateProjection
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random((400, 64)); y = x[:, :32].sum(1) > x[:, 32:].sum(1)
    >>> model = make_pipeline(PrivateProjection(epsilon=10.0, range=(0, 1)), LinearSVC())
    >>> model.fit(x[:300], y[:300]).predict(x[300:]).shape
    (100,)
    """

    def __init__(
        self,
        mechanism: str = "dp-oporp-staircase",
        *,
        k: int | str = "auto",
        epsilon: float = 5.0,
        range: tuple[float, float] = (0.0, 1.0),
        beta: float | None = None,
        delta: float | None = None,
        unit: str | None = None,
        seed: bytes | str | None = None,
        repeats: int = 1,
        encoding: str | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.k = k
        self.epsilon = epsilon
        self.range = range
        self.beta = beta
        self.delta = delta
        self.unit = unit
        self.seed = seed
        self.repeats = repeats
        self.encoding = encoding
        self.options = options

    def fit(self, X: Any, y: Any = None) -> PrivateProjection:
        """Fixes the mechanism for the number of features of `X`."""
        validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_all_finite=True)
        dim = self.n_features_in_
        if isinstance(self.k, str) and self.k != "auto":
            raise ValueError(f"k must be an integer or 'auto', got {self.k!r}")
        self.mechanism_ = Mechanism(
            self.mechanism,
            dim=dim,
            k=min(256, dim) if isinstance(self.k, str) else self.k,
            epsilon=self.epsilon,
            range=self.range,
            beta=self.beta,
            delta=self.delta,
            unit=self.unit,
            seed=self.seed,
            repeats=self.repeats,
            **(self.options or {}),
        )
        return self

    def release(self, X: Any, *, ids: Any = None, labels: Any = None) -> Release:
        """The release of `X`, with its certificate. Spends epsilon on every row."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        return self.mechanism_.release(X, ids=ids, labels=labels, encoding=self.encoding)

    def transform(self, X: Any) -> np.ndarray:
        """The released values, float32 ``[rows, k]``; bits as -1 and 1. Spends epsilon on every row."""
        return self.release(X).values

    @property
    def _n_features_out(self) -> int:
        return self.mechanism_.k

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = True  # the noise is secret and fresh by design
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
