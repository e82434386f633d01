"""A private projection as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._account import Account
from ._errors import NotPrivate
from ._mechanism import Mechanism
from ._release import Release


class PrivateProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Replaces every row by its differentially private sketch, so that all that follows in a pipeline is private too.

    ``fit`` reads the number of features and nothing else: the projection is public and data-free, and the other
    parameters must not be computed from the rows. ``fit_transform`` and ``transform`` draw fresh secret noise on every
    call. Releasing the same rows twice spends epsilon twice, so it needs an `account`, which is charged each time;
    without one it is refused. (Without an account, only this process's releases are remembered.) A grid search would release
    the rows many times: release once instead, and search over what follows.

    Parameters
    ----------
    mechanism, epsilon, delta, beta, range, unit, repeats : see :class:`scumble.Mechanism`.
    k : size of the sketch; ``"auto"`` takes the lesser of 256 and the number of features.
    seed : public seed of the projection, 32 bytes or 64 hexadecimal digits; by default ``fit`` makes a fresh one. Fit
        once and transform every table with the same object, or give the seed: sketches with different seeds cannot be compared.
    encoding : see :meth:`scumble.Mechanism.release`.
    account : the data set's :class:`scumble.Account`; every release is charged to it.
    exact_transform : True lets ``transform`` project without noise, for test rows and queries that their owner keeps; the
        training rows of ``fit_transform`` are released all the same. Off by default: a transformer called private must
        not hand out exact rows because someone forgot an argument.
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
    >>> model = make_pipeline(PrivateProjection(epsilon=10.0, range=(0, 1), exact_transform=True), LinearSVC())
    >>> model.fit(x[:300], y[:300]).predict(x[300:]).shape
    (100,)
    """

    def __init__(
        self,
        mechanism: str = "dp-oporp-staircase",
        *,
        range: tuple[float, float],
        k: int | str = "auto",
        epsilon: float = 5.0,
        beta: float | None = None,
        delta: float | None = None,
        unit: str | None = None,
        seed: bytes | str | None = None,
        repeats: int = 1,
        encoding: str | None = None,
        options: dict[str, Any] | None = None,
        account: Account | None = None,
        exact_transform: bool = False,
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
        self.account = account
        self.exact_transform = exact_transform

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
        if self.account is None:
            _SEEN.first_time(X)
        return self.mechanism_.release(X, ids=ids, labels=labels, encoding=self.encoding, account=self.account)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Fits, and releases the rows: float32 ``[rows, k]``; bits as -1 and 1. Spends epsilon on every row."""
        return self.fit(X, y).release(X).values

    def transform(self, X: Any) -> np.ndarray:
        """The released values, which spend epsilon on every row; with `exact_transform` what a release would estimate."""
        if not self.exact_transform:
            return self.release(X).values
        check_is_fitted(self)
        return self.mechanism_.project(validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=False))

    @property
    def _n_features_out(self) -> int:
        return self.mechanism_.k

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = True  # the noise is secret and fresh by design
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class _Seen:
    """Rows that this process has released without an account, by a hash that means nothing elsewhere."""

    def __init__(self) -> None:
        self._factors = np.random.default_rng().integers(1, 2**63, 4096, dtype=np.uint64) | np.uint64(1)
        self._hashes = np.empty(0, np.uint64)

    def first_time(self, X: Any) -> None:
        """Refuses rows that were released before."""
        found = np.unique(self._hash(X))
        if np.isin(found, self._hashes, assume_unique=True).any():
            raise NotPrivate(
                "refused: some of these rows were released before, and every further release spends epsilon again. "
                "Instead: give account=, which is charged each time, or release once and search over what follows"
            )
        self._hashes = np.union1d(self._hashes, found)

    def _hash(self, X: Any) -> np.ndarray:
        if hasattr(X, "tocsr"):
            X = X.tocsr()
            factors = self._factors[X.indices % len(self._factors)]
            each = (X.data.astype(np.float64) + 0.0).view(np.uint64) * factors  # wraps
            return np.add.reduceat(np.append(each, np.uint64(0)), X.indptr[:-1]) * (np.diff(X.indptr) > 0)
        dense = np.ascontiguousarray(X, dtype=np.float64) + 0.0  # -0.0 is 0.0
        factors = self._factors[np.arange(dense.shape[1]) % len(self._factors)]
        rotated = dense.view(np.uint64)
        return (rotated ^ (rotated >> np.uint64(29))) @ factors


_SEEN = _Seen()
