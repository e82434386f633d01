"""Releases on Spark: one job, one key, one certificate.

>>> import scumble.spark                                                        # doctest: +SKIP
>>> scumble.spark.release(df, column="embedding", mechanism=m, out="/data/out")   # doctest: +SKIP
>>> scumble.load("/data/out")                                                   # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from . import _scumble, _spark_files
from ._account import Account
from ._errors import DataError, FileError, ParameterError
from ._files import how_to_read
from ._keys import Key, secret
from ._mechanism import Mechanism, check_sample, warn
from .arrow import ID, beside, certificate_of, new_key, release_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def release(
    df: DataFrame,
    *,
    mechanism: Mechanism,
    column: str = "vector",
    id: str | None = None,
    label: str | None = None,
    encoding: str | None = None,
    out: str | None = None,
    account: Account | None = None,
    sticky_key: Key | None = None,
    sign: Key | None = None,
    person: str | None = None,
    rows_per_person: int | None = None,
    person_delta: float | None = None,
) -> DataFrame:
    """Releases the array column `column` of `df`; gives a DataFrame with the column ``sketch``, and with ``id`` and
    ``label`` where `id` and `label` name columns to release as they are.

    With `out` the job runs now: Parquet files are written to the folder `out`, which must not exist, the certificate to
    ``OUT.certificate.json`` beside it, and the DataFrame reads the files. ``scumble.load(out)`` and ``scumble verify`` read
    the folder. If `df` is nothing but Parquet files, and these and `out` are on a local or shared file system, the
    executors read and write files by themselves, which is several times faster. Without `out` the DataFrame is lazy; once
    it is written, :func:`certify` makes the certificate.

    The noise of a row is a keyed pseudo-random function of its id and content, so a task that runs twice, after a failure
    or as a speculative copy, gives the same bytes. The key is made here by the driver, travels only in the closure of
    this job, is never stored with the data, and is gone with the DataFrame. Ids must be present, unique, and not
    computed anew on every run: anything else is a :class:`scumble.DataError`. Without `id` they are read from a column
    called ``id``, which stays behind.

    `account`: one entry for the job, reserved before it starts and recorded with the certificate. It stays spent if the
    job fails, which may leave files behind, and without `out`, where nobody knows what becomes of the DataFrame.

    `sticky_key`: noise from this key, see :meth:`scumble.Mechanism.release`, in place of the job's own; the account is
    charged for a whole release all the same. `sign`: signs the certificate; both as in :func:`certify`.

    `person`, with `rows_per_person`: the column that says whose row it is, and the most rows of a person that leave. A secret
    key decides which rows are left out, without looking at values. The certificate states the loss of all rows of a
    person together (`person_delta`: see :meth:`scumble.Mechanism.release`). The column itself is not released.
    """
    # Every check that needs no row comes before the charge.
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"mechanism must be a scumble.Mechanism, got {type(mechanism).__name__}")
    _check_plan(df)
    key = new_key() if sticky_key is None else secret(sticky_key)
    sign = None if sign is None else secret(sign)
    _scumble.Releaser(mechanism._inner, encoding, key, None, sign)  # refuses what is no key
    promise = _promise(mechanism, person, rows_per_person, person_delta)
    if person is not None and promise is not None:
        df = _chosen(df, mechanism, key, id or ID, person, promise[0])
    spark, columns = df.sparkSession, _columns(column, id, label)
    missing = [name for name in columns if name not in df.columns]
    if missing:
        raise ParameterError(f"there is no column {missing[0]!r}; there are: {', '.join(df.columns)}")
    _check_column(df, column)
    _check_label(df, label)
    chosen = df.select(*columns)
    schema = _schema(df, mechanism, id, label, encoding)
    target = None if out is None else _Folder(spark, out)
    if target is not None:
        target.check_new(mechanism)
    folder = None if target is None else target.local()
    reading = how_to_read(column, id or ID, label, format="parquet")
    pieces = None if folder is None else _spark_files.pieces(df, reading)
    rows = _check_ids(df, id or ID, pieces)
    _check_length(df, column, mechanism.dim)
    _check_sample(df, column, mechanism, rows, pieces)
    warn(mechanism)
    reserved = None if account is None else account.reserve(_scumble.Releaser(mechanism._inner, encoding))
    if reserved is not None:
        reserved.keep()  # from here on tasks run, and what they show may stay
    through = _task(mechanism, key, column, id, label, encoding)
    if out is None:
        return chosen.mapInArrow(through, schema)
    if folder is not None and pieces is not None:
        _spark_files.release(spark, pieces, _file_task(mechanism, key, reading, encoding, id is not None), folder)
    else:
        chosen.mapInArrow(through, schema).write.parquet(out)
    del through, key
    text = _certify(spark, out, mechanism, encoding, rows, sticky_key is not None, sign, promise)
    if reserved is not None:
        reserved.record(text)
    return spark.read.schema(schema).parquet(out)


def certify(
    spark: SparkSession,
    out: str,
    *,
    mechanism: Mechanism,
    encoding: str | None = None,
    rows: int | None = None,
    sticky: bool = False,
    sign: Key | None = None,
    rows_per_person: int | None = None,
    person_delta: float | None = None,
) -> dict[str, Any]:
    """As :func:`scumble.arrow.certify`, for a folder on whatever file system Spark wrote to."""
    promise = None if rows_per_person is None else (rows_per_person, person_delta)
    return json.loads(_certify(spark, out, mechanism, encoding, rows, sticky, sign, promise))


def _certify(
    spark: SparkSession,
    out: str,
    mechanism: Mechanism,
    encoding: str | None,
    rows: int | None,
    sticky: bool,
    sign: Key | None,
    promise: tuple[int, float | None] | None,
) -> str:
    folder = _Folder(spark, out)
    text = certificate_of(folder.parquet_files(), mechanism, encoding, rows, sticky, sign, promise)
    for ending, content in beside(mechanism, text):
        folder.write_beside(ending, content)
    return text


def _task(
    mechanism: Mechanism, key: bytes, column: str, id: str | None, label: str | None, encoding: str | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _take_no_more_cores()
        return release_batches(
            batches,
            mechanism=mechanism,
            key=key,
            column=column,
            id=id,
            label=label,
            encoding=encoding,
            fixed_size=False,
        )

    return task


def _file_task(
    mechanism: Mechanism, key: bytes, reading: dict[str, Any], encoding: str | None, with_ids: bool
) -> _spark_files.Task:
    def task(piece: _spark_files.Piece, out: str) -> None:
        _take_no_more_cores()
        _scumble.release_part(mechanism._inner, key, piece.path, piece.groups, out, reading, encoding, with_ids)

    return task


def _take_no_more_cores() -> None:
    """A task must not take more cores than Spark gave it. Read once, before the first row."""
    from pyspark import TaskContext

    context = TaskContext.get()
    os.environ.setdefault("RAYON_NUM_THREADS", str(context.cpus() if context else 1))


def _promise(
    mechanism: Mechanism, person: str | None, most: int | None, delta: float | None
) -> tuple[int, float | None] | None:
    """The most rows of a person, and the delta for all of them; checked before anything runs."""
    if person is None and most is None and delta is None:
        return None
    if person is None or most is None:
        raise ParameterError("give person and rows_per_person together")
    mechanism._inner.person_statement(most, delta)
    return most, delta


def _chosen(df: DataFrame, mechanism: Mechanism, key: bytes, id: str, person: str, most: int) -> DataFrame:
    """The rows that stay: for each person those that the key ranks first. Ranks are drawn by tasks, as the noise is."""
    for name in (id, person):
        if name not in df.columns:
            raise ParameterError(f"there is no column {name!r}")
    if df.where(F.col(person).isNull()).limit(1).count():
        raise DataError(f"some rows have no {person!r}: every row needs a person")
    ranked = df.select(F.col(id).alias("row"), F.col(person).cast("string").alias("person"))
    schema = T.StructType([*ranked.schema.fields, T.StructField("rank", T.LongType())])
    ranks = _ranks(mechanism, key)
    window = Window.partitionBy("person").orderBy("rank", "row")
    first = ranked.mapInArrow(ranks, schema).withColumn("place", F.row_number().over(window)).where(F.col("place") <= most)
    return df.join(first.select(F.col("row").alias(id)), on=id, how="left_semi")


def _ranks(mechanism: Mechanism, key: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def ranks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        releaser = _scumble.Releaser(mechanism._inner, None, key)
        for batch in batches:
            rows, persons = (batch.column(name).cast(pa.string()).to_pylist() for name in ("row", "person"))
            rank = pa.array(releaser.ranks(persons, rows), pa.int64())
            yield pa.RecordBatch.from_arrays([*batch.columns, rank], ["row", "person", "rank"])

    return ranks


def _columns(column: str, id: str | None, label: str | None) -> list[str]:
    return list(dict.fromkeys(name for name in (column, id or ID, label) if name is not None))


def _schema(
    df: DataFrame, mechanism: Mechanism, id: str | None, label: str | None, encoding: str | None
) -> T.StructType:
    def plain(name: str) -> T.DataType:
        kind = df.schema[name].dataType
        if isinstance(kind, (T.IntegralType, T.BooleanType)):
            return T.LongType()
        return T.DoubleType() if isinstance(kind, T.FractionalType) else T.StringType()

    name = mechanism._inner.encoding(encoding)
    numbers: dict[str, T.DataType] = {"f32": T.FloatType(), "i16": T.ShortType(), "b8": T.ByteType()}
    sketch = T.ArrayType(numbers[name]) if name in numbers else T.BinaryType()
    carried = [T.StructField(to, plain(name)) for to, name in (("id", id), ("label", label)) if name is not None]
    return T.StructType([*carried, T.StructField("sketch", sketch, metadata=dict([mechanism._inner.digest()]))])


def _check_column(df: DataFrame, column: str) -> None:
    """Vectors are arrays of floats or integers."""
    kind = df.schema[column].dataType
    numbers = (T.FloatType, T.DoubleType, T.IntegralType)
    if not isinstance(kind, T.ArrayType) or not isinstance(kind.elementType, numbers):
        hint = ""
        if kind.typeName() == "vector" or type(kind).__name__ == "VectorUDT":
            hint = "; pyspark.ml.functions.vector_to_array makes them"
        raise ParameterError(f"column {column!r} must hold arrays of floats or integers, not {kind.simpleString()}{hint}")


def _check_label(df: DataFrame, label: str | None) -> None:
    """Labels are numbers or strings."""
    if label is None:
        return
    kind = df.schema[label].dataType
    if not isinstance(kind, (T.NumericType, T.BooleanType, T.StringType)):
        raise ParameterError(f"column {label!r} must hold numbers or strings, not {kind.simpleString()}")


def _check_length(df: DataFrame, column: str, dim: int) -> None:
    """One row tells that all are of another length; the tasks look at each."""
    first = df.select(F.size(column)).first()
    if first is not None and first[0] not in (dim, -1, None):
        raise DataError(f"rows of {column!r} have {first[0]} attributes, expected {dim}")


def _check_sample(
    df: DataFrame, column: str, mechanism: Mechanism, rows: int, pieces: list[_spark_files.Piece] | None
) -> None:
    """Public structure must not be learned from the rows themselves. A table with as many rows as the sample fits here.
    Files have an order, in which the rows are known again; Spark's rows may come in any."""
    if rows not in mechanism._inner.sample_rows():
        return
    if pieces is not None:
        chunks = [chunk for part in _spark_files.read_column(pieces, column) for chunk in part.chunks]
        check_sample(mechanism, pa.chunked_array(chunks))
        return
    vectors = [row[0] for row in df.select(column).collect()]
    if all(vector is not None and len(vector) == mechanism.dim and None not in vector for vector in vectors):
        check_sample(mechanism, np.array(vectors, dtype=np.float64))  # else the tasks say which row is wrong


