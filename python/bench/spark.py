"""Spark on two local executors against the command line with two threads, on the same Parquet of 1,000,000 x 384 float32.

Usage: spark.py [ROWS]. Needs `cargo build --release`. JVM start and the first, warming job are not counted.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import scumble

ROOT = pathlib.Path(__file__).resolve().parents[2]
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


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    import scumble.spark

    with tempfile.TemporaryDirectory(dir=ROOT / "target") as name:
        folder = pathlib.Path(name)
        write_input(folder / "in", rows)
        write_input(folder / "warm", 40_000)
        spark = (
            SparkSession.builder.master("local-cluster[2,1,2048]")
            .config("spark.executor.memory", "2048m")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        for id in ("dp-signoporp-ceil", "dp-oporp-staircase"):
            m = scumble.Mechanism(id, dim=DIM, k=K, epsilon=EPSILON, beta=1.0, range=(0.0, 1.0), seed=bytes(32))
            scumble.spark.release(spark.read.parquet(str(folder / "warm")), mechanism=m, out=str(folder / f"warm-{id}"))
            start = time.perf_counter()
            scumble.spark.release(spark.read.parquet(str(folder / "in")), mechanism=m, out=str(folder / f"spark-{id}"))
            with_spark = time.perf_counter() - start
            command = [ROOT / "target/release/scumble", "release", folder / "in", "--out", folder / f"{id}.parquet"]
            command += ["--mechanism", id, "--epsilon", EPSILON, "--beta", 1, "--range", "0,1", "-k", K, "--threads", 2]
            start = time.perf_counter()
            subprocess.run([str(word) for word in command], check=True, capture_output=True)
            alone = time.perf_counter() - start
            report = {
                "bench": "spark",
                "mechanism": id,
                "rows": rows,
                "spark_rows_per_second": round(rows / with_spark),
                "cli_rows_per_second": round(rows / alone),
                "spark_percent_of_cli": round(100 * alone / with_spark),
            }
            print(json.dumps(report), flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
