"""Private at the source: the client that runs where the vector is made.

    client = Client.open(campaign, signer=public_key, policy={"attribute": 8}, storage="device.state")
    client.report("profile", vector)    # charged and stored first, then bytes
    client.send()                       # retries with the same bytes

The same client as in C and JavaScript, from the same Rust.
"""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import os
import re
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ._errors import Refused
from ._scumble import DeviceClient, refusals

__all__ = ["Budget", "Client", "FileStorage", "Loss", "MemoryStorage", "Refused", "Sent", "Storage", "refusals"]

_TRIES = 50
_LONGEST_RECEIPT = 1 << 16
_ADDRESS = re.compile(r"https://[^/]|http://(127\.0\.0\.1|localhost|\[::1\])([:/]|$)")


class Storage(Protocol):
    """Where a state is kept. It holds the device's key: keep it as you keep the person's data."""

    def read(self) -> bytes | None:
        """What is stored, or None."""
        ...

    def write(self, next: bytes, previous: bytes | None) -> bool:
        """Stores `next` only if `previous` is what is stored, all at once and durably; says whether it did."""
        ...


class MemoryStorage:
    """Keeps the state in memory only: for tests."""

    def __init__(self) -> None:
        self._stored: bytes | None = None

    def read(self) -> bytes | None:
        return self._stored

    def write(self, next: bytes, previous: bytes | None) -> bool:
        if self._stored != previous:
            return False
        self._stored = next
        return True


