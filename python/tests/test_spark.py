"""Spark: on a local cluster with real executors, and on a standalone master that loses a worker in the middle."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyspark
import pytest

import scumble
import scumble.spark
from conftest import mechanism, run
from scumble._files import how_to_read
from scumble.arrow import release_batches

if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
    pytest.skip("LEFT OUT: Spark needs Java 17, such as openjdk-17-jre-headless", allow_module_level=True)

KEY = f"scumble-sticky-key {bytes(range(32)).hex()}\n".encode()
ROWS = 3000
WORK = pathlib.Path(pyspark.__file__).with_name("work")  # where a local cluster keeps its executors' logs


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    events = tmp_path_factory.mktemp("events")
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", events.as_uri())
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    written = b"".join(file.read_bytes() for file in events.rglob("*") if file.is_file())
    assert written and not any(form in written for form in (KEY, bytes(range(32)), bytes(range(32)).hex().encode()))  # the key is in no event log


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    import pyarrow.parquet as pq

    rng = np.random.default_rng(5)
    x = rng.random((ROWS, 64), dtype=np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 64)
    table = pa.table({"key": [f"row-{i}" for i in range(ROWS)], "embedding": vectors, "kind": rng.integers(0, 3, ROWS)})
    folder = tmp_path_factory.mktemp("input")
    for part in range(4):
        pq.write_table(table.slice(part * ROWS // 4, ROWS // 4), folder / f"{part}.parquet")
    return table, str(folder)


@pytest.fixture(autouse=True)
def ends():
    """A test that hangs fails, with the end of its executors' logs."""

    def give_up(*_):
        logs = sorted(WORK.glob("*/*/stderr"), key=os.path.getmtime)[-2:]
        tails = [f"== end of {log}\n{log.read_text(errors='replace')[-3000:]}" for log in logs]
        pytest.fail("not done after 400 s\n" + "\n".join(tails))

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(400)
    yield
    signal.alarm(0)


@pytest.fixture
def df(spark, table):
    return spark.read.parquet(table[1]).repartition(4, "key")


OPTIONS = {"column": "embedding", "id": "key"}


def expected(table, m, **options):
    """What the keyed noise must give, without Spark."""
    batches = release_batches(table.to_batches(), mechanism=m, key=KEY, **OPTIONS, **options)
    out = pa.Table.from_batches(batches)
    return dict(zip(out["id"].to_pylist(), out["sketch"].to_pylist()))


@pytest.mark.parametrize("id, encoding", [("dp-oporp-staircase", None), ("dp-oporp-staircase", "i16"), ("dp-signoporp-ceil", None)])
def test_release_to_files(df, table, tmp_path, id, encoding, monkeypatch, request):
    monkeypatch.setattr(scumble.spark, "new_key", lambda: KEY)
    m, out = mechanism(id), str(tmp_path / "out")
    account = scumble.Account(tmp_path / "ledger", "rows", budget=5.0)
    back = scumble.spark.release(df, mechanism=m, out=out, label="kind", encoding=encoding, account=account, **OPTIONS)
    assert back.columns == ["id", "label", "sketch"] and back.count() == ROWS
    r = scumble.load(out)  # recomputes the certificate and compares the hashes
    assert r.mechanism == m and len(r) == ROWS and r.certificate["content"].keys() == {"sketch", "ids", "labels", "layout"}
    (entry,) = account.statement["entries"]  # one for the job
    assert (entry["state"], entry["rows"], entry["certificate"]) == ("recorded", ROWS, r.certificate["digest"])
    assert sorted(r.ids.tolist()) == sorted(table[0]["key"].to_pylist())
    wanted = expected(table[0], m, encoding=encoding)
    stored = {row["id"]: row["sketch"] for row in back.collect()}
    assert {i: bytes(s) if isinstance(s, bytearray) else s for i, s in stored.items()} == wanted
    labels = dict(zip(table[0]["key"].to_pylist(), table[0]["kind"].to_pylist()))
    assert [labels[i] for i in r.ids] == r.labels.tolist()
    for file in pathlib.Path(out).rglob("*"):
        assert not file.is_file() or (KEY not in file.read_bytes() and KEY.hex() not in file.read_text("latin-1"))
    if encoding is None and id == "dp-oporp-staircase":
        run(request.getfixturevalue("cli"), "verify", out)


