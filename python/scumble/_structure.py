"""Public structure: bins, components and books from a public sample."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _input, _scumble
from ._checks import whole
from ._errors import FileError, ParameterError
from ._release import Release


class PublicFile:
    """A public file that a mechanism may rest on. All of it is published with a release.

    It must not be made from the rows that will be released.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        """The bytes of the file."""
        self.sha256 = _scumble.public_name(content)
        """What certificates name it by."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PublicFile:
        """Reads a file of ``scumble bins``, ``scumble components`` or ``scumble book``."""
        try:
            return cls(Path(path).read_bytes())
        except OSError as error:
            raise FileError(f"{os.fspath(path)}: {error.strerror}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file; an existing one is never replaced."""
        try:
            with open(path, "xb") as file:
                file.write(self.content)
        except OSError as error:
            raise FileError(f"{os.fspath(path)}: {error.strerror}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicFile) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"PublicFile({self.content.split(maxsplit=1)[0].decode()}, sha256 {self.sha256[:12]}...)"


def learn_bins(public: Any, k: int) -> PublicFile:
    """Bins of attributes that move together, for ``Mechanism(bins=...)``: from PUBLIC rows, dense or sparse, or from a
    :class:`scumble.Release` without a projection (``raw-...``) of OTHER rows than those that will be released.

    One attribute still touches one bin, so every guarantee of the OPORP mechanisms is the same. Similar attributes add up
    instead of cancelling out. Bits and symbols are then placed around each bin's public median.

    >>> import numpy as np, scumble
    >>> public = np.repeat(np.random.default_rng(0).random((200, 16)), 4, axis=1)
    >>> bins = scumble.learn_bins(public, 16)
    >>> m = scumble.Mechanism("dp-oporp-staircase", dim=64, k=16, epsilon=1.0, range=(0, 1), bins=bins, seed=bytes(32))
    >>> m.release(np.repeat(np.random.default_rng(1).random((10, 16)), 4, axis=1))
    Release(10 rows, dp-oporp-staircase, k=16, f32)
    """
    if isinstance(public, Release):
        return PublicFile(_scumble.learn_bins_from_release(public._inner, whole("k", k)))
    dim = _input.dim_of(public)
    return PublicFile(_scumble.learn_bins(_input.whole(public, dim), dim, whole("k", k)))


def learn_components(public: Any, k: int = _scumble.COMPONENTS) -> PublicFile:
    """The main directions of PUBLIC records, for ``Mechanism("privcube", components=...)`` with the same `k`."""
    dim = _input.dim_of(public)
    return PublicFile(_scumble.learn_components(_input.whole(public, dim), dim, whole("k", k)))


def make_book(public: Any, words: int = _scumble.BOOK_WORDS) -> PublicFile:
    """Takes up to `words` PUBLIC rows as the words of a book, for ``Mechanism("privbook", book=...)``.

    Every released row is then a copy of one of these rows.

    >>> import numpy as np, scumble
    >>> book = scumble.make_book(np.random.default_rng(0).normal(size=(50, 8)))
    >>> m = scumble.Mechanism("privbook", dim=8, epsilon=5.0, range=(-3, 3), book=book)
    >>> m.release(np.zeros((4, 8))).values.shape
    (4, 8)
    """
    dim = _input.dim_of(public)
    return PublicFile(_scumble.make_book(_input.whole(public, dim), dim, whole("words", words)))


def field(name: str, value: Any) -> Any:
    """A public file as the compiled part takes it: a grid by its name, a file with its content."""
    if value is None or (name == "bins" and isinstance(value, str) and value.startswith("grid:")):
        return value
    if isinstance(value, dict):
        return value
    if isinstance(value, (str, os.PathLike)):
        value = PublicFile.load(value)
    if not isinstance(value, PublicFile):
        raise ParameterError(f"{name} must be a PublicFile or the path of one")
    if name == "bins":
        return {"sha256": value.sha256, "text": value.content.decode()}
    return {"sha256": value.sha256, "content": value.content.hex()}
