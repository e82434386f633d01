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
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ._errors import FileError
from .arrow import plain_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

PIECE_BYTES = 128 << 20
BATCH_BYTES = 16 << 20
FEW_IDS = 1 << 23


class Piece(NamedTuple):
    """Row groups of a file."""

    number: int
    path: str
    groups: list[int]
    rows: int
    batch_rows: int


def pieces(df: DataFrame, columns: Sequence[str]) -> list[Piece] | None:
    """What `df` reads, if it is nothing but Parquet files that can be opened here, with these columns in each."""
    paths = _scanned(df)
    if paths is None or not all(os.path.isfile(path) for path in paths):
        return None
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda path: _groups(path, columns), paths))
    if not found or any(groups is None for groups in found):
        return None
    cut = [(path, part) for path, groups in zip(paths, found) for part in _cut(groups or [])]
    return [
        Piece(number, path, [group for group, _, _ in part], sum(rows for _, rows, _ in part), _batch_rows(part))
        for number, (path, part) in enumerate(cut)
    ]


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


def _groups(path: str, columns: Sequence[str]) -> list[tuple[int, int, int]] | None:
    """(row group, rows, bytes) of a file; None if a column is missing."""
    with pq.ParquetFile(path) as file:
        if not set(columns) <= set(file.schema_arrow.names):
            return None
        found = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        return [(i, group.num_rows, group.total_byte_size) for i, group in enumerate(found) if group.num_rows]


def _cut(groups: list[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    part: list[tuple[int, int, int]] = []
    for group in groups:
        if part and sum(size for _, _, size in part) + group[2] > PIECE_BYTES:
            yield part
            part = []
        part.append(group)
    if part:
        yield part


def _batch_rows(part: list[tuple[int, int, int]]) -> int:
    rows, size = sum(rows for _, rows, _ in part), sum(size for _, _, size in part)
    return max(1, BATCH_BYTES * rows // max(1, size))


def count_ids(found: list[Piece], id: str) -> tuple[int, int, int] | None:
    """(rows, rows with an id, different ids), if one machine can tell."""
    if sum(piece.rows for piece in found) > FEW_IDS:
        return None
    parts = [pq.read_table(path, columns=[id]).column(0) for path in dict.fromkeys(piece.path for piece in found)]
    ids = pa.chunked_array([chunk for part in parts for chunk in part.cast(plain_type(part.type)).chunks])
    return len(ids), len(ids) - ids.null_count, pc.count_distinct(ids, mode="only_valid").as_py()


def release(spark: SparkSession, found: list[Piece], columns: Sequence[str], task: Task, out: str) -> None:
    """Runs `task` on every piece and puts the results into the new folder `out`, one file a piece.

    An attempt writes under a name of its own; only the files of attempts that Spark counts get their final names.
    """
    folder = pathlib.Path(out)
    try:
        folder.mkdir()
    except OSError as error:
        raise FileError(f"{out}: {error.strerror}; choose a new folder") from None
    attempts = folder / "_temporary"
    job = uuid.uuid4().hex
    names = list(columns)

    def run(piece: Piece) -> tuple[int, str]:
        return piece.number, write(piece, names, task, attempts)

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


def write(piece: Piece, columns: list[str], task: Task, folder: pathlib.Path) -> str:
    """Releases a piece into a file of its own in `folder`; gives the file's name."""
    name = uuid.uuid4().hex
    writer: Any = None
    try:
        with pq.ParquetFile(piece.path) as file:
            batches = file.iter_batches(piece.batch_rows, row_groups=piece.groups, columns=columns, use_threads=False)
            for batch in task(batches):
                if writer is None:  # noise does not compress
                    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
                    writer = pq.ParquetWriter(folder / name, batch.schema, **plain)
                writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
    return name
