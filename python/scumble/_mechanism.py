"""Mechanisms: every public number fixed and checked before any private row is read."""

from __future__ import annotations

import functools
import json
import math
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _input, _scumble
from ._account import Account, charge
from ._checks import real, whole
from ._errors import DataError, NotPrivate, ParameterError
from ._keys import Key, secret, sticky_seed
from ._release import Release, facts_table
from ._structure import PublicFile, field


def mechanisms() -> list[dict[str, str]]:
    """All mechanisms: id, paper, summary, output (values, bits, symbols, words) and notion (pure, approximate, ...).

    >>> import scumble
    >>> [m["id"] for m in scumble.mechanisms() if m["output"] == "values" and m["notion"] == "pure"]
    ['raw-laplace', 'raw-staircase', 'dp-rp-l', 'dp-oporp-laplace', 'dp-oporp-staircase']
    """
    return json.loads(_scumble.mechanisms())


class Mechanism:
    """A mechanism with every public number fixed. It holds no private data, and may be pickled and sent anywhere.

    No argument may be computed from the private rows.

    Parameters
    ----------
    mechanism : the id, see :func:`scumble.mechanisms`.
    dim : attributes of a row.
    epsilon : upper bound on the privacy loss.
    range : public ``(lo, hi)``; values outside are clipped.
    k : size of the sketch; not for ``raw-`` mechanisms and ``privbook``, which have no projection.
    beta : how far the unit may move. By default the width of the range, so that an attribute may change arbitrarily. Needed
        for the units ``l1`` and ``l2``; without effect for ``record``.
    delta : for the mechanisms with an approximate guarantee.
    unit : what a neighbour is: ``attribute`` (one attribute moves by at most beta), ``l1``, ``l2`` or ``record``.
    seed : the public seed of the projection, 32 bytes or 64 hexadecimal digits; a fresh one by default. Sketches can be
        compared only if their seeds are equal. The noise never comes from it.
    bins : public bins in place of OPORP's random ones: ``"grid:28x28"`` for images, or a file of
        :func:`scumble.learn_bins`.
    components, book : files of :func:`scumble.learn_components` (whole-record mechanisms) and :func:`scumble.make_book`
        (``privbook``).
    purpose : ``search`` or ``training`` (``privcube``).
    repeats, projection, sketch_clip, norm_bound, clip_norm, signrp_mode, symbols, lattice_steps, thresholds, norm,
    density, grid_exponent, i_understand_this_is_not_dp : as on the command line.

    Examples
    --------
    >>> import numpy as np, scumble
    >>> m = scumble.Mechanism("dp-oporp-staircase", dim=64, k=16, epsilon=5.0, beta=1.0, range=(0.0, 1.0), seed=bytes(32))
    >>> m.guarantee["statement"][:42]
    'For two rows that differ in ONE attribute,'
    >>> r = m.release(np.random.default_rng(0).random((100, 64), dtype=np.float32))
    >>> r
    Release(100 rows, dp-oporp-staircase, k=16, f32)
    >>> r.values.shape, r.values.dtype
    ((100, 16), dtype('float32'))

    Requests that cannot be private are refused, with the way out:

    >>> scumble.Mechanism("dp-oporp-staircase", dim=64, k=16, epsilon=5.0, range=(0.0, 1.0), unit="l1", beta=1.0)
    Traceback (most recent call last):
        ...
    scumble._errors.NotPrivate: refused: dp-oporp-staircase gives no guarantee for unit l1...
    """

    def __init__(
        self,
        mechanism: str,
        *,
        dim: int,
        epsilon: float,
        range: tuple[float, float],
        k: int | None = None,
        beta: float | None = None,
        delta: float | None = None,
        unit: str | None = None,
        seed: bytes | str | None = None,
        repeats: int = 1,
        projection: str | None = None,
        bins: PublicFile | str | os.PathLike[str] | None = None,
        components: PublicFile | str | os.PathLike[str] | None = None,
        book: PublicFile | str | os.PathLike[str] | None = None,
        purpose: str | None = None,
        sketch_clip: float | None = None,
        norm_bound: float | None = None,
        clip_norm: float | None = None,
        signrp_mode: str | None = None,
        symbols: int | None = None,
        lattice_steps: int | None = None,
        thresholds: Sequence[float] | None = None,
        norm: float | None = None,
        density: float | None = None,
        grid_exponent: int | None = None,
        i_understand_this_is_not_dp: bool = False,
    ) -> None:
        if not isinstance(mechanism, str):
            raise TypeError(f"mechanism must be an id, see scumble.mechanisms(), got {type(mechanism).__name__}")
        check_id(mechanism)
        arguments = {name: value for name, value in locals().items() if name != "self"}
        self._inner = _scumble.Mechanism(json.dumps(fields(**arguments)))
        self._fresh_seed = seed is None

    @classmethod
    def _wrap(cls, inner: _scumble.Mechanism) -> Mechanism:
        self = cls.__new__(cls)
        self._inner = inner
        self._fresh_seed = False
        return self

    @classmethod
    def from_parameters(
        cls,
        parameters: str | dict[str, Any],
        *,
        bins: PublicFile | str | os.PathLike[str] | None = None,
        components: PublicFile | str | os.PathLike[str] | None = None,
        book: PublicFile | str | os.PathLike[str] | None = None,
    ) -> Mechanism:
        """The mechanism with these :attr:`parameters`, as a dict or as JSON.

        `bins`, `components`, `book`: the public file that they name by its hash, where they do not hold it.

        >>> import scumble
        >>> m = scumble.Mechanism("raw-laplace", dim=4, epsilon=1.0, range=(0, 1), seed=bytes(32))
        >>> scumble.Mechanism.from_parameters(m.parameters) == m
        True
        """
        given = {"bins": field("bins", bins), "components": field("components", components), "book": field("book", book)}
        files = {name: file for name, file in given.items() if file is not None}
        if files:
            parameters = json.loads(parameters) if isinstance(parameters, str) else parameters
            for name, file in files.items():
                if file["sha256"] != (parameters.get(name) or {}).get("sha256"):
                    raise ParameterError(f"{name} is not the file that these parameters name")
            parameters = parameters | files
        text = parameters if isinstance(parameters, str) else json.dumps(parameters)
        return cls._wrap(_made(text))

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything that fixes the mechanism. All of it is public."""
        return json.loads(self._inner.parameters())

    @property
    def id(self) -> str:
        """The id."""
        return self.parameters["mechanism"]

    @property
    def dim(self) -> int:
        """Attributes of a row."""
        return self.parameters["dim"]

    @property
    def k(self) -> int:
        """Size of the sketch."""
        return self.parameters["k"]

    @property
    def seed(self) -> bytes:
        """The public seed of the projection."""
        return bytes.fromhex(self.parameters["seed"])

    @property
    def output(self) -> str:
        """What is released: ``values``, ``bits``, ``symbols`` or ``words``."""
        return self._inner.output()

    @property
    def guarantee(self) -> dict[str, Any]:
        """The promise: notion, epsilon, delta, a plain sentence, and `checked_epsilon`, the loss of the integers that run (for
        an approximate promise delta is what is checked, and this is epsilon)."""
        return json.loads(self._inner.guarantee())

    @property
    def noise_std(self) -> float | None:
        """Standard deviation of the noise on one released value; None where no values are released."""
        variance = self._inner.noise_variance()
        return None if variance is None else math.sqrt(variance)

    @property
    def warnings(self) -> list[str]:
        """Sentences to read before releasing; every release shows them as warnings."""
        return self._inner.warnings()

    def release(
        self,
        x: Any,
        *,
        ids: Any = None,
        labels: Any = None,
        encoding: str | None = None,
        account: Account | None = None,
        sticky_key: Key | None = None,
        sign: Key | None = None,
        persons: Any = None,
        rows_per_person: int | None = None,
        person_delta: float | None = None,
    ) -> Release:
        """Releases every row of `x` with fresh noise.

        `x`: a numpy array of floats or integers (any order, any strides, also memory-mapped), a scipy sparse matrix, or
        an Arrow list column (pyarrow, polars: anything with the Arrow PyCapsule interface). It is read in place where
        possible, and converted a few rows at a time otherwise.
        `ids`: unique integers or strings; `labels`: numbers or strings. Both are released as they are.
        `encoding`: for values ``f32``, ``i16``, ``b8``, ``b4`` or ``b1``; by default ``f32``. Bits, symbols and words have one
        encoding of their own.

        `account`: a data set's :class:`scumble.Account`, charged before any noise is drawn. A release that is over its budget
        is refused. Rows without ids get their row numbers as ids, so that the ledger and every file have the same certificate.

        `sticky_key`: noise from this key, a file of :func:`scumble.keygen` or its content, in place of fresh noise: a row
        that has not changed since another release with this key and mechanism gives the same bytes, at no further cost,
        and the account is charged only for what is new. Needs `ids`. A mechanism that was given no seed takes the seed of
        the key (:func:`scumble.sticky_seed`).
        `sign`: signs the certificate with this key. Rows without ids get their row numbers, as with an account.

        `persons`: whose row each is, as integers or strings. At most `rows_per_person` rows of a person leave. A secret key
        decides which rows are left out, without looking at values, and a warning says how many. The certificate then states
        the loss of all rows of a person together. `person_delta` gives this statement a failure probability, which makes
        the loss smaller for many rows. `persons` itself is not released.

        Without a sticky key every call spends epsilon on every row: releasing the same rows twice costs twice.

        >>> import numpy as np, scumble
        >>> m = scumble.Mechanism("dp-signoporp-ceil", dim=64, k=20, epsilon=5.0, range=(0, 1), seed=bytes(32))
        >>> r = m.release(np.eye(64, dtype="uint8"), ids=np.arange(1000, 1064), labels=["a", "b"] * 32)
        >>> r.bits.shape, r.ids[:2].tolist(), r.labels[:2].tolist()
        ((64, 3), [1000, 1001], ['a', 'b'])
        """
        if sticky_key is not None and self._fresh_seed:
            # All releases with one key share its seed, so that they can be compared; as on the command line.
            seeded = Mechanism.from_parameters(self.parameters | {"seed": sticky_seed(sticky_key).hex()})
            return seeded.release(
                x,
                ids=ids,
                labels=labels,
                encoding=encoding,
                account=account,
                sticky_key=sticky_key,
                sign=sign,
                persons=persons,
                rows_per_person=rows_per_person,
                person_delta=person_delta,
            )
        rows = _input.rows_of(x)
        if rows == 0:
            raise DataError("there are no rows")
        warn(self)
        if rows in self._inner.sample_rows():
            check_sample(self, x)
        if sticky_key is not None and ids is None:
            raise NotPrivate("refused: a sticky release needs ids, to know a row again when others come and go")
        if ids is None and (account is not None or sign is not None):
            ids = np.arange(rows)
        listed, classes = _input.names(ids, rows, "ids"), _input.names(labels, rows, "labels")
        if listed is not None:
            _input.unique(listed)
        chosen = _input.persons(persons, rows_per_person, person_delta, rows)
        releaser = _scumble.Releaser(
            self._inner,
            encoding,
            None if sticky_key is None else secret(sticky_key),
            listed,
            None if sign is None else secret(sign),
            chosen,
        )
        staying = releaser.staying()
        if staying is not None and staying < rows:
            words = f"{rows - staying} of {rows} rows are left out (for you only: the number reveals how many rows people have)"
            warnings.warn(words, stacklevel=2)
        if account is not None and sticky_key is not None:
            for block in _input.blocks(x, self.dim):
                releaser.look(block)
        with charge(account, releaser) as record:
            for block in _input.blocks(x, self.dim):
                releaser.add(block)
            release = Release(releaser.finish(classes))
            record(release.certificate_json)
        return release

    def project(self, x: Any) -> np.ndarray:
        """What a release of these rows estimates: the mean of the released row. No noise: NOT private.

        For rows that you keep yourself. They are on the scale of ``r.values``: pass them to a model that was trained on a
        release, or compare them with a release. Values are projected and clipped; bits become numbers between -1 and 1, by how often
        they are flipped; rows of unit ``record`` keep their direction and have the length of the mean of their bits.

        >>> import numpy as np, scumble
        >>> m = scumble.Mechanism("dp-oporp-laplace", dim=8, k=2, epsilon=1.0, range=(0, 1), seed=bytes(32))
        >>> m.project(np.ones((1, 8))).shape
        (1, 2)
        """
        parts = [self._inner.project(block) for block in _input.blocks(x, self.dim)]
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def _repr_html_(self) -> str:
        p, promise = self.parameters, self.guarantee
        names = ("mechanism", "dim", "k", "epsilon", "delta", "beta", "unit")
        facts = {name: p[name] for name in names if name in p} | {"promise": promise["statement"]}
        return facts_table("Mechanism", facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(self._inner.parameters())

    def __repr__(self) -> str:
        p = self.parameters
        delta = f", delta={p['delta']:g}" if "delta" in p else ""
        return (
            f"Mechanism({p['mechanism']!r}, dim={p['dim']}, k={p['k']}, epsilon={p['epsilon']:g}{delta}, "
            f"beta={p['beta']:g}, range=({p['range']['lo']:g}, {p['range']['hi']:g}), unit={p['unit']!r})"
        )

    def __reduce__(self) -> Any:
        return Mechanism.from_parameters, (self._inner.whole_parameters(),)


def check_sample(mechanism: Mechanism, x: Any) -> None:
    """Refuses bins, components or a book that were learned from the rows themselves."""
    if what := mechanism._inner.learned_from(_input.whole(x, mechanism.dim)):
        raise NotPrivate(f"refused: the {what} were learned from the very rows that would be released")


def warn(mechanism: Mechanism) -> None:
    """Warns the caller about what the promise does not protect."""
    for sentence in mechanism.warnings:
        warnings.warn(sentence, stacklevel=3)


@functools.lru_cache(maxsize=16)
def _made(parameters: str) -> _scumble.Mechanism:
    """Tasks of a cluster unpickle the same mechanism again and again; its numbers are derived once per process."""
    return _scumble.Mechanism(parameters)


def fields(**arguments: Any) -> dict[str, Any]:
    """The arguments of :class:`Mechanism` as the compiled part takes them; those that are None are left out."""
    lo, hi = (real("range", end) for end in _pair("range", arguments["range"]))
    thresholds = arguments.get("thresholds")
    checked = arguments | {
        "range": {"lo": lo, "hi": hi},
        "seed": _seed(arguments.get("seed")),
        "thresholds": None if thresholds is None else [real("thresholds", t) for t in thresholds],
    }
    for name in ("bins", "components", "book"):
        checked[name] = field(name, arguments.get(name))
    for name in ("dim", "k", "repeats", "symbols", "lattice_steps", "grid_exponent"):
        checked[name] = whole(name, arguments.get(name), least=None if name == "grid_exponent" else 0)
    for name in ("epsilon", "delta", "beta", "sketch_clip", "norm_bound", "clip_norm", "norm", "density"):
        checked[name] = real(name, arguments.get(name))
    return {name: value for name, value in checked.items() if value is not None}


def check_id(mechanism: str) -> str:
    """The id of an existing mechanism."""
    known = [m["id"] for m in mechanisms()]
    if mechanism not in known:
        raise ParameterError(f"unknown mechanism {mechanism!r}; one of: {', '.join(known)}")
    return mechanism


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be two numbers (lo, hi)") from None
    return first, second


def _seed(seed: bytes | str | None) -> str | None:
    if isinstance(seed, (bytes, bytearray, memoryview)):
        return bytes(seed).hex()
    if seed is None or isinstance(seed, str):
        return seed
    raise TypeError("seed must be 32 bytes or 64 hexadecimal digits")