@pytest.mark.parametrize("id, encoding", [("dp-oporp-staircase", None), ("dp-signoporp-ceil", None)])
def test_files_are_read_and_written_by_the_executors(spark, table, tmp_path, id, encoding, monkeypatch, cli):
    """A DataFrame that is nothing but files: the same bytes as on the way through Spark, in the order of the files."""
    monkeypatch.setattr(scumble.spark, "new_key", lambda: KEY)
    monkeypatch.setattr(scumble._spark_files, "LEAST_PIECE", 50_000)
    plain, m, out = spark.read.parquet(table[1]), mechanism(id), str(tmp_path / "o u t")
    reading = how_to_read("embedding", "key", None, format="parquet")
    assert len(scumble._spark_files.pieces(plain, reading)) == 4
    pieces = scumble._spark_files.pieces(plain.select("key", "embedding"), reading)
    assert scumble._spark_files.count_ids(pieces, "key") == (ROWS, ROWS, ROWS)
    assert scumble._spark_files.count_ids(pieces, "kind") == (ROWS, ROWS, 3)
    renamed = plain.selectExpr("kind as key", "embedding")
    for other in (plain.filter("kind = 1"), renamed, plain.repartition(2), plain.limit(5)):
        assert scumble._spark_files.pieces(other, reading) is None
    assert scumble._spark_files.pieces(plain, how_to_read("embedding", "nobody", None)) is None
    back = scumble.spark.release(plain, mechanism=m, out=out, label="kind", encoding=encoding, **OPTIONS)
    through = scumble.spark.release(plain.repartition(3), mechanism=m, out=str(tmp_path / "b"), label="kind", **OPTIONS)
    assert back.schema == through.schema and back.count() == ROWS
    r = scumble.load(out)
    assert r.ids.tolist() == table[0]["key"].to_pylist() and r.labels.tolist() == table[0]["kind"].to_pylist()
    wanted = expected(table[0], m, encoding=encoding)
    rows = r.bits if id == "dp-signoporp-ceil" else r.values
    assert all(wanted[i] == (row.tobytes() if id == "dp-signoporp-ceil" else row.tolist()) for i, row in zip(r.ids, rows))
    names = sorted(file.name for file in pathlib.Path(out).iterdir())
    assert names[0] == "_SUCCESS" and len(names) == 5 and all(name.endswith(".parquet") for name in names[1:])
    run(cli, "verify", out)
    with pytest.raises(scumble.FileError, match="new folder"):
        scumble.spark.release(plain, mechanism=m, out=out, **OPTIONS)
    with pytest.raises(Exception, match="expected 32|64"):
        scumble.spark.release(plain, mechanism=mechanism(dim=32), out=str(tmp_path / "c"), **OPTIONS)
    assert not (tmp_path / "c").exists()  # a failed job leaves nothing