class FileStorage:
    """A file that is replaced whole, under a lock that ends with its process."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def read(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None

    def write(self, next: bytes, previous: bytes | None) -> bool:
        with self._lock():
            if self.read() != previous:
                return False
            # One name: what a crash has left there holds the key, and the next change removes it.
            beside = self._path.with_name(f".{self._path.name}.next")
            beside.unlink(missing_ok=True)
            try:
                with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(next)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(self._path)
            finally:
                beside.unlink(missing_ok=True)
            _sync(self._path.parent)
            return True

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        import fcntl  # not on Windows: pass your own storage there

        with open(self._path.with_name(f"{self._path.name}.lock"), "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclasses.dataclass(frozen=True)
class Loss:
    """A privacy loss."""

    epsilon: float
    delta: float


@dataclasses.dataclass(frozen=True)
class Budget:
    """What one content (one version of a slot's vector) costs, what this device has spent, and the most that it may spend, in
    that unit over all campaigns."""

    unit: str
    report_length: int
    loss: Loss
    spent: Loss
    limit: Loss


@dataclasses.dataclass
class Sent:
    """What became of the reports that waited."""

    sent: int = 0
    refused: int = 0
    waiting: int = 0


class Client:
    """A device in one campaign. Make it with `Client.open`."""

    def __init__(self, inner: DeviceClient, storage: Storage, beta: float, token: str | None = None) -> None:
        self._inner = inner
        self._storage = storage
        self._beta = beta
        self._token = token

    @classmethod
    def open(
        cls,
        campaign: str | bytes,
        *,
        policy: Mapping[str, float],
        storage: Storage | str | os.PathLike[str],
        signer: str | bytes | None = None,
        digest: str | bytes | None = None,
        file: bytes | str | os.PathLike[str] | None = None,
        token: str | None = None,
    ) -> Client:
        """Checks the campaign, and loads the stored state or makes a new device.

        `signer`: the public key that must have signed; `digest`: the campaign's name, which is stronger. At least one
        of the two is needed.
        `file`: the public file that the campaign names, if it names one (bins, components or a book), or its path.
        `policy`: the most epsilon for each unit over all campaigns and the device's whole life, and the most `delta` for
        each unit. A unit that is left out gets 0; delta is 1e-5 unless given.
        `token`: sent as `authorization: Bearer ..`, where the campaign needs one. A token of one device alone would
        name that device.
        """
        unknown = set(policy) - {"attribute", "l1", "l2", "record", "delta"}
        if unknown:
            raise ValueError(f"unknown unit in policy: {', '.join(sorted(unknown))}")
        limits = [float(policy.get(unit, 0)) for unit in ("attribute", "l1", "l2", "record")]
        limits.append(float(policy.get("delta", 1e-5)))
        kept: Storage = FileStorage(storage) if isinstance(storage, (str, os.PathLike)) else storage
        text = campaign.decode() if isinstance(campaign, bytes) else campaign
        public = Path(file).read_bytes() if isinstance(file, (str, os.PathLike)) else file
        inner = DeviceClient(text, public, _key(signer), _key(digest), limits, kept.read())
        beta = float(json.loads(text)["parameters"]["beta"])  # the noise was derived for this
        return cls(inner, kept, beta, _bearer(token))

    @property
    def statement(self) -> str:
        """What the person should read: first a line of this client's own, then the campaign's words as signed."""
        unit, _, (epsilon, delta, *_) = self._inner.numbers
        return f"{_computed(unit, epsilon, delta, self._beta)}\n{self._inner.statement}"

    @property
    def collector(self) -> str:
        """Where reports go."""
        return self._inner.collector

    @property
    def digest(self) -> str:
        """The campaign's name."""
        return bytes(self._inner.digest).hex()

    @property
    def generation(self) -> int:
        """How often the state has changed: keep it elsewhere to notice a restored backup."""
        return self._inner.generation

    @property
    def budget(self) -> Budget:
        """What one content costs, what is spent, and what is allowed; by what is stored now."""
        self._refresh()
        unit, length, (a, b, c, d, e, f) = self._inner.numbers
        return Budget(unit, length, Loss(a, b), Loss(c, d), Loss(e, f))

    @property
    def pending(self) -> list[bytes]:
        """Reports that are charged and wait to be sent; by what is stored now."""
        self._refresh()
        return [bytes(report) for report in self._inner.pending()]

    def report(self, slot: str, vector: Any, *, now: int | None = None) -> bytes | None:
        """Charges and stores, then gives the report; None when there is nothing to send.

        `vector`: numbers, an array of float32, float64, int16 or uint8, or one row of a scipy sparse matrix.
        """
        values, index, dim = _numbers(vector)
        moment = int(time.time()) if now is None else now
        return self._change(lambda: self._inner.prepare(slot, values, index, dim, moment))

    def send(
        self, post: Callable[[str, bytes, dict[str, str]], tuple[int, bytes]] | None = None, *, token: str | None = None
    ) -> Sent:
        """Sends the waiting reports, each by itself, in random order. What the collector's receipt says it has, or will
        never take, is settled; after any other answer the report waits on.

        `post(url, body, headers)` gives status and body of the answer, and follows no redirect.
        `token`: instead of the one given to `open`.
        """
        url = f"{_checked(self.collector).rstrip('/')}/v1/campaigns/{self.digest}/reports"
        headers = {"content-type": "application/octet-stream"}
        given = _bearer(token) or self._token
        if given is not None:
            headers["authorization"] = f"Bearer {given}"
        waiting, outcome = self.pending, Sent()
        secrets.SystemRandom().shuffle(waiting)
        for report in waiting:
            try:
                status, answer = (post or _post)(url, report, headers)
            except (OSError, http.client.HTTPException, UnicodeError):
                outcome.waiting += 1  # not sent, or the answer was lost: the same bytes again later
                continue
            fate = _fate(answer) if status == 200 else "waiting"
            setattr(outcome, fate, getattr(outcome, fate) + 1)
            if fate != "waiting":
                self._change(lambda report=report: self._inner.settle(report))  # type: ignore[misc]
        return outcome

    def _refresh(self) -> None:
        self._inner.reload(self._storage.read())

    def _change(self, prepare: Callable[[], None]) -> bytes | None:
        for _ in range(_TRIES):
            previous = self._storage.read()
            self._inner.reload(previous)
            prepare()
            stored = False
            try:
                stored = self._storage.write(bytes(self._inner.state()), previous)
            finally:
                if not stored:
                    self._inner.abandon()
            if stored:
                report = self._inner.commit()
                return None if report is None else bytes(report)
        raise RuntimeError("the state could not be stored: another client writes all the time")


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a redirect of a report would become a request for a page."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.build_opener(_Stay).open(request, timeout=30) as answer:
            return int(answer.status), answer.read(_LONGEST_RECEIPT)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code, b""


def _fate(answer: bytes) -> str:
    """What a receipt says of the one report that was sent. Only a receipt settles it: whatever else answered need not
    be the collector."""
    try:
        receipt = json.loads(answer)
    except (ValueError, RecursionError):
        return "waiting"
    if not isinstance(receipt, dict):
        return "waiting"
    accepted, duplicate, rejected = (receipt.get(name) for name in ("accepted", "duplicate", "rejected"))
    if type(accepted) is not int or type(duplicate) is not int or not isinstance(rejected, list):
        return "waiting"
    if accepted + duplicate == 1 and not rejected:
        return "sent"
    if accepted != 0 or duplicate != 0 or len(rejected) != 1 or not isinstance(rejected[0], dict):
        return "waiting"
    report, reason = rejected[0].get("report"), rejected[0].get("reason")
    # A period that is unknown has not begun by the collector's clock: it will.
    refused = type(report) is int and report == 0 and isinstance(reason, str) and reason != "period-unknown"
    return "refused" if refused else "waiting"


def _computed(unit: str, epsilon: float, delta: float, beta: float) -> str:
    """What the client has computed, in words. The campaign's are the signer's: a device cannot derive them again."""
    most = _six(beta, up=False)
    change = {
        "attribute": f"one attribute that changes by at most {most}",
        "l1": f"changes that add up to at most {most}",
        "l2": f"a change of at most {most} in Euclidean distance",
        "record": "the whole vector",
    }[unit]
    loss = f"epsilon {_six(epsilon, up=True)}" + (f" and delta {_six(delta, up=True)}" if delta > 0 else "")
    return f"Computed on this device: one report costs {loss} for {change}."


def _six(number: float, up: bool) -> str:
    """A positive number in at most six digits: a loss is rounded up, what it covers down. As in JavaScript. A part in 10^8
    is the client's own rounding."""
    digits, power = f"{number:.5e}".split("e")
    near = float(f"{digits}e{power}")
    if abs(near - number) > 1e-8 * number and (near < number if up else near > number):
        digits = str((round(float(digits) * 1e5) + (1 if up else -1)) / 1e5)
    rounded = float(f"{digits}e{power}")
    if 1e-4 <= rounded < 1e6:
        return f"{rounded:.6g}"
    digits, power = f"{rounded:.5e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def _checked(address: str) -> str:
    """An address that others on the way cannot read, or one of this machine: what a campaign may name."""
    if _ADDRESS.match(address) and not re.search(r'[^!-~]|[?#"\\@]', address):
        return address
    raise ValueError("the collector is neither at https: nor on this machine: nothing is sent")


def _bearer(token: str | None) -> str | None:
    """A token as a header takes it."""
    if token is not None and not re.fullmatch("[!-~]+", token):
        raise ValueError("a token is printable ASCII without blanks")
    return token


def _key(given: str | bytes | None) -> bytes | None:
    if given is None or (isinstance(given, bytes) and len(given) == 32):
        return given
    text = given.decode("ascii", "replace") if isinstance(given, bytes) else given
    digits = re.search(r"(?:^|\s)([0-9a-f]{64})$", text.strip())
    if digits is None:
        raise ValueError("a key or digest is 32 bytes or 64 lower-case hexadecimal digits")
    return bytes.fromhex(digits.group(1))


def _numbers(vector: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None, int]:
    if hasattr(vector, "tocsr"):
        row = vector.tocsr()
        if row.ndim == 2 and row.shape[0] != 1:
            raise ValueError("one row is reported at a time")
        row = row.copy() if row is vector else row  # the caller's stays as it is
        row.sum_duplicates()
        return _typed(row.data), _attributes(row.indices), int(row.shape[-1])
    if isinstance(vector, tuple):
        index, values, dim = vector
        return _typed(values), _attributes(index), int(dim)
    values = _typed(vector)
    return values, None, len(values)


def _attributes(index: Any) -> np.ndarray[Any, Any]:
    """Attributes in 32 bits; one that does not fit becomes the last of them, which the client refuses."""
    array = np.asarray(index)
    if array.size and array.dtype.kind not in "iu":
        raise ValueError("attributes are whole numbers, counted from 0")
    last = 2**32 - 1
    wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)
    return np.ascontiguousarray(np.where((wide < 0) | (wide > last), last, wide), dtype=np.uint32)


def _typed(values: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError("a vector has real numbers")
    kinds = (np.float32, np.float64, np.int16, np.uint8)
    array = array if array.dtype in kinds else array.astype(np.float64)
    if array.ndim != 1:
        raise ValueError("a vector has one dimension")
    return np.ascontiguousarray(array)
