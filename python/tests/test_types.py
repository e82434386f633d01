"""The stubs of the compiled part are those of the module that is installed, and the package's own types hold."""

from __future__ import annotations

import subprocess
import sys

from conftest import ROOT


def test_stubs(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "scumble._scumble"], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_types(tmp_path):
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--check-untyped-defs", "--cache-dir", tmp_path]
    run = subprocess.run([*command, ROOT / "python" / "scumble"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