def test_another_attempt_at_a_piece_of_a_file_writes_the_same_rows(table, tmp_path):
    import pyarrow.parquet as pq

    piece = scumble._spark_files.Piece(0, f"{table[1]}/0.parquet", (0, 1), ROWS // 4)
    task = scumble.spark._file_task(mechanism(), KEY, how_to_read("embedding", "key", None), None, True)
    names = ["first", "second"]
    for name in names:
        task(piece, str(tmp_path / name))
    with pytest.raises(scumble.FileError):
        task(piece, str(tmp_path / "first"))  # never replaced
    first, second = (pq.read_table(tmp_path / name) for name in names)
    assert first.equals(second) and first.num_rows == ROWS // 4 and first.column_names == ["id", "sketch"]


@pytest.mark.parametrize("id, encoding", [("dp-oporp-staircase", "f32"), ("dp-oporp-staircase", "i16"), ("dp-signoporp-ceil", "b1")])
def test_spark_reads_what_the_library_writes(spark, tmp_path, id, encoding):
    """All of it: where columns stand in another order than in the schema, Spark finds no rows and says nothing."""
    import pyarrow.parquet as pq

    x = np.random.default_rng(1).random((300_000, 64), dtype=np.float32)
    r = mechanism(id).release(x, labels=np.arange(300_000) % 7, encoding=encoding)
    r.save(tmp_path / "out.parquet")
    found = spark.read.parquet(str(tmp_path / "out.parquet"))
    assert found.columns == ["id", "label", "sketch"] and found.count() == 300_000
    last, arrow = found.where("id = 299999").collect()[0], pq.read_table(tmp_path / "out.parquet")["sketch"][-1].as_py()
    assert last.label == 299_999 % 7 and (bytes(last.sketch) if encoding == "b1" else last.sketch) == arrow


def test_a_sticky_key_and_a_signature(spark, table, tmp_path):
    for name in ("sticky", "signing"):
        scumble.keygen(tmp_path / name, sticky=name == "sticky")
    options = OPTIONS | {"mechanism": mechanism(), "sticky_key": tmp_path / "sticky", "sign": tmp_path / "signing"}
    for out in ("a", "b"):
        scumble.spark.release(spark.read.parquet(table[1]), out=str(tmp_path / out), **options)
    a, b = (scumble.load(tmp_path / out, key=tmp_path / "signing.pub") for out in "ab")
    assert a.certificate["sticky"] and np.array_equal(a.packed, b.packed)


def test_without_a_file_and_every_run_the_same(df, table):
    released = scumble.spark.release(df, mechanism=mechanism(), **OPTIONS)
    first, second = ({row["id"]: row["sketch"] for row in released.collect()} for _ in range(2))
    assert first == second and len(first) == ROWS
    other = scumble.spark.release(df, mechanism=mechanism(), **OPTIONS)  # another job: another key
    assert not any(first[row["id"]] == row["sketch"] for row in other.take(50))


def test_at_most_so_many_rows_of_each_person(df, tmp_path):
    from pyspark.sql import functions as F

    people = df.withColumn("who", F.concat(F.lit("person "), F.col("kind").cast("string")))
    m, out = mechanism(), str(tmp_path / "out")
    account = scumble.Account(tmp_path / "ledger", "rows", budget=5.0)
    options = {**OPTIONS, "person": "who", "sticky_key": KEY}
    for wrong in ({"rows_per_person": 0}, {}, {"rows_per_person": 2, "person": "nobody"}, {"rows_per_person": 2, "person": None}):
        with pytest.raises(scumble.ParameterError):
            scumble.spark.release(people, mechanism=m, out=out, account=account, **{**options, **wrong})
    assert not (tmp_path / "ledger").exists()  # nothing was charged
    back = scumble.spark.release(people, mechanism=m, out=out, label="kind", rows_per_person=7, account=account, **options)
    assert {row["label"]: row["count"] for row in back.groupBy("label").count().collect()} == {0: 7, 1: 7, 2: 7}
    r = scumble.load(out)
    assert r.certificate["person"]["rows"] == 7 and r.certificate["person"]["epsilon"] == pytest.approx(35.0)
    assert "person " not in json.dumps(r.certificate["content"]) and account.statement["spent"] == pytest.approx(5.0)
    again = scumble.spark.release(people, mechanism=m, label="kind", rows_per_person=7, **options)
    assert sorted(row["id"] for row in again.collect()) == sorted(r.ids)  # the choice is the key's


def test_a_failed_task_runs_again_with_the_same_bytes(df, table, tmp_path, monkeypatch):
    monkeypatch.setattr(scumble.spark, "new_key", lambda: KEY)
    marks = tmp_path / "marks"
    marks.mkdir()

    def fails_once(batches):
        import os

        from pyspark import TaskContext

        for number, batch in enumerate(batches):
            yield batch
            if TaskContext.get().attemptNumber() == 0 and number == 0:
                (marks / f"{TaskContext.get().partitionId()}").touch()
                os._exit(3)  # the worker dies with its first rows on their way

    m = mechanism()
    released = scumble.spark.release(df.mapInArrow(fails_once, df.schema), mechanism=m, **OPTIONS)
    assert {row["id"]: row["sketch"] for row in released.collect()} == expected(table[0], m)
    assert len(list(marks.iterdir())) >= 3  # so tasks did run twice


def test_ids_are_checked(spark, df):
    from pyspark.sql import functions as F

    release = lambda df, **options: scumble.spark.release(df, mechanism=mechanism(), **(OPTIONS | options))
    with pytest.raises(scumble.DataError, match="unique"):
        release(df.unionAll(df.limit(1)))
    with pytest.raises(scumble.DataError, match="1 of 3000 rows have no 'key'"):
        release(df.withColumn("key", F.when(F.col("key") != "row-7", F.col("key"))))
    with pytest.raises(scumble.ParameterError, match="no column 'nobody'"):
        release(df, id="nobody")
    with pytest.raises(scumble.ParameterError, match="integers or strings"):
        release(df.withColumn("key", F.lit(0.5)))
    with pytest.raises(scumble.DataError, match="no rows"):
        release(df.limit(0))
    with pytest.raises(scumble.DataError, match="write it first"):
        release(df.withColumn("key", F.monotonically_increasing_id()))


def test_faults_in_a_task_name_the_place_only(df, tmp_path):
    from pyspark.errors import PythonException
    from pyspark.sql import functions as F

    secret = 0.123456
    vectors = F.when(F.col("key") == "row-7", F.array([F.lit(secret).cast("float")] * 3)).otherwise(F.col("embedding"))
    with pytest.raises(PythonException, match="row has 3|found|attributes|expected 64") as caught:
        scumble.spark.release(
            df.withColumn("embedding", vectors), mechanism=mechanism(), out=str(tmp_path / "out"), **OPTIONS
        )
    assert "0.1234" not in str(caught.value)
    assert not (tmp_path / "out.certificate.json").exists()


def test_output_that_exists_is_refused(df, tmp_path):
    with pytest.raises(scumble.FileError, match="exists already"):
        scumble.spark.release(df, mechanism=mechanism(), out=str(tmp_path), **OPTIONS)


def test_public_structure_is_of_other_rows_and_goes_with_the_folder(df, table, tmp_path):
    own = np.array(table[0]["embedding"].to_pylist(), dtype=np.float32)
    bins = scumble.learn_bins(own, 16)
    account = scumble.Account(tmp_path / "ledger", "rows", budget=5.0)
    rows = df.sparkSession.read.parquet(table[1])
    m = scumble.Mechanism("dp-oporp-staircase", dim=64, k=16, epsilon=1.0, range=(0.0, 1.0), bins=bins)
    with pytest.raises(scumble.ParameterError, match="bins were learned from the very rows"):
        scumble.spark.release(rows, mechanism=m, out=str(tmp_path / "out"), account=account, **OPTIONS)
    assert not (tmp_path / "ledger").exists() and not (tmp_path / "out").exists()

    public = np.random.default_rng(6).random((ROWS, 64))  # as many rows, and others
    for name, given in (
        ("out", dict(mechanism="dp-oporp-staircase", bins=scumble.learn_bins(public, 16))),
        ("book", dict(mechanism="privbook", book=scumble.make_book(public, 50))),
    ):
        m = scumble.Mechanism(dim=64, k=16 if name == "out" else None, epsilon=1.0, range=(0.0, 1.0), **given)
        scumble.spark.release(df, mechanism=m, out=str(tmp_path / name), **OPTIONS)
        r = scumble.load(tmp_path / name)
        assert r.mechanism == m and len(r) == ROWS
    (tmp_path / "other.book").touch()
    with pytest.raises(scumble.FileError, match="other.book: exists already"):
        scumble.spark.release(df, mechanism=m, out=str(tmp_path / "other"), **OPTIONS)


def test_no_typo_is_charged(df, tmp_path):
    from pyspark.sql import functions as F

    (tmp_path / "file").touch()
    account = scumble.Account(tmp_path / "ledger", "rows", budget=5.0)
    wrong = [
        (dict(column="embeding"), "there is no column"),
        (dict(column="kind"), "must hold arrays of floats"),
        (dict(label="embedding"), "must hold numbers or strings"),
        (dict(sticky_key=b"junk"), "not a key for noise"),
        (dict(sign=b"junk"), "not a signing key"),
        (dict(sign=tmp_path / "no.key"), "No such file"),
        (dict(out=str(tmp_path / "file" / "out")), "nothing can be written there"),
        (dict(out="nowhere://host/out"), "nowhere"),
        (dict(mechanism=mechanism(dim=32)), "64 attributes, expected 32"),
        (dict(mechanism=mechanism(), encoding="zz"), "unknown encoding"),
    ]
    for given, message in wrong:
        options = dict(mechanism=mechanism(), out=str(tmp_path / "out"), account=account) | OPTIONS | given
        with pytest.raises(scumble.ScumbleError, match=message):
            scumble.spark.release(df, **options)
    words = df.withColumn("embedding", F.col("embedding").cast("array<string>"))
    with pytest.raises(scumble.ParameterError, match="must hold arrays of floats"):
        scumble.spark.release(words, mechanism=mechanism(), out=str(tmp_path / "out"), account=account, **OPTIONS)
    with pytest.raises(TypeError, match="mechanism must be a scumble.Mechanism"):
        scumble.spark.release(df, mechanism="dp-oporp", out=str(tmp_path / "out"), account=account, **OPTIONS)
    assert not (tmp_path / "ledger").exists() and not (tmp_path / "out").exists()



def test_a_lost_worker(tmp_path):
    """In a process of its own: this one has its Spark already."""
    script = pathlib.Path(__file__).with_name("lost_worker.py")
    log = tmp_path / "driver.log"
    with open(log, "w") as file:
        job = subprocess.Popen(
            [sys.executable, script, tmp_path], stdout=subprocess.PIPE, stderr=file, text=True, start_new_session=True
        )
    try:
        output, _ = job.communicate(timeout=1200)  # it gives up by itself before: lost_worker.SECONDS
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)  # and its JVM
        print(log.read_text()[-8000:])  # pytest shows it if the test fails
    assert job.returncode == 0
    report = json.loads(output.splitlines()[-1])
    assert report["rows"] == report["different_ids"] == report["asked"]
    assert report["rows_seen_twice"] > 0 and report["rows_that_differ"] == 0
    assert report["workers_left"] == 1
