"""The device client: the bytes of packages/vectors.json, refusals, storage, sending."""

import hashlib
import http.client
import http.server
import json
import multiprocessing
import pathlib
import re
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from scumble import ScumbleError, device

VECTORS = json.loads((pathlib.Path(__file__).parents[2] / "packages" / "vectors.json").read_text())
KINDS = {"f32": np.float32, "f64": np.float64, "i16": np.int16, "u8": np.uint8}
START = 1_800_000_000
POLICY = dict(zip(("attribute", "l1", "l2", "record", "delta"), VECTORS["policy"]))
CAMPAIGN = next(text for text in VECTORS["campaigns"] if '"dp-signoporp-ceil"' in text and '"dim": 40' in text)


class Kept(device.MemoryStorage):
    def __init__(self, stored):
        self._stored = stored


def test_every_vector_gives_its_report_and_its_next_state():
    for vector in VECTORS["vectors"]:
        storage = Kept(bytes.fromhex(vector["state"]))
        campaign = VECTORS["campaigns"][vector["campaign"]]
        file = VECTORS["files"][vector["campaign"]]
        public = bytes.fromhex(file) if file else None
        client = device.Client.open(campaign, file=public, signer=VECTORS["signer"], policy=POLICY, storage=storage)
        values = np.array(vector["values"], dtype=KINDS[vector["kind"]])
        given = (vector["index"], values, vector["dim"]) if "index" in vector else values
        assert client.report(vector["slot"], given, now=vector["now"]).hex() == vector["report"]
        assert storage.read().hex() == vector["next"]


def client(storage=None, policy=None, token=None):
    storage = device.MemoryStorage() if storage is None else storage
    policy = {"attribute": 6} if policy is None else policy
    return device.Client.open(CAMPAIGN, signer=VECTORS["signer"], policy=policy, storage=storage, token=token)


def vector(seed):
    return ((np.arange(40) * 37 + seed * 11) % 64 / 64).astype(np.float32)


def test_refusals_have_their_codes():
    def refuses(code, call):
        with pytest.raises(device.Refused) as caught:
            call()
        assert caught.value.code == code and isinstance(caught.value, ScumbleError)

    names = {name: code for code, name, _ in device.refusals()}
    refuses(names["WrongSigner"], lambda: device.Client.open(CAMPAIGN, signer=bytes(32), policy={}, storage=Kept(None)))
    refuses(names["AbovePolicy"], lambda: client(policy={"record": 9}))
    refuses(names["DamagedState"], lambda: client(Kept(b"x" * 100)))
    one = client()
    refuses(names["NotFinite"], lambda: one.report("a", np.full(40, np.nan), now=START))
    refuses(names["WrongDimension"], lambda: one.report("a", [0.0] * 41, now=START))
    for index in (np.array([-1]), np.array([2**32 + 3]), np.array([2**63], dtype=np.uint64), [3, 3], [40]):
        refuses(names["WrongIndex"], lambda i=index: one.report("a", (i, [1.0] * len(i), 40), now=START))
    refuses(names["WrongDimension"], lambda: one.report("a", ([1, 2], [1.0], 40), now=START))
    for wrong in (([1.7], [1.0], 40), ("a", [1.0], 40), np.ones(40) * 1j):
        with pytest.raises(ValueError):
            one.report("a", wrong, now=START)
    refuses(names["ClosedPeriod"], lambda: one.report("a", vector(1), now=START - 1))
    for seed in range(3):
        one.report("a", vector(seed), now=START)
    refuses(names["BudgetSpent"], lambda: one.report("a", vector(9), now=START))
    assert one.budget.spent == device.Loss(6.0, 0.0)
    with pytest.raises(ValueError):
        client(policy={"row": 1})
    with pytest.raises(ValueError):
        device.Client.open(CAMPAIGN, signer="abc", policy={}, storage=Kept(None))


