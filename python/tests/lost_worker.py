"""A standalone Spark master with two workers on loopback, of which one is killed in the middle of a release.

Usage: lost_worker.py FOLDER. Prints a line of JSON: how many rows came out, and whether rows that two attempts of a task
produced have equal bytes. A witness behind the release notes every row of every attempt, also of those that die, and
stops half-way through a task until a worker was killed: nothing here is a race. Ends by itself after SECONDS.
"""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

import scumble
import scumble.spark

PARTS, HALF, BATCH = 6, 100, 25
ROWS = PARTS * 2 * HALF
SECONDS = 900
folder = pathlib.Path(sys.argv[1])
notes = folder / "notes"
notes.mkdir()
(folder / "input").mkdir()
killed = folder / "killed"
home = os.path.dirname(pyspark.__file__)
environment = os.environ | {
    "SPARK_HOME": home,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_WORKER_DIR": str(folder / "work"),
    # The REST port is fixed. The others are as given or the master ends. A worker that stands still is not lost.
    "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false -Dspark.port.maxRetries=0 -Dspark.worker.timeout=1200",
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


def give_up(*_: object) -> None:
    raise TimeoutError(f"the job has not ended after {SECONDS} s")


def wait_for(what: str, condition, seconds: float = 600):
    """What `condition` gives as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds} s in vain for {what}")
        time.sleep(0.05)
    return found


signal.signal(signal.SIGALRM, give_up)
signal.alarm(SECONDS)
daemons: list[subprocess.Popen] = []  # the master first


def start_master() -> tuple[int, int]:
    """Gives its port and that of its page; others when somebody took one of them before the master, which then ends."""
    while True:
        port, page = free_port(), free_port()
        daemons[:] = [
            start("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", page)
        ]
        wait_for("the master", lambda: daemons[0].poll() is not None or alive(page) is not None)
        if daemons[0].poll() is None:
            return port, page


def alive(page: int) -> int | None:
    """How many workers the master has; None before it is ready, when its page may answer already."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=60) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        return None


def worker_of(pid: int) -> subprocess.Popen:
    """The worker among the ancestors of a process."""
    workers = {worker.pid: worker for worker in daemons[1:]}
    while pid not in workers:
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return workers[pid]


def witness(batches):
    """Notes every row of this attempt as it passes. The first tasks end; later ones wait half-way for a worker's death."""
    context = pyspark.TaskContext.get()
    note = notes / f"{context.partitionId()}-{context.taskAttemptId()}-{os.getpid()}"
    passed = 0
    with open(note, "w") as file:
        for batch in batches:
            for id, sketch in zip(batch.column("id").to_pylist(), batch.column("sketch").to_pylist()):
                file.write(json.dumps([id, sketch]) + "\n")
            file.flush()
            passed += batch.num_rows
            if context.partitionId() >= 2 and passed == HALF:
                wait_for("a worker's death", killed.exists)
            yield batch


def halfway() -> list[pathlib.Path]:
    """Notes of tasks that have given half of their rows."""
    return [note for note in notes.iterdir() if int(note.name.split("-")[0]) >= 2 and note.read_bytes().count(b"\n") == HALF]


def kill_one() -> None:
    note = wait_for("a task that is half-way", halfway)[0]
    stop(worker_of(int(note.name.split("-")[2])))
    killed.touch()


try:
    port, page = start_master()
    for _ in range(2):
        daemons.append(
            start("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", 0, "-c", 1, "-m", "1g",
                  f"spark://127.0.0.1:{port}")
        )
    wait_for("two workers", lambda: alive(page) == 2)

    spark = (
        pyspark.sql.SparkSession.builder.master(f"spark://127.0.0.1:{port}")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", "700m")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.network.timeout", "1200s")  # who is killed closes its connections: only that counts as lost
        .config("spark.sql.files.openCostInBytes", str(128 << 20))  # one task per file
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for part in range(PARTS):
        x = np.random.default_rng(part).random((2 * HALF, 16), dtype=np.float32)
        ids = np.arange(part * 2 * HALF, (part + 1) * 2 * HALF)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 16)
        pq.write_table(pa.table({"id": ids, "vector": vectors}), folder / "input" / f"{part}.parquet")
    df = spark.read.parquet(str(folder / "input"))
    mechanism = scumble.Mechanism("dp-oporp-staircase", dim=16, k=8, epsilon=2.0, range=(0.0, 1.0), seed=bytes(32))
    released = scumble.spark.release(df, mechanism=mechanism, id="id")
    out = str(folder / "out")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        killing = pool.submit(kill_one)
        released.mapInArrow(witness, released.schema).write.parquet(out)
        killing.result()
    scumble.spark.certify(spark, out, mechanism=mechanism, rows=ROWS)
    wait_for("the master to know of the death", lambda: alive(page) == 1)
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
    report = {
        "asked": ROWS,
        "rows": len(r),
        "different_ids": len(set(r.ids.tolist())),
        "rows_seen_twice": len(twice),
        "rows_that_differ": sum(any(s != sketches[0] for s in sketches) for sketches in twice.values()),
        "workers_left": alive(page),
    }
    spark.stop()
    print(json.dumps(report), flush=True)
except BaseException:
    for log in sorted(folder.rglob("daemons.log")) + sorted(folder.rglob("work/*/*/stderr")):
        print(f"== end of {log.relative_to(folder)}", log.read_text(errors="replace")[-3000:], sep="\n", file=sys.stderr)
    raise
finally:
    for process in daemons:
        stop(process)
