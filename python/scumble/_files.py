"""Files of any size, streamed: read, released and written block by block."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from typing import Any

from . import _scumble
from ._account import Account
from ._keys import Key, secret
from ._mechanism import Mechanism, warn


def release_file(
    input: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    mechanism: Mechanism,
    column: str | None = None,
    id: str | None = None,
    label: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    account: Account | None = None,
    sticky_key: Key | None = None,
    sign: Key | None = None,
    progress: Callable[[int, int | None], object] | None = None,
    header: bool | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    person_delta: float | None = None,
) -> dict[str, Any]:
    """Releases every row of the file `input` into the new file `out`; returns the certificate.

    The file is streamed: one of any size takes at most a few hundred MiB of memory. `out` ends in ``.parquet`` or
    ``.npy`` and appears complete or not at all; :func:`scumble.load` reads it.

    `column`: the Parquet column with the vectors. `id`, `label`: columns that are released as they are; no other column is.
    `format`: ``npy``, ``parquet``, ``csv``, ``tsv``, ``libsvm`` or ``idx``; by the file's name if not given.
    `header`: is the first line of a CSV file a header? If not given, a rule decides: text is a header, numbers are a row, and a
    mixture is refused. LIBSVM files have as many attributes as `mechanism` says.
    `person`: the column that says whose row it is (Parquet, CSV or TSV). `rows_per_person`, `person_delta`: as in
    :meth:`scumble.Mechanism.release`. The column itself is not released.
    `progress`: called with the rows done and, where it is known, their number.
    `encoding`, `account`, `sticky_key`, `sign`: as in :meth:`scumble.Mechanism.release`.

    >>> import os, tempfile, numpy as np, scumble
    >>> folder = tempfile.mkdtemp()
    >>> np.save(os.path.join(folder, "in.npy"), np.eye(64, dtype="float32"))
    >>> m = scumble.Mechanism("dp-oporp-staircase", dim=64, k=16, epsilon=5.0, range=(0, 1))
    >>> c = scumble.release_file(os.path.join(folder, "in.npy"), os.path.join(folder, "out.parquet"), mechanism=m)
    >>> c["rows"], scumble.load(os.path.join(folder, "out.parquet")).values.shape
    (64, (64, 16))
    """
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a scumble.Mechanism, got {type(mechanism).__name__}")
    if account is not None and not isinstance(account, Account):
        raise TypeError(f"account must be a scumble.Account, got {type(account).__name__}")
    warn(mechanism)
    charged = None if account is None else (os.fspath(account.ledger), account.dataset, account.limit)
    reading = how_to_read(column, id, label, format=format, header=header, person=person)
    bound = None if rows_per_person is None else (rows_per_person, person_delta)
    text, left_out = _scumble.release_file(
        mechanism._inner,
        input,
        out,
        reading,
        encoding,
        charged,
        None if sticky_key is None else secret(sticky_key),
        None if sign is None else secret(sign),
        progress,
        bound,
    )
    if left_out:
        warnings.warn(f"{left_out} rows are left out (for you only: the number reveals how many rows people have)", stacklevel=2)
    return json.loads(text)


def how_to_read(
    column: str | None,
    id: str | None,
    label: str | None,
    *,
    format: str | None = None,
    header: bool | None = None,
    person: str | None = None,
) -> dict[str, Any]:
    """How the library reads a file; None takes the library's default."""
    return {"format": format, "column": column, "id": id, "label": label, "person": person, "dim": None, "header": header}