def test_a_public_file_comes_from_a_path_and_is_the_one_that_is_named(tmp_path):
    text, file = next((text, file) for text, file in zip(VECTORS["campaigns"], VECTORS["files"]) if file)
    (tmp_path / "file").write_bytes(bytes.fromhex(file))

    def open_with(file):
        return device.Client.open(
            text, file=file, signer=VECTORS["signer"], policy=POLICY, storage=device.MemoryStorage()
        )

    assert open_with(tmp_path / "file").statement.split("\n")[1] == "A campaign for tests."
    assert open_with(str(tmp_path / "file")).statement == open_with(bytes.fromhex(file)).statement
    for wrong, code in ((None, 26), (b"", 27), (bytes.fromhex(file)[:-1], 27)):
        with pytest.raises(device.Refused) as caught:
            open_with(wrong)
        assert caught.value.code == code
    with pytest.raises(FileNotFoundError):
        open_with(tmp_path / "missing")


def test_sparse_rows_are_the_same_content():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    one = client()
    dense = np.where(np.arange(40) % 7 == 0, 0.5, 0.0)
    report = one.report("a", dense, now=START)
    assert one.report("a", scipy_sparse.csr_matrix(dense), now=START) == report
    assert one.budget.spent.epsilon == 2


def receipt(**fields):
    return json.dumps({"accepted": 0, "duplicate": 0, "rejected": [], **fields}).encode()


def rejected(reason, report=0):
    return receipt(rejected=[{"report": report, "reason": reason}])


def test_only_a_receipt_settles_a_report():
    page = b"<html>Log in to the network</html>"
    cases = [("sent", 200, receipt(accepted=1)), ("sent", 200, receipt(duplicate=1))]
    cases += [
        ("refused", 200, rejected(reason)) for reason in ("format", "campaign", "period-closed", "row", "conflict")
    ]
    wrong = [rejected("period-unknown"), rejected(7), rejected("row", 1), receipt(), receipt(accepted=2)]
    wrong += [receipt(accepted=True), receipt(rejected=None), receipt(rejected=[None]), page, b"", b"null", b"[]"]
    wrong += [receipt(accepted=1, rejected=[{"report": 0, "reason": "row"}]), b"\xff", b"[" * 100_000]
    cases += [("waiting", 200, answer) for answer in wrong]
    cases += [("waiting", status, receipt(accepted=1)) for status in (204, 302, 403, 500)]
    cases += [("waiting", 400, b'{"error":"no"}'), ("waiting", 403, page)]
    for fate, status, answer in cases:
        one = client()
        one.report("a", vector(1), now=START)
        said = (status, answer[:100])
        assert one.send(lambda *_, status=status, answer=answer: (status, answer)) == device.Sent(**{fate: 1}), said
        assert len(one.pending) == (fate == "waiting"), said


def other(change):
    """The campaign with other words, pinned by its digest and not signed."""
    text = re.sub(r',\n  "signature": \{[^}]*\}\n\}\n$', "", change(CAMPAIGN)) + "\n}\n"
    return device.Client.open(
        text,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        policy={"attribute": 6},
        storage=device.MemoryStorage(),
    )


def test_the_statement_begins_with_what_the_device_has_computed_whatever_the_campaign_says():
    def first(*words):
        fits = (text for text in VECTORS["campaigns"] if all(word in text for word in words))
        text = next(text for text in fits if "sha256" not in text)
        one = device.Client.open(text, signer=VECTORS["signer"], policy=POLICY, storage=device.MemoryStorage())
        return one.statement.split("\n")[0]

    gaussian = '"mechanism": "dp-oporp"'
    begins = "Computed on this device: one report costs epsilon 2"
    attribute = f"{begins} for one attribute that changes by at most 1."
    assert client().statement.split("\n")[0] == attribute
    assert first('"unit": "l1"', '"pure"') == f"{begins} for changes that add up to at most 1."
    assert first('"unit": "l1"', gaussian) == f"{begins} and delta 1e-6 for changes that add up to at most 1."
    l2 = f"{begins} and delta 1e-6 for a change of at most 1 in Euclidean distance."
    assert first('"unit": "l2"', gaussian) == l2
    assert first('"unit": "record"', '"pure"') == f"{begins} for the whole vector."
    # Who signs may soften the words, not the numbers.
    softened = other(lambda text: re.sub(r'"notice": \[[^\]]*\]', '"notice": ["Nothing at all is revealed."]', text))
    assert softened.statement == f"{attribute}\nA campaign for tests.\nNothing at all is revealed."
    with pytest.raises(device.Refused) as caught:
        other(lambda text: text.replace('"beta": 1.0', '"beta": 2.0'))
    assert caught.value.code == 5