def _check_plan(df: DataFrame) -> None:
    """A retry must see the same rows under the same ids."""
    plan = getattr(df, "_jdf", None)
    if plan is not None and not plan.queryExecution().analyzed().deterministic():
        raise DataError(
            "the DataFrame is computed anew on every run with other results (rand, uuid, monotonically_increasing_id): "
            "write it first, and release what was written"
        )


def _check_ids(df: DataFrame, id: str, pieces: list[_spark_files.Piece] | None) -> int:
    if id not in df.columns:
        raise ParameterError(f"there is no column {id!r}: every row needs a unique id, its noise is a function of it")
    if not isinstance(df.schema[id].dataType, (T.IntegralType, T.StringType)):
        raise ParameterError(f"column {id!r} must hold integers or strings")
    counts = None if pieces is None else _spark_files.count_ids(pieces, id)
    rows, present, distinct = counts or cast(
        tuple[int, int, int], df.agg(F.count(F.lit(1)), F.count(F.col(id)), F.count_distinct(F.col(id))).first()
    )
    if rows == 0:
        raise DataError("the DataFrame has no rows")
    if present < rows:
        raise DataError(f"{rows - present} of {rows} rows have no {id!r}: every row needs a unique id")
    if distinct < rows:
        raise DataError(f"{rows} rows have only {distinct} different values of {id!r}: ids must be unique")
    return rows


