"""Releases of Parquet files that the executors can open by themselves.

Spark turns vectors into rows and rows into vectors, number by number, on their way to Python and back. Where a DataFrame
is nothing but files on a local or shared file system, it hands out pieces of files instead, and no vector passes it.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from . import _scumble
from ._errors import FileError, ScumbleError
from .arrow import plain_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LEAST_PIECE, LARGEST_PIECE = 128 << 20, 1 << 30
PIECES_PER_CORE = 4
FEW_IDS = 1 << 23


class Piece(NamedTuple):
    """Row groups ``range(*groups)`` of a file."""

    number: int
    path: str
    groups: tuple[int, int]
    rows: int


Task = Callable[[Piece, str], None]
"""Releases a piece into a new file."""


def pieces(df: DataFrame, reading: dict[str, Any]) -> list[Piece] | None:
    """What `df` reads, if it is nothing but Parquet files that can be opened here, with the columns of `reading` in each,
    and with rows."""
    paths = _scanned(df)
    if not paths or not all(os.path.isfile(path) for path in paths):
        return None
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        try:
            found = list(pool.map(lambda path: _scumble.row_groups(path, reading), paths))
        except ScumbleError:  # a column is missing, or written in a way that only Spark knows
            return None
    # Every task costs Spark time of its own: there are only as many as spread over the cores.
    total = sum(size for groups in found for _, size in groups)
    share = total // (PIECES_PER_CORE * df.sparkSession.sparkContext.defaultParallelism)
    most = min(max(share, LEAST_PIECE), LARGEST_PIECE)
    cut = [(path, *part) for path, groups in zip(paths, found) for part in _cut(groups, most)]
    return [Piece(number, *piece) for number, piece in enumerate(cut)] or None


def _scanned(df: DataFrame) -> list[str] | None:
    java = getattr(df, "_jdf", None)
    if java is None:  # Spark Connect
        return None
    plan = java.queryExecution().analyzed()
    while _kind(plan) == "Project" and _only_chooses(plan.projectList()):
        plan = plan.child()
    if _kind(plan) != "LogicalRelation" or _kind(plan.relation()) != "HadoopFsRelation":
        return None
    relation = plan.relation()
    if relation.fileFormat().toString() != "Parquet":
        return None
    uris = [urlsplit(uri) for uri in df.inputFiles()] if relation.partitionSchema().isEmpty() else []
    return sorted(unquote(uri.path) for uri in uris) if all(uri.scheme == "file" for uri in uris) else None


def _only_chooses(expressions: Any) -> bool:
    """True if a projection leaves columns out, and neither renames nor computes any."""
    return all(_kind(expressions.apply(i)) == "AttributeReference" for i in range(expressions.size()))


def _kind(java: Any) -> str:
    return java.getClass().getSimpleName()


def _cut(groups: list[tuple[int, int]], most: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Cuts the (rows, bytes) of row groups into pieces of about `most` bytes that have rows: (groups, rows) of each."""
    start, rows, size = 0, 0, 0
    for number, (more_rows, more_bytes) in enumerate(groups):
        if rows and size + more_bytes > most:
            yield (start, number), rows
            start, rows, size = number, 0, 0
        rows, size = rows + more_rows, size + more_bytes
    if rows:
        yield (start, len(groups)), rows


def count_ids(found: list[Piece], id: str) -> tuple[int, int, int] | None:
    """(rows, rows with an id, different ids), if one machine can tell."""
    if sum(piece.rows for piece in found) > FEW_IDS:
        return None
    parts = read_column(found, id)
    ids = pa.chunked_array([chunk for part in parts for chunk in part.cast(plain_type(part.type)).chunks])
    present = len(ids) - ids.null_count
    distinct = present if _rise(ids) else pc.count_distinct(ids, mode="only_valid").as_py()
    return len(ids), present, distinct


def read_column(found: list[Piece], name: str) -> list[pa.ChunkedArray]:
    """One column of every file, in the order of the files."""
    return [pq.read_table(path, columns=[name]).column(0) for path in dict.fromkeys(piece.path for piece in found)]


def _rise(ids: pa.ChunkedArray) -> bool:
    """True if they are integers, each above the one before it, as row numbers are: then all differ."""
    if ids.null_count or not pa.types.is_integer(ids.type):
        return False
    numbers = ids.to_numpy()
    return bool((numbers[1:] > numbers[:-1]).all())


def release(spark: SparkSession, found: list[Piece], task: Task, out: str) -> None:
    """Runs `task` on every piece and puts the results into the new folder `out`, one file per piece.

    An attempt writes under a name of its own; only the files of attempts that Spark counts get their final names.
    """
    folder = pathlib.Path(out)
    try:
        folder.mkdir()
    except OSError as error:
        raise FileError(f"{out}: {error.strerror}; choose a new folder") from None
    attempts = folder / "_temporary"
    job = uuid.uuid4().hex

    def run(piece: Piece) -> tuple[int, str]:
        name = uuid.uuid4().hex
        task(piece, str(attempts / name))
        return piece.number, name

    try:
        attempts.mkdir()
        done = spark.sparkContext.parallelize(found, len(found)).map(run).collect()
        for number, name in done:
            (attempts / name).rename(folder / f"part-{number:05}-{job}.parquet")
        shutil.rmtree(attempts)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    (folder / "_SUCCESS").touch()
