"""Keys: for signatures, and for noise that stays the same for a row that has not changed."""

from __future__ import annotations

import os
import stat
import warnings
from typing import Union

from . import _scumble
from ._errors import FileError

Key = Union[str, "os.PathLike[str]", bytes]
"""The file of a key, or its content."""


def keygen(out: str | os.PathLike[str], *, sticky: bool = False) -> None:
    """Makes the key `out` that signs certificates, and `out`.pub for those who verify. With `sticky`, a key for sticky releases.

    The secret file is readable by its owner only. The files are those of ``scumble keygen``; none is ever replaced.

    >>> import os, scumble, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> scumble.keygen(os.path.join(folder, "release.key"))
    >>> scumble.keygen(os.path.join(folder, "mail.key"), sticky=True)
    >>> sorted(os.listdir(folder))
    ['mail.key', 'release.key', 'release.key.pub']
    """
    secret, public = _scumble.keygen(sticky)
    path = os.fspath(out)
    _write(path, secret, 0o600)
    if public is not None:
        _write(f"{path}.pub", public, 0o644)


def sticky_seed(sticky_key: Key) -> bytes:
    """The public seed that goes with a sticky key, the same every time: ``Mechanism(..., seed=sticky_seed(key))``.

    ``scumble release --sticky-key`` takes this seed where none is given.

    >>> import os, scumble, tempfile
    >>> key = os.path.join(tempfile.mkdtemp(), "mail.key")
    >>> scumble.keygen(key, sticky=True)
    >>> len(scumble.sticky_seed(key))
    32
    """
    return bytes(_scumble.sticky_seed(secret(sticky_key)))


def secret(key: Key) -> bytes:
    """The content of a secret key's file; warns if others may read it."""
    if isinstance(key, bytes):
        return key
    content = public(key)
    if os.name == "posix" and stat.S_IMODE(os.stat(key).st_mode) & 0o077:
        warnings.warn(f"{os.fspath(key)}: others may read this secret key; chmod 600 it", stacklevel=4)
    return content


def public(key: Key) -> bytes:
    """The content of a public key's file."""
    if isinstance(key, bytes):
        return key
    try:
        with open(key, "rb") as file:
            return file.read(1 << 12)  # a key is short
    except OSError as error:
        raise FileError(f"{os.fspath(key)}: {error.strerror}") from None


def _write(path: str, text: str, mode: int) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise FileError(f"{path}: exists already; a key is never replaced") from None
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text)