class _Folder:
    """A folder on whatever file system Spark wrote to."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        context = spark.sparkContext
        self._jvm = cast(Any, context._jvm)
        self._path = self._jvm.org.apache.hadoop.fs.Path(path)
        try:
            self._files = self._path.getFileSystem(context._jsc.hadoopConfiguration())
        except Py4JJavaError as error:
            raise FileError(f"{path}: {error.java_exception.getMessage()}") from None

    def check_new(self, mechanism: Mechanism) -> None:
        """Refuses a folder that exists, or what would be written beside it."""
        endings = ["", *(ending for ending, _ in beside(mechanism, ""))]
        for path in (self._jvm.org.apache.hadoop.fs.Path(self._path.toString() + ending) for ending in endings):
            if self._exists(path):
                raise FileError(f"{path.toString()}: exists already; choose a new folder")
        parent = self._path.makeQualified(self._files.getUri(), self._files.getWorkingDirectory()).getParent()
        while parent is not None and not self._exists(parent):
            parent = parent.getParent()
        if parent is not None and not self._may_write(parent):
            raise FileError(f"{self._path.toString()}: nothing can be written there; choose another folder")

    def _exists(self, path: Any) -> bool:
        try:
            return self._files.exists(path)
        except Py4JJavaError as error:  # for one, a file where a folder is needed
            raise FileError(f"{path.toString()}: {error.java_exception.getMessage()}") from None

    def _may_write(self, folder: Any) -> bool:
        if not self._files.getFileStatus(folder).isDirectory():
            return False
        return self._files.getScheme() != "file" or os.access(folder.toUri().getPath(), os.W_OK | os.X_OK)

    def local(self) -> str | None:
        """Its path, if it is on this machine."""
        path = self._path.makeQualified(self._files.getUri(), self._files.getWorkingDirectory())
        return path.toUri().getPath() if self._files.getScheme() == "file" else None

    def parquet_files(self) -> Iterator[str]:
        """Local copies of the Parquet files in name order, one at a time."""
        found = [status.getPath() for status in self._files.listStatus(self._path) if status.isFile()]
        found = sorted((p for p in found if not p.getName().startswith((".", "_"))), key=lambda p: p.getName())
        for path in (p for p in found if p.getName().endswith(".parquet")):
            if self._files.getScheme() == "file":
                yield path.toUri().getPath()
            else:
                with tempfile.TemporaryDirectory() as folder:
                    copy = os.path.join(folder, path.getName())
                    self._files.copyToLocalFile(False, path, self._jvm.org.apache.hadoop.fs.Path(copy), True)
                    yield copy

    def write_beside(self, ending: str, content: bytes) -> None:
        """Writes a new file beside the folder: inside it, Spark would take it for data."""
        name = self._path.getName() + ending
        parent = self._path.makeQualified(self._files.getUri(), self._files.getWorkingDirectory()).getParent()
        stream = self._files.create(self._jvm.org.apache.hadoop.fs.Path(parent, name), False)
        try:
            stream.write(bytearray(content))
        except Exception as error:
            raise FileError(f"{name} could not be written") from error
        finally:
            stream.close()