def test_losses_are_rounded_up_and_what_they_cover_down_to_six_digits():
    cases = [
        (2, "2", "2"),
        (0.1, "0.1", "0.1"),
        (0.10000000009313226, "0.1", "0.1"),
        (1.9999631081342089, "1.99997", "1.99996"),
        (0.9999999, "1", "0.99999"),
        (1.0000001, "1.00001", "1"),
        (123456.5, "123457", "123456"),
        (1e6, "1e6", "1e6"),
        (999999.5, "1e6", "999990"),
        (0.0001, "0.0001", "0.0001"),
        (1.00000000000002e-6, "1e-6", "1e-6"),
        (2**-32, "2.32831e-10", "2.3283e-10"),
        (1234567, "1.23457e6", "1.23456e6"),
        (1e-5, "1e-5", "1e-5"),
        (1e21, "1e21", "1e21"),
    ]
    for number, up, down in cases:
        assert (device._six(number, up=True), device._six(number, up=False)) == (up, down)


def at(address):
    one = other(lambda text: text.replace('"http://127.0.0.1:8080"', json.dumps(address)))
    one.report("a", vector(1), now=START)
    return one


def test_what_answers_is_not_always_a_collector():
    seen = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def answer(self):
            seen.append((self.command, self.path))
            body = receipt(accepted=1)
            status = int(self.path.split("/")[1]) if self.command == "POST" else 200
            self.send_response(status)
            self.send_header("location", "/elsewhere")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for status in (301, 302, 303, 307, 308):
            one = at(f"http://127.0.0.1:{server.server_port}/{status}")
            assert one.send() == device.Sent(waiting=1) and len(one.pending) == 1
        assert {command for command, _ in seen} == {"POST"} and len(seen) == 5
        assert at(f"http://127.0.0.1:{server.server_port}/200").send() == device.Sent(sent=1)
    finally:
        server.shutdown()
        server.server_close()

    def no_http(listening):
        connection, _ = listening.accept()
        connection.recv(1 << 16)
        connection.sendall(b"220 mail.example.org ESMTP\r\n")
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=no_http, args=(listening,), daemon=True).start()
        assert at(f"http://127.0.0.1:{listening.getsockname()[1]}").send() == device.Sent(waiting=1)
    assert at("http://localhost:port").send() == device.Sent(waiting=1)
    assert at(f"https://{'a' * 70}.example.org").send() == device.Sent(waiting=1)

    def cut(*_):
        raise http.client.IncompleteRead(b"")

    assert at("http://localhost").send(cut) == device.Sent(waiting=1)


def test_a_token_goes_into_the_header():
    asked = []

    def post(url, body, headers):
        asked.append(headers.get("authorization"))
        return 200, receipt()

    for opened, sent in ((None, None), ("abc", None), ("abc", "def"), (None, "def")):
        one = client(token=opened)
        one.report("a", vector(1), now=START)
        one.send(post, token=sent)
    assert asked == [None, "Bearer abc", "Bearer def", "Bearer def"]
    for token in ("", "a b", "a\r\nx: y"):
        with pytest.raises(ValueError, match="token"):
            client(token=token)
        with pytest.raises(ValueError, match="token"):
            client().send(post, token=token)


