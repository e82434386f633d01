"""A standalone Spark master with two workers on loopback, of which one is killed in the middle of a release.

Usage: lost_worker.py FOLDER. Prints a line of JSON: how many rows came out, and whether rows that two attempts of a task
produced have equal bytes. A witness behind the release notes every row of every attempt, also of those that die.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import numpy as np
import pyspark

import scumble
import scumble.spark

ROWS, PARTS, BATCH = 1200, 6, 25
folder = pathlib.Path(sys.argv[1])
notes = folder / "notes"
notes.mkdir()
home = os.path.dirname(pyspark.__file__)
environment = os.environ | {
    "SPARK_HOME": home,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_WORKER_DIR": str(folder / "work"),
}
os.environ.update(environment)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(*arguments: object) -> subprocess.Popen:
    """A Java process of its own group, so that its executors end with it."""
    log = open(folder / "daemons.log", "ab")
    command = [f"{home}/bin/spark-class", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


def stop(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


port, page = free_port(), free_port()
daemons = [start("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", page)]


def alive() -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
            return json.load(answer)["aliveworkers"]
    except OSError:
        return 0


def worker_of(pid: int) -> subprocess.Popen:
    """The worker among the ancestors of a process."""
    workers = {worker.pid: worker for worker in daemons[1:]}
    while pid not in workers:
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return workers[pid]


def slow(batches):
    """Gives the killer time to strike while rows are on their way; not before it is there."""
    for batch in batches:
        time.sleep(0.2 * (folder / "killer").exists())
        yield batch


def witness(batches):
    """Notes every row of this attempt as it passes."""
    context = pyspark.TaskContext.get()
    note = notes / f"{context.partitionId()}-{context.taskAttemptId()}-{os.getpid()}"
    with open(note, "w") as file:
        for batch in batches:
            for id, sketch in zip(batch.column("id").to_pylist(), batch.column("sketch").to_pylist()):
                file.write(json.dumps([id, sketch]) + "\n")
            file.flush()
            yield batch


try:
    for _ in range(2):
        daemons.append(
            start("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", 0, "-c", 1, "-m", "1g",
                  f"spark://127.0.0.1:{port}")
        )
    deadline = time.monotonic() + 120
    while alive() < 2:
        assert time.monotonic() < deadline, "the workers do not come up"
        time.sleep(0.3)

    spark = (
        pyspark.sql.SparkSession.builder.master(f"spark://127.0.0.1:{port}")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "700m")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.network.timeout", "60s")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    x = np.random.default_rng(1).random((ROWS, 16), dtype=np.float32)
    rows = [(i, row.tolist()) for i, row in enumerate(x)]
    df = spark.createDataFrame(rows, "id bigint, vector array<float>").repartitionByRange(PARTS, "id")
    df.write.parquet(str(folder / "input"))
    df = spark.read.parquet(str(folder / "input"))
    spark.conf.set("spark.sql.files.openCostInBytes", str(128 << 20))  # one task a file
    mechanism = scumble.Mechanism("dp-oporp-staircase", dim=16, k=8, epsilon=2.0, range=(0.0, 1.0), seed=bytes(32))
    released = scumble.spark.release(df.mapInArrow(slow, df.schema), mechanism=mechanism)

    def kill_one() -> None:
        """The worker of a task that has given some of its rows and not yet all, once other tasks are done."""
        while True:
            time.sleep(0.05)
            lines = {note: note.read_bytes().count(b"\n") for note in notes.iterdir()}
            halfway = [note for note, count in lines.items() if BATCH <= count <= ROWS // PARTS // 2]
            if len(lines) >= 3 and halfway:
                return stop(worker_of(int(halfway[0].name.split("-")[2])))

    killer = threading.Thread(target=kill_one)
    killer.start()
    (folder / "killer").touch()
    out = str(folder / "out")
    released.mapInArrow(witness, released.schema).write.parquet(out)
    killer.join()
    scumble.spark.certify(spark, out, mechanism=mechanism, rows=ROWS)
    r = scumble.load(out)
    seen: dict[int, list] = {}
    for note in notes.iterdir():
        for line in note.read_text().splitlines():
            try:
                id, sketch = json.loads(line)
            except ValueError:
                continue  # the line on which the worker died
            seen.setdefault(id, []).append(sketch)
    twice = {id: sketches for id, sketches in seen.items() if len(sketches) > 1}
    left = alive()
    report = {
        "asked": ROWS,
        "rows": len(r),
        "different_ids": len(set(r.ids.tolist())),
        "rows_seen_twice": len(twice),
        "rows_that_differ": sum(any(s != sketches[0] for s in sketches) for sketches in twice.values()),
        "workers_left": left,
    }
    spark.stop()
    print(json.dumps(report), flush=True)
finally:
    for process in daemons:
        stop(process)
