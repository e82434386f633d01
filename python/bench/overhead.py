"""numpy to release: what Python adds to the library's own time, for 100,000 x 768 float32.

Runs the library and Python in turns and compares the least of each. Needs `cargo build --release --example time_release`.
"""

from __future__ import annotations

import json
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy as np

import scumble

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, DIM, K, EPSILON, TURNS = 100_000, 768, 256, 5.0, 5


def main() -> None:
    x = np.random.default_rng(0).random((ROWS, DIM), dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.npy"
        np.save(path, x)
        for id in ("dp-oporp-staircase", "dp-signoporp-ceil"):
            m = scumble.Mechanism(id, dim=DIM, k=K, epsilon=EPSILON, beta=1.0, range=(0.0, 1.0), seed=bytes(32))
            rust = python = float("inf")
            command = [ROOT / "target/release/examples/time_release", path, id, str(K), str(EPSILON), "3"]
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(TURNS):
                rust = min(rust, float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
                for _ in range(3):
                    start = time.perf_counter()
                    r = m.release(x)
                    python = min(python, time.perf_counter() - start)
                    assert len(r) == ROWS
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                json.dumps(
                    {
                        "bench": "numpy overhead",
                        "mechanism": id,
                        "rust_seconds": round(rust, 4),
                        "python_seconds": round(python, 4),
                        "overhead_percent": round(100 * (python / rust - 1), 1),
                        "input_mb": x.nbytes >> 20,
                        "output_mb": r.packed.nbytes >> 20,
                        "peak_memory_grew_mb": round(grown),
                    }
                )
            )


if __name__ == "__main__":
    main()
