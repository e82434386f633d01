"""Releases: what consumers work with. Everything in a release may be shown to anyone who may see its data."""

from __future__ import annotations

import functools
import html
import json
import os
import tempfile
import urllib.request
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _scumble
from ._errors import FileError, ScumbleError
from ._keys import Key, public

if TYPE_CHECKING:
    from ._mechanism import Mechanism
    from ._structure import PublicFile


class Release:
    """A table of released rows with its certificate. Made by :meth:`scumble.Mechanism.release` or :func:`scumble.load`.

    >>> import numpy as np, scumble
    >>> m = scumble.Mechanism("dp-signoporp-rr", dim=32, k=16, epsilon=3.0, range=(0, 1), seed=bytes(32))
    >>> r = m.release(np.zeros((5, 32)))
    >>> len(r), r.k, r.bits.shape, r.values.shape
    (5, 16, (5, 2), (5, 16))
    >>> r.certificate["guarantee"]["notion"], r.certificate["rows"]
    ('pure', 5)
    """

    def __init__(self, inner: _scumble.Release) -> None:
        self._inner = inner

    @classmethod
    def together(cls, releases: Iterable[Release]) -> Release:
        """Several releases as one table, such as what several collectors of one campaign have exported.

        They must have the same mechanism, seed and encoding. Ids and labels are dropped. A row that is in two of them counts
        twice.

        >>> import numpy as np, scumble
        >>> m = scumble.Mechanism("dp-oporp-laplace", dim=8, k=4, epsilon=1.0, range=(0, 1), seed=bytes(32))
        >>> week = scumble.Release.together(m.release(np.ones((3, 8))) for day in range(7))
        >>> len(week)
        21
        """
        return cls(_scumble.Release.together([inner(release) for release in releases]))

    def __len__(self) -> int:
        return len(self._inner)

    @functools.cached_property
    def values(self) -> np.ndarray:
        """float32 ``[rows, k]``: released values; bits as -1 and 1, symbols by their table."""
        return self._inner.values()

    @functools.cached_property
    def bits(self) -> np.ndarray:
        """uint8 ``[rows, ceil(k/8)]``, the first bit in the most significant place, as :func:`numpy.packbits`."""
        if self.encoding != "b1":
            raise TypeError(f"this release holds {self.encoding}, not bits: use .values, or release with encoding='b1'")
        return self._inner.bytes()

    @property
    def packed(self) -> np.ndarray:
        """uint8 ``[rows, bytes per row]``: the rows as they are encoded."""
        return self._inner.bytes()

    @functools.cached_property
    def ids(self) -> np.ndarray | None:
        """The ids, if the rows have any."""
        return _array(self._inner.ids())

    @functools.cached_property
    def labels(self) -> np.ndarray | None:
        """The labels, if the rows have any."""
        return _array(self._inner.labels())

    @functools.cached_property
    def certificate(self) -> dict[str, Any]:
        """The certificate: what was promised, and every public number needed to check it and to use the data."""
        return json.loads(self.certificate_json)

    @functools.cached_property
    def certificate_json(self) -> str:
        """The certificate's text."""
        return self._inner.certificate()

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made it, from the certificate."""
        from ._mechanism import Mechanism

        return Mechanism._wrap(self._inner.mechanism())

    @property
    def k(self) -> int:
        """Size of the sketch."""
        return self.certificate["projection"]["k"]

    @property
    def encoding(self) -> str:
        """``f32``, ``i16``, ``b8``, ``b4``, ``b1`` or the packed symbols."""
        return self.certificate["encoding"]["name"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes ``.parquet``, or ``.npy`` with its certificate beside it. An existing file is never overwritten.

        >>> import numpy as np, os, scumble, tempfile
        >>> m = scumble.Mechanism("dp-oporp-laplace", dim=8, k=4, epsilon=1.0, range=(0, 1), seed=bytes(32))
        >>> r = m.release(np.ones((3, 8)), ids=["x", "y", "z"])
        >>> path = os.path.join(tempfile.mkdtemp(), "release.parquet")
        >>> r.save(path)
        >>> again = scumble.load(path)
        >>> bool((again.values == r.values).all()), again.ids.tolist()
        (True, ['x', 'y', 'z'])
        """
        self._inner.save(os.fspath(path))

    def __getitem__(self, rows: Any) -> np.ndarray:
        """The released values of these rows: ``r[3]``, ``r[10:20]``, ``r[[1, 5]]``."""
        return self.values[rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The released values, so that numpy and scikit-learn take a release as it is."""
        values = self.values if dtype is None else self.values.astype(dtype, copy=False)
        return values.copy() if copy else values

    def to_arrow(self) -> Any:
        """A pyarrow table: ``id`` and ``label`` where there are any, and ``sketch``, with the certificate in its metadata."""
        import pyarrow as pa

        columns = {"id": self.ids, "label": self.labels}
        arrays = {name: pa.array(column.tolist()) for name, column in columns.items() if column is not None}
        if self.encoding == "f32":
            arrays["sketch"] = pa.FixedSizeListArray.from_arrays(pa.array(self.values.ravel()), self.k)
        else:
            packed = np.ascontiguousarray(self.packed)
            kind = pa.binary(packed.shape[1])
            arrays["sketch"] = pa.FixedSizeBinaryArray.from_buffers(kind, len(self), [None, pa.py_buffer(packed)])
        return pa.table(arrays).replace_schema_metadata({"scumble.certificate": self.certificate_json})

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow PyCapsule interface: polars, duckdb and others read a release in place."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """A pandas frame of the released values, one column per coordinate, the ids as its index, ``label`` last."""
        import pandas as pd

        index = None if self.ids is None else pd.Index(self.ids, name="id")
        frame = pd.DataFrame(self.values, index=index, columns=[f"s{j}" for j in range(self.k)])
        return frame if self.labels is None else frame.assign(label=self.labels)

    def __reduce__(self) -> Any:
        ids, labels = (None if column is None else column.tolist() for column in (self.ids, self.labels))
        public = [content for _, content in self._inner.mechanism().public()]
        return _restored, (self.certificate_json, self._inner.bytes().tobytes(), ids, labels, public)

    def _repr_html_(self) -> str:
        c = self.certificate
        facts = {
            "rows": len(self),
            "mechanism": c["mechanism"]["id"],
            "promise": c["guarantee"]["statement"],
            "sketch": f"k = {self.k}, {self.encoding}",
        }
        return facts_table("Release", facts)

    def __repr__(self) -> str:
        return f"Release({len(self)} rows, {self.certificate['mechanism']['id']}, k={self.k}, {self.encoding})"


def _restored(
    certificate: str, packed: bytes, ids: list[Any] | None, labels: list[Any] | None, public: list[bytes]
) -> Release:
    """A release that was pickled; its hashes are compared again."""
    return Release(_scumble.Release.from_parts(certificate, packed, ids, labels, public))


def inner(release: Any) -> _scumble.Release:
    """The compiled part of a release."""
    if not isinstance(release, Release):
        hint = ": scumble.load reads one" if isinstance(release, (str, bytes, os.PathLike)) else ""
        raise TypeError(f"a scumble.Release is needed, got {type(release).__name__}{hint}")
    return release._inner


def facts_table(title: str, facts: dict[str, Any]) -> str:
    """A small table for notebooks."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption style='text-align:left'><b>scumble: {html.escape(title)}</b></caption>{rows}</table>"


def load(
    path: str | os.PathLike[str] | bytes,
    *,
    key: Key | None = None,
    bins: PublicFile | str | os.PathLike[str] | None = None,
    components: PublicFile | str | os.PathLike[str] | None = None,
    book: PublicFile | str | os.PathLike[str] | None = None,
) -> Release:
    """Reads a release: ``.parquet``, ``.npy`` with its certificate, or a folder of Parquet files as Spark writes them.

    `path` may also be the bytes of a Parquet release, or an ``http(s)`` URL of one, which is fetched whole.

    The certificate's numbers are recomputed and the data's hashes compared: a mismatch raises
    :class:`scumble.CertificateError`. `key`: the public key with which it must be signed, as its file or that file's content.
    `bins`, `components`, `book`: the public file that the certificate names, where it is not beside the release.
    """
    signer, files, name = None if key is None else public(key), _contents(bins, components, book), "the bytes"
    if isinstance(path, str) and path.startswith(("http://", "https://")):
        name = path
        try:
            with urllib.request.urlopen(path) as answer:
                path = answer.read()
        except OSError as error:
            raise FileError(f"{name}: {error}") from None
    if not isinstance(path, bytes):
        return Release(_scumble.Release.load(os.fspath(path), signer, files))
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "release.parquet")
        with open(copy, "wb") as file:
            file.write(path)
        try:
            return Release(_scumble.Release.load(copy, signer, files))
        except ScumbleError as error:  # the copy's name means nothing to anyone
            error.args = tuple(str(word).replace(copy, name) for word in error.args)
            raise


