"""The compiled part of scumble."""

from os import PathLike
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Charge",
    "Mechanism",
    "Release",
    "Releaser",
    "__version__",
    "certificate_mechanism",
    "decode",
    "estimate",
    "estimate_with_query",
    "evaluate",
    "evaluation_page",
    "keygen",
    "ledger_statement",
    "mechanisms",
    "plan",
    "release_file",
    "search",
    "statistics",
    "sticky_seed",
]

__version__: str

@final
class Mechanism:
    def __new__(cls, parameters: str) -> Mechanism: ...
    def parameters(self) -> str: ...
    def warnings(self) -> list[str]: ...
    def output(self) -> str: ...
    def noise_variance(self) -> float | None: ...
    def certificate(
        self,
        encoding: str | None,
        rows: int,
        sketch: str,
        ids: str | None = None,
        labels: str | None = None,
        sticky: bool = False,
        sign: bytes | None = None,
    ) -> str: ...
    def project(self, rows: Any) -> npt.NDArray[np.float32]: ...

@final
class Releaser:
    def __new__(
        cls,
        mechanism: Mechanism,
        encoding: str | None = None,
        key: bytes | None = None,
        ids: list[Any] | None = None,
        sign: bytes | None = None,
    ) -> Releaser: ...
    def look(self, rows: Any) -> None: ...
    def add(self, rows: Any) -> None: ...
    def finish(self, labels: list[Any] | None = None) -> Release: ...
    def batch(self, batch: Any, column: str, id: str) -> Any: ...

@final
class Release:
    @staticmethod
    def load(path: str | PathLike[str], key: bytes | None = None, every_byte: bool = False) -> Release: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def __len__(self) -> int: ...
    def certificate(self) -> str: ...
    def mechanism(self) -> Mechanism: ...
    def values(self) -> npt.NDArray[np.float32]: ...
    def bytes(self) -> npt.NDArray[np.uint8]: ...
    def ids(self) -> Any | None: ...
    def labels(self) -> Any | None: ...

@final
class Charge:
    def __new__(
        cls,
        ledger: str | PathLike[str],
        dataset: str,
        budget: tuple[float, float] | None,
        releaser: Releaser,
    ) -> Charge: ...
    def record(self, certificate: str) -> None: ...
    def keep(self) -> None: ...
    def cancel(self) -> None: ...

def release_file(
    mechanism: Mechanism,
    input: str | PathLike[str],
    out: str | PathLike[str],
    reading: dict[str, Any],
    encoding: str | None = None,
    account: tuple[str, str, tuple[float, float] | None] | None = None,
    key: bytes | None = None,
    sign: bytes | None = None,
    progress: Any | None = None,
) -> str: ...

def keygen(sticky: bool) -> tuple[str, str | None]: ...
def sticky_seed(key: bytes) -> list[int]: ...
def ledger_statement(ledger: str | PathLike[str]) -> str: ...
def mechanisms() -> str: ...
def certificate_mechanism(text: str) -> Mechanism: ...
def estimate(
    kind: str, a: Release, i: int, b: Release, j: int
) -> tuple[float, float, tuple[float, float]]: ...
def estimate_with_query(
    release: Release, row: int, query: npt.NDArray[np.float32]
) -> tuple[float, float, tuple[float, float]]: ...
def search(
    release: Release, queries: Any, top: int, metric: str | None, decode: str | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]: ...
def statistics(
    release: Release,
    since: Release | None,
    target: str,
    simultaneous: bool,
    false_reports: int | None,
    attributes: list[int] | None,
    largest: int,
    centroids: Any | None,
    shuffled: float | None,
) -> str: ...
def decode(of: Release, release: Release | None, name: str) -> npt.NDArray[np.float32]: ...
def evaluate(
    rows: Any, queries: Any, labels: tuple[list[int], list[int]] | None, parameters: str, request: str
) -> str: ...
def evaluation_page(title: str, outcomes: str) -> tuple[list[tuple[str, str]], str]: ...
def plan(asked: str, sample: Any | None) -> str: ...
