"""numpy to release: what Python adds to the library's own time, for 100,000 x 768 float32.

Usage: overhead.py [TURNS]. Runs the library and Python in turns; compares medians of the turns' best wall times, and CPU
times, which other people's work on the machine disturbs less. Needs `cargo build --release --example time_release`.
"""

from __future__ import annotations

import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import scumble

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, DIM, K, EPSILON, RUNS = 100_000, 768, 256, 5.0, 5


def with_rust(path: pathlib.Path, id: str) -> tuple[float, float]:
    """(wall, CPU) seconds of a release: CPU as the difference that RUNS more runs make."""

    def runs(count: int) -> tuple[float, float]:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [ROOT / "target/release/examples/time_release", path, id, str(K), str(EPSILON), str(count)]
        wall = float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    (_, once), (wall, more) = runs(1), runs(1 + RUNS)
    return wall, (more - once) / RUNS


def with_python(m: scumble.Mechanism, x: np.ndarray) -> tuple[float, float]:
    wall, cpu = float("inf"), time.process_time()
    for _ in range(RUNS):
        start = time.perf_counter()
        assert len(m.release(x)) == ROWS
        wall = min(wall, time.perf_counter() - start)
    return wall, (time.process_time() - cpu) / RUNS


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    x = np.random.default_rng(0).random((ROWS, DIM), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.npy"
        np.save(path, x)
        for id in ("dp-oporp-staircase", "dp-signoporp-ceil"):
            m = scumble.Mechanism(id, dim=DIM, k=K, epsilon=EPSILON, beta=1.0, range=(0.0, 1.0), seed=bytes(32))
            r = m.release(x[:1000])
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            pairs = [(with_rust(path, id), with_python(m, x)) for _ in range(turns)]
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            (rust, rust_cpu), (python, python_cpu) = (
                [statistics.median(pair[side][kind] for pair in pairs) for kind in (0, 1)] for side in (0, 1)
            )
            report = {
                "bench": "numpy overhead",
                "mechanism": id,
                "rust_seconds": round(rust, 4),
                "python_seconds": round(python, 4),
                "overhead_percent": round(100 * (python / rust - 1), 1),
                "rust_cpu_seconds": round(rust_cpu, 4),
                "python_cpu_seconds": round(python_cpu, 4),
                "cpu_overhead_percent": round(100 * (python_cpu / rust_cpu - 1), 1),
                "input_mb": x.nbytes >> 20,
                "output_mb": ROWS * r.packed.shape[1] >> 20,
                "peak_memory_grew_mb": round(grown),
            }
            print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