def test_nothing_is_sent_where_others_can_read_along():
    asked = []

    def post(url, body, headers):
        asked.append(url)
        return 200, receipt(accepted=1)

    fine = [
        "https://reports.example.org",
        "https://a/b/",
        "http://127.0.0.1:1",
        "http://localhost",
        "http://[::1]:80/x",
    ]
    for address in fine:
        assert at(address).send(post) == device.Sent(sent=1)
    wrong = ["http://reports.example.org", "http://127.0.0.1.example.org", "http://localhost@example.org", "https://"]
    wrong += ["https:///a", "http://localhost:80@example.org", "https://a?b", "https://a#b", "https://a b", "ftp://a"]
    for address in [*wrong, "file:///etc/passwd", "", "/a", "http://localhost\n"]:
        with pytest.raises(ValueError, match="nothing is sent"):
            at(address).send(post)
    assert len(asked) == len(fine)


def test_reports_wait_until_they_are_taken(tmp_path):
    storage = tmp_path / "device.state"
    report = client(storage).report("a", vector(1), now=START)
    again = client(storage)
    assert again.pending == [report]
    seen = []

    def post(status):
        def send(url, body, headers):
            seen.append((url, body))
            if status is None:
                raise OSError("offline")
            return status, receipt(accepted=1)

        return send

    assert again.send(post(None)) == device.Sent(waiting=1)
    assert again.send(post(503)) == device.Sent(waiting=1)
    assert again.send(post(200)) == device.Sent(sent=1)
    assert again.send(post(200)) == device.Sent()
    assert len(set(seen)) == 1 and seen[0][0].endswith(f"/v1/campaigns/{again.digest}/reports")
    assert again.report("a", vector(1), now=START) is None
    assert storage.stat().st_mode & 0o077 == 0


def test_what_others_have_done_with_the_storage_is_seen(tmp_path):
    one, two = client(tmp_path / "state"), client(tmp_path / "state")
    assert one.budget.spent.epsilon == 0
    report = one.report("a", vector(1), now=START)
    assert two.budget.spent.epsilon == 2 and two.pending == [report]
    one.report("b", vector(2), now=START)
    assert two.send(lambda *_: (200, receipt(accepted=1))) == device.Sent(sent=2)
    assert one.send() == device.Sent()


def spend(arguments):
    path, seed = arguments
    try:
        return client(path).report("s", vector(seed), now=START) is not None
    except device.Refused:
        return False


def test_processes_that_share_a_state_never_spend_more_than_there_is(tmp_path):
    path = tmp_path / "device.state"
    client(path).report("s", vector(0), now=START)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        outcomes = pool.map(spend, [(path, seed) for seed in range(1, 7)])
    assert sum(outcomes) == 2
    assert client(path).budget.spent.epsilon == 6


CRASHING = """
import os, sys, signal
from scumble.device import FileStorage
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
FileStorage(sys.argv[1]).write(b"the key", None)
"""


def test_a_crash_leaves_at_most_one_copy_of_the_state_and_the_next_change_removes_it(tmp_path):
    folder = tmp_path / "kept"
    folder.mkdir()
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", CRASHING, folder / "state"], check=False).returncode == -9
    assert sorted(path.name for path in folder.iterdir()) == [".state.next", "state.lock"]
    assert (folder / ".state.next").stat().st_mode & 0o077 == 0
    storage = device.FileStorage(folder / "state")
    assert storage.write(b"one", None)
    assert sorted(path.name for path in folder.iterdir()) == ["state", "state.lock"]
    # What somebody else has put there is neither written to nor kept.
    (tmp_path / "mine").write_bytes(b"mine")
    (folder / ".state.next").symlink_to(tmp_path / "mine")
    assert storage.write(b"two", b"one") and storage.read() == b"two"
    (folder / ".state.next").hardlink_to(tmp_path / "mine")
    assert storage.write(b"three", b"two") and storage.read() == b"three"
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert (folder / "state").stat().st_mode & 0o077 == 0 and not (folder / "state").is_symlink()


def test_a_storage_that_fails_shows_nothing():
    class Full(device.MemoryStorage):
        def write(self, next, previous):
            raise OSError("disk full")

    one = client(Full())
    with pytest.raises(OSError, match="disk full"):
        one.report("a", vector(1), now=START)
    assert one.pending == [] and one.budget.spent.epsilon == 0