def _contents(*files: PublicFile | str | os.PathLike[str] | None) -> list[bytes]:
    """What public files hold, those that were given."""
    from ._structure import PublicFile

    given = (file if isinstance(file, PublicFile) else PublicFile.load(file) for file in files if file is not None)
    return [file.content for file in given]


def inspect(release: Release | str | os.PathLike[str]) -> str:
    """The privacy statement of a release, as Markdown: what is protected, from whom, and what is not.

    >>> import numpy as np, scumble
    >>> m = scumble.Mechanism("raw-laplace", dim=2, epsilon=1.0, range=(0, 1), seed=bytes(32))
    >>> print(scumble.inspect(m.release(np.zeros((1, 2)))).split(".")[0])
    # Privacy statement
    """
    return (release if isinstance(release, Release) else load(release))._inner.statement()


def verify(
    path: str | os.PathLike[str],
    *,
    key: Key | None = None,
    bins: PublicFile | str | os.PathLike[str] | None = None,
    components: PublicFile | str | os.PathLike[str] | None = None,
    book: PublicFile | str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Checks all that ``scumble verify`` checks. Returns the certificate, or raises :class:`scumble.CertificateError`.

    More than :func:`load`: a Parquet file must be as it was written, to the last byte. `key`, `bins`, `components`,
    `book`: as there.

    >>> import numpy as np, os, scumble, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> secret, path = os.path.join(folder, "release.key"), os.path.join(folder, "release.parquet")
    >>> scumble.keygen(secret)
    >>> m = scumble.Mechanism("dp-oporp-laplace", dim=8, k=4, epsilon=1.0, range=(0, 1), seed=bytes(32))
    >>> m.release(np.ones((3, 8)), sign=secret).save(path)
    >>> scumble.verify(path, key=secret + ".pub")["rows"]
    3
    """
    signer, files = None if key is None else public(key), _contents(bins, components, book)
    return json.loads(_scumble.verify(os.fspath(path), signer, files))


def check_certificate(
    text: str,
    *,
    bins: PublicFile | str | os.PathLike[str] | None = None,
    components: PublicFile | str | os.PathLike[str] | None = None,
    book: PublicFile | str | os.PathLike[str] | None = None,
) -> Mechanism:
    """The mechanism that a certificate's text describes, after recomputing all its numbers.

    `bins`, `components`, `book`: the public file that it names, where the text does not hold it.

    >>> import numpy as np, scumble
    >>> m = scumble.Mechanism("raw-laplace", dim=2, epsilon=1.0, range=(0, 1), seed=bytes(32))
    >>> text = m.release(np.zeros((1, 2))).certificate_json
    >>> scumble.check_certificate(text) == m
    True
    >>> scumble.check_certificate(text.replace('"epsilon": 1.0', '"epsilon": 0.1'))
    Traceback (most recent call last):
        ...
    scumble._errors.CertificateError: ...
    """
    from ._mechanism import Mechanism

    return Mechanism._wrap(_scumble.certificate_mechanism(text, _contents(bins, components, book)))


def _array(column: Any) -> np.ndarray | None:
    return None if column is None else np.asarray(column)
