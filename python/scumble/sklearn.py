"""A private projection as a scikit-learn transformer."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _input
from ._account import Account
from ._errors import DataError, NotPrivate
from ._mechanism import Mechanism
from ._release import Release


class PrivateProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Replaces every row by its differentially private sketch, so that all that follows in a pipeline is private too.

    ``fit`` reads the number of features and nothing else: the projection is public and data-free, and the other
    parameters must not be computed from the rows. ``fit_transform`` and ``transform`` draw fresh secret noise on every
    call. Releasing the same rows twice spends epsilon twice, so it needs an `account`, which is charged each time;
    without one it is refused, and so is a row that equals one of an earlier release: nobody can tell that they are two
    people's. Without an account only the releases of this process are remembered: another run of the same program releases
    the rows again, unnoticed, and worker processes (joblib's ``n_jobs``, multiprocessing) need an account. A grid search
    would release the rows many times: release once instead, and search over what follows.

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
        _validated(self, X, ensure_all_finite=True)
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
        X = _validated(self, X, reset=False)
        with _SEEN.once(X) if self.account is None else contextlib.nullcontext():
            return self.mechanism_.release(X, ids=ids, labels=labels, encoding=self.encoding, account=self.account)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Fits, and releases the rows: float32 ``[rows, k]``; bits as -1 and 1. Spends epsilon on every row."""
        return self.fit(X, y).release(X).values

    def transform(self, X: Any) -> np.ndarray:
        """The released values, which spend epsilon on every row; with `exact_transform` what a release would estimate."""
        if not self.exact_transform:
            return self.release(X).values
        check_is_fitted(self)
        return self.mechanism_.project(_validated(self, X, reset=False))

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
        self._hashes: dict[int, np.ndarray] = {}  # by the number of features
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def once(self, X: Any) -> Iterator[None]:
        """Refuses rows that were released before, and remembers these unless their release fails."""
        if multiprocessing.parent_process() is not None:
            raise NotPrivate(
                "refused: a worker process cannot know which rows the others have released. Instead: give account=, which "
                "is charged each time, or release in the main process"
            )
        dim, found = X.shape[1], np.unique(self._hash(X))
        with self._lock:
            known = self._hashes.get(dim, np.empty(0, np.uint64))
            if np.isin(found, known, assume_unique=True).any():
                raise NotPrivate(
                    "refused: rows equal to some of these were released before, and a further release of the same rows "
                    "spends epsilon again. Instead: give account=, which is charged each time, or release once and search "
                    "over what follows"
                )
            self._hashes[dim] = np.union1d(known, found)
        try:
            yield
        except BaseException:
            with self._lock:
                self._hashes[dim] = np.setdiff1d(self._hashes[dim], found, assume_unique=True)
            raise

    def _hash(self, X: Any) -> np.ndarray:
        """One number per row, the same for dense and sparse rows: a sum over the attributes that are not 0."""
        if not hasattr(X, "tocsr"):
            factors = self._factors[np.arange(X.shape[1]) % len(self._factors)]
            step = max(1, (1 << 17) // X.shape[1])  # what a processor keeps near
            blocks = (np.ascontiguousarray(X[start : start + step], np.float64) for start in range(0, len(X), step))
            return np.concatenate([self._mixed(block) @ factors for block in blocks])
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        each = self._mixed(X.data.astype(np.float64)) * self._factors[X.indices % len(self._factors)]  # wraps
        return np.add.reduceat(np.append(each, np.uint64(0)), X.indptr[:-1]) * (np.diff(X.indptr) > 0)

    @staticmethod
    def _mixed(values: np.ndarray) -> np.ndarray:
        bits = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
        return bits ^ (bits >> np.uint64(29)) ^ (bits >> np.uint64(47))


_SEEN = _Seen()


# How scikit-learn's messages begin that hold no value; of some only the first words do not.
_TELLING = (
    "Input X contains",
    "X has",
    "X does not contain",
    "Found array with",
    "The feature names should match",
    "Feature names are only supported",
    "Only sparse matrices with 32-bit integer indices",
    "Complex data not supported",
    "float() argument must be a string or a real number, not",
    "dtype='numeric' is not compatible with arrays of bytes/strings",
)


def _validated(estimator: Any, X: Any, **options: Any) -> Any:
    """What scikit-learn's check of `X` gives. It quotes values where it fails: no message of ours does."""
    _input.check_numbers(X)  # scikit-learn itself takes times and digits for numbers
    try:
        checked = validate_data(estimator, X, accept_sparse="csr", dtype="numeric", **options)
    except MemoryError:
        raise
    except Exception as error:
        kind, said = type(error), str(error)
    else:
        if checked.dtype.kind in "biuf":
            return checked
        raise _input.unreadable(X)
    if said.startswith("Expected 2D array"):
        raise DataError("vectors need 2 axes, with one vector per row. Reshape your data: x.reshape(1, -1) is one row")
    if said.startswith("Complex data not supported"):
        raise DataError("Complex data not supported")
    if kind in (ValueError, TypeError) and said.startswith(_TELLING):
        raise kind(said)
    raise _input.unreadable(X)
