"""Record batches in, record batches out: the function that Spark, Dask, Daft and Ray call on their workers."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from . import _scumble
from ._errors import DataError
from ._keys import Key, secret
from ._mechanism import Mechanism


ID = "id"
"""The column that tells rows apart where none is named."""


def new_key() -> bytes:
    """A fresh secret key for one job. Never store it with the data, and drop it when the job has ended.

    >>> import scumble.arrow
    >>> scumble.arrow.new_key() == scumble.arrow.new_key()
    False
    """
    return _scumble.keygen(True)[0].encode()


def release_batches(
    batches: Iterable[pa.RecordBatch],
    *,
    mechanism: Mechanism,
    key: bytes,
    column: str = "vector",
    id: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
    fixed_size: bool = True,
) -> Iterator[pa.RecordBatch]:
    """Releases the list column `column` of every batch; gives batches with the column ``sketch``, and with ``id`` and
    ``label`` where `id` and `label` name columns to release as they are.

    The noise of a row is a keyed pseudo-random function of (`key`, mechanism, row id, row): a task that runs twice gives
    the same bytes, on any worker. So ids must be present and unique over the whole job; within one call this is
    checked. Without `id` they are read from a column called ``id``, which stays behind.
    A key of :func:`new_key` serves one job, and is dropped when that has ended; `key` may also be the content of a sticky
    key's file (:func:`scumble.keygen`), for rows that are released again and again.

    Unlike :meth:`scumble.Mechanism.release`, it sees a part of the rows at a time, and cannot notice that bins, components
    or a book were learned from these very rows.

    `fixed_size`: sketches as FixedSizeList or FixedSizeBinary, as in scumble's files; False gives List and Binary, which
    Spark needs.

    >>> import pyarrow as pa, scumble, scumble.arrow
    >>> m = scumble.Mechanism("dp-oporp-laplace", dim=3, k=2, epsilon=1.0, range=(0, 1), seed=bytes(32))
    >>> batch = pa.record_batch({"id": ["a", "b"], "vector": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]})
    >>> key = scumble.arrow.new_key()
    >>> first, = scumble.arrow.release_batches([batch], mechanism=m, key=key, id="id")
    >>> again, = scumble.arrow.release_batches([batch], mechanism=m, key=key, id="id")
    >>> first.schema.names, first.equals(again)
    (['id', 'sketch'], True)
    """
    releaser = _scumble.Releaser(mechanism._inner, encoding, bytes(key))
    for batch in batches:
        sketch = pa.array(releaser.batch(batch, column, id or ID))
        arrays = {}
        if id is not None:
            arrays["id"] = _plain(batch.column(id))
        if label is not None:
            arrays["label"] = _plain(batch.column(label))
        arrays["sketch"] = sketch if fixed_size else _variable(sketch)
        yield pa.RecordBatch.from_pydict(arrays, metadata=dict([mechanism._inner.digest()]))


def plain_type(type: pa.DataType) -> pa.DataType:
    """The type that an id or label has in a release: 64-bit integer, 64-bit float or string."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_integer(type) or pa.types.is_boolean(type):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(type) else pa.string()


def _plain(array: pa.Array) -> pa.Array:
    try:
        return array.cast(plain_type(array.type))
    except pa.ArrowInvalid:  # its words quote the value
        raise DataError(f"some ids or labels are no {plain_type(array.type)}") from None


def _variable(sketch: pa.Array) -> pa.Array:
    """The same bytes as List or Binary."""
    if pa.types.is_fixed_size_binary(sketch.type):
        return sketch.cast(pa.binary())
    size = sketch.type.list_size
    offsets = pa.array(np.arange(0, size * len(sketch) + 1, size, dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, sketch.values)


def certify(
    folder: str | os.PathLike[str],
    *,
    mechanism: Mechanism,
    encoding: str | None = None,
    rows: int | None = None,
    sticky: bool = False,
    sign: Key | None = None,
    rows_per_person: int | None = None,
    person_delta: float | None = None,
) -> dict[str, Any]:
    """Writes ``FOLDER.certificate.json`` beside a local folder of released Parquet files, and returns the certificate.
    Components, a book or large bins go into a file of their own beside it, ``FOLDER.book`` and the like.

    Its content hashes run over the rows of all files in the order of the files' names: the order in which
    :func:`scumble.load` and ``scumble verify`` read the folder. Files of another mechanism are refused, and so are files
    that do not name theirs: :func:`release_batches` puts the name into the schema's metadata. `rows`: how many rows there
    must be. `sticky`: the noise came from a sticky key, which the certificate must say. `sign`: signs it with this key.
    `rows_per_person`: promises that no person has more rows in the folder; the certificate states their loss together.
    """
    path = pathlib.Path(folder).absolute()
    files = sorted(str(file) for file in path.glob("*.parquet") if not file.name.startswith((".", "_")))
    promise = None if rows_per_person is None else (rows_per_person, person_delta)
    text = certificate_of(files, mechanism, encoding, rows, sticky, sign, promise)
    for ending, content in beside(mechanism, text):
        with open(path.with_name(path.name + ending), "xb") as file:
            file.write(content)
    return json.loads(text)


def beside(mechanism: Mechanism, certificate: str) -> list[tuple[str, bytes]]:
    """What is written beside a folder: ending and content. The certificate comes last: with it, all is there."""
    public = [("." + kind, content) for kind, content in mechanism._inner.public()]
    return [*public, (".certificate.json", certificate.encode())]


def certificate_of(
    files: Iterable[str],
    mechanism: Mechanism,
    encoding: str | None,
    rows: int | None,
    sticky: bool,
    sign: Key | None,
    promise: tuple[int, float | None] | None = None,
) -> str:
    """The certificate of these files in this order, as JSON."""
    key = None if sign is None else secret(sign)
    found, text = mechanism._inner.certify(files, encoding, sticky, key, promise) or (0, "")
    if found == 0 or found != (rows or found):
        raise DataError(f"{found} rows were written, {rows or 'some'} expected: the input changed meanwhile")
    return text
