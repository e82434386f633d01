"""Spark on two local executors against the command line with two threads, on the same Parquet of 1,400,000 x 384 float32 (2 GiB).

Usage: spark.py [ROWS [TURNS]]. All in turns, medians; CPU seconds too, which other people's work on the machine disturbs
less. The command line runs with fresh noise and with noise by key, which Spark always has; Spark also runs on hardly any
rows. Needs `cargo build --release`. JVM start and the first, warming job are not counted.
"""

from __future__ import annotations

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import scumble

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / "target/release/scumble"
DIM, K, EPSILON, FILES = 384, 128, 5.0, 8


def write_input(folder: pathlib.Path, rows: int) -> None:
    """Embeddings do not compress: plain pages, as most writers have them for floats."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part in range(FILES):
        share = rows // FILES
        x = rng.random((share, DIM), dtype=np.float32)
        ids = np.arange(part * share, (part + 1) * share)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), DIM)
        table = pa.table({"id": ids, "vector": vectors})
        options = {"compression": "none", "use_dictionary": False, "row_group_size": 16384}
        pq.write_table(table, folder / f"{part}.parquet", **options)


def cpu_of_spark(root: int) -> float:
    """CPU seconds of a process with its descendants, also of those that have ended."""
    stats = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # ended meanwhile
            stats[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    tree, size = {root}, 0
    while len(tree) > size:
        size = len(tree)
        tree |= {pid for pid, (parent, _) in stats.items() if parent in tree}
    return sum(stats[pid][1] for pid in tree if pid in stats) / os.sysconf("SC_CLK_TCK")


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(work, cpu) -> tuple[float, float]:
    """(wall, CPU) seconds."""
    wall, before = time.perf_counter(), cpu()
    work()
    return time.perf_counter() - wall, cpu() - before


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_400_000
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    import scumble.spark

    with tempfile.TemporaryDirectory(dir=ROOT / "target") as name:
        folder = pathlib.Path(name)
        write_input(folder / "in", rows)
        write_input(folder / "warm", 40_000)
        write_input(folder / "few", 8 * FILES)
        key = folder / "sticky.key"
        subprocess.run([BINARY, "keygen", "--sticky", "--out", key], check=True, capture_output=True)
        spark = (
            SparkSession.builder.master("local-cluster[2,1,2048]")
            .config("spark.executor.memory", "2048m")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        for id in ("dp-signoporp-ceil", "dp-oporp-staircase"):
            m = scumble.Mechanism(id, dim=DIM, k=K, epsilon=EPSILON, beta=1.0, range=(0.0, 1.0), seed=bytes(32))
            scumble.spark.release(spark.read.parquet(str(folder / "warm")), mechanism=m, out=str(folder / f"warm-{id}"))
            jvm = spark.sparkContext._gateway.proc.pid

            def with_spark(source: str, turn: int) -> tuple[float, float]:
                df = spark.read.parquet(str(folder / source))
                out = str(folder / f"spark-{source}-{id}-{turn}")
                work = lambda: scumble.spark.release(df, mechanism=m, out=out)
                return timed(work, lambda: cpu_of_spark(jvm) + time.process_time())

            def alone(more: list, turn: int) -> tuple[float, float]:
                out = folder / f"{id}-{turn}.parquet"
                command = [BINARY, "release", folder / "in", "--id", "id", "--out", out]
                command += ["--mechanism", id, "--epsilon", EPSILON, "--beta", 1, "--range", "0,1", "-k", K, "--threads", 2]
                words = [str(word) for word in command + more]
                took = timed(lambda: subprocess.run(words, check=True, capture_output=True, timeout=600), cpu_of_children)
                out.unlink()
                return took

            ways = [
                lambda turn: with_spark("in", turn),
                lambda turn: with_spark("few", turn),
                lambda turn: alone([], turn),
                lambda turn: alone(["--sticky-key", key], turn),
            ]
            runs = [[way(turn) for way in ways] for turn in range(turns)]
            (wall, cpu), (_, few_cpu), (cli_wall, cli_cpu), (_, keyed_cpu) = (
                [statistics.median(run[way][kind] for run in runs) for kind in (0, 1)] for way in range(len(ways))
            )
            report = {
                "bench": "spark",
                "mechanism": id,
                "rows": rows,
                "spark_seconds": round(wall, 2),
                "cli_seconds": round(cli_wall, 2),
                "spark_percent_of_cli": round(100 * cli_wall / wall),
                "spark_cpu_seconds": round(cpu, 2),
                "spark_without_rows_cpu_seconds": round(few_cpu, 2),
                "cli_cpu_seconds": round(cli_cpu, 2),
                "cli_keyed_cpu_seconds": round(keyed_cpu, 2),
                "spark_percent_of_cli_by_cpu": round(100 * cli_cpu / cpu),
            }
            print(json.dumps(report), flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
