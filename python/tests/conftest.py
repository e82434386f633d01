"""Shared pieces of the tests."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import scumble

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = bytes(range(32))


def mechanism(id: str = "dp-oporp-staircase", **changes) -> scumble.Mechanism:
    arguments = dict(dim=64, k=32, epsilon=5.0, beta=1.0, range=(0.0, 1.0), seed=SEED)
    return scumble.Mechanism(id, **(arguments | changes))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def cli() -> str:
    """The command line, as ./test has built it."""
    path = os.environ.get("SCUMBLE") or shutil.which("scumble") or ROOT / "target" / "release" / "scumble"
    if not os.access(path, os.X_OK):
        pytest.skip("the command line is not built: cargo build --release")
    return str(path)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, text=True, timeout=300)
