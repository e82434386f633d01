"""Mechanisms and releases as Python sees them."""

from __future__ import annotations

import fractions
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import scumble
from conftest import SEED, mechanism

ALL = [m["id"] for m in scumble.mechanisms() if m["id"] != "privbook"]  # which needs a public book


def any_mechanism(id: str) -> scumble.Mechanism:
    """A valid mechanism for any id."""
    notion = next(m["notion"] for m in scumble.mechanisms() if m["id"] == id)
    delta = {"delta": 1e-6} if notion == "approximate" or id == "idp-signrp-g" or id == "idp-signoporp-g" else {}
    consent = {"i_understand_this_is_not_dp": True} if notion == "individual" else {}
    if id == "dp-oporp-zones":
        delta = {"thresholds": [-0.5, 0.5]}
    return mechanism(id, **delta, **consent)


@pytest.mark.parametrize("id", ALL)
def test_every_mechanism_releases(id, rng):
    m = any_mechanism(id)
    r = m.release(rng.random((20, 64)))
    assert len(r) == 20 and r.values.shape == (20, m.k) and np.isfinite(r.values).all()
    assert r.certificate["mechanism"]["id"] == id == m.id
    assert scumble.check_certificate(r.certificate_json) == m == r.mechanism
    if r.encoding == "b1":
        signs = np.where(np.unpackbits(r.bits, axis=1, count=m.k) == 1, 1, -1)
        assert np.array_equal(signs, r.values)
    else:
        with pytest.raises(TypeError, match="not bits"):
            r.bits


def test_same_projection_other_noise(rng):
    m, x = mechanism(), rng.random((50, 64))
    a, b = m.release(x).values, m.release(x).values
    assert not np.array_equal(a, b)
    assert abs((a - m.project(x)).mean()) < 0.1  # both are the projection with noise around it
    assert abs((a - m.project(x)).std() / m.noise_std - 1) < 0.2


def test_parameters_are_checked_by_name():
    for changes, words in (
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"range": (1.0, 0.0)}, "range"),
        ({"range": 3}, "range"),
        ({"k": 65}, "k"),
        ({"k": None}, "k"),
        ({"seed": b"short"}, "seed"),
        ({"beta": -1.0}, "beta"),
        ({"dim": -4}, "dim"),
    ):
        with pytest.raises(scumble.ParameterError, match=words):
            mechanism(**changes)
    with pytest.raises(scumble.ParameterError, match="unknown mechanism"):
        mechanism("dp-magic")
    with pytest.raises(TypeError):
        mechanism(dim=3.5)
    with pytest.raises(TypeError):
        mechanism(no_such_argument=1)
    assert issubclass(scumble.ParameterError, ValueError)


def test_refusals_have_their_own_name():
    with pytest.raises(scumble.NotPrivate, match="Instead"):
        mechanism(unit="l1", beta=1.0)
    with pytest.raises(scumble.NotPrivate, match="dp"):
        mechanism("idp-signrp-rr")
    assert issubclass(scumble.NotPrivate, scumble.ParameterError)


def test_mechanisms_travel():
    m = mechanism()
    again = pickle.loads(pickle.dumps(m))
    assert again == m and hash(again) == hash(m) and again.seed == SEED
    assert np.array_equal(again.project(np.eye(64)), m.project(np.eye(64)))
    assert mechanism(seed=None).seed != mechanism(seed=None).seed
    assert mechanism(seed=SEED.hex()) == m
    error = pickle.loads(pickle.dumps(scumble.DataError("row 3: x", 3, 4)))
    assert (error.row, error.column, str(error)) == (3, 4, "row 3: x")


def test_ids_and_labels(rng):
    m, x = mechanism(), rng.random((3, 64))
    r = m.release(x, ids=["a", "b", "é"], labels=[1.5, 2.5, 3.5])
    assert r.ids.tolist() == ["a", "b", "é"] and r.labels.tolist() == [1.5, 2.5, 3.5]
    assert m.release(x, ids=np.array([3, 1, 2], "u2")).ids.tolist() == [3, 1, 2]
    assert m.release(x).ids is None
    with pytest.raises(scumble.DataError, match="row 2: its id is that of row 0"):
        m.release(x, ids=[1, 2, 1])
    with pytest.raises(scumble.DataError, match="3 rows"):
        m.release(x, ids=[1, 2])
    with pytest.raises(scumble.DataError, match="row 1"):
        m.release(x, ids=np.array(["a", None, "b"], dtype=object))
    with pytest.raises(scumble.DataError, match="ids"):
        m.release(x, ids=[0.5, 1.5, 2.5])


def test_encodings(rng):
    m, x = mechanism(), rng.random((10, 64))
    for name, bytes in (("f32", 128), ("i16", 64), ("b8", 32), ("b4", 16), ("b1", 4)):
        r = m.release(x, encoding=name)
        assert (r.encoding, r.packed.shape) == (name, (10, bytes))
    with pytest.raises(scumble.ParameterError, match="encoding"):
        m.release(x, encoding="f64")


ENDLESS = {
    "release": """
m = scumble.Mechanism("dp-rp-g-opt-b", dim=2048, k=2048, epsilon=1.0, delta=1e-6, range=(0, 1))
x = np.lib.stride_tricks.as_strided(np.zeros(2048, "f4"), (10_000_000, 2048), (0, 4))  # hours of work, no memory
work = lambda: m.release(x, encoding="b1")
""",
    "search": """
m = scumble.Mechanism("dp-oporp-staircase", dim=64, k=64, epsilon=1.0, range=(0, 1))
x = np.random.default_rng(0).random((400_000, 64), dtype="f4")
r = m.release(x)
work = lambda: scumble.search(r, x)
""",
    "search by bits": """
m = scumble.Mechanism("dp-signoporp-ceil", dim=64, k=64, epsilon=1.0, range=(0, 1))
r = m.release(np.random.default_rng(0).random((1_000_000, 64), dtype="f4"))
work = lambda: scumble.search(r, r)
""",
    "learn components": """
x = np.random.default_rng(0).random((200_000, 128), dtype="f4")
work = lambda: scumble.learn_components(x, 96)
""",
    "plan": """
x = np.random.default_rng(0).random((60_000, 512), dtype="f4")
work = lambda: scumble.plan(dim=512, epsilon=1.0, range=(0, 1), public_sample=x)
""",
    "evaluate recall": """
x = np.random.default_rng(0).random((200_000, 64), dtype="f4")
work = lambda: scumble.evaluate(x, x, mechanisms="dp-oporp-staircase", epsilons=[1.0] * 50, k=64, range=(0, 1))
""",
    "evaluate accuracy": """
rng = np.random.default_rng(0)
x, y = rng.random((20_000, 256), dtype="f4"), rng.integers(0, 20, 20_000)
work = lambda: scumble.evaluate(x, x, labels=(y, y), mechanisms="dp-oporp-staircase", epsilons=[1.0] * 50, k=256, range=(0, 1))
""",
}


def endless(what, before=""):
    """A process that works until it is interrupted, however fast the machine is."""
    program = f"""
import numpy as np, scumble
{ENDLESS[what]}
try:
    print("ready", flush=True)
    {before or "pass"}
    while True:
        work()
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("what", ENDLESS)
def test_ctrl_c_stops(what):
    child = endless(what)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(1.0)  # it stops whenever the signal comes; now it is most likely deep in its work
        os.kill(child.pid, signal.SIGINT)
        assert child.communicate(timeout=60) == ("stopped\n", "")
    finally:
        child.kill()


def test_the_lock_is_released():
    """Another Python thread runs while a release works, and interrupts it after a hundred turns. It takes hours."""
    # Python itself takes the lock from nobody here: the thread has its turns only when the release gives the lock away.
    child = endless("release", """
    import _thread, sys, threading, time
    go = threading.Event()
    def turns():
        go.wait()
        for _ in range(100):
            time.sleep(0.001)
        _thread.interrupt_main()
    sys.setswitchinterval(1000)
    threading.Thread(target=turns).start()
    go.set()
""")
    try:
        assert child.communicate(timeout=600) == ("ready\nstopped\n", "")  # the limit only ends a release that hangs
    finally:
        child.kill()


def test_repr_holds_no_rows(rng):
    m = mechanism()
    assert repr(m.release(rng.random((2, 64)))) == "Release(2 rows, dp-oporp-staircase, k=32, f32)"
    assert repr(m).startswith("Mechanism('dp-oporp-staircase', dim=64, k=32, epsilon=5")
    assert any("beta" in sentence for sentence in mechanism(range=(0.0, 2.0)).warnings)


def test_no_rows_cost_nothing(tmp_path):
    account = scumble.Account(tmp_path / "ledger", "customers", budget=12.0)
    for nothing in (np.zeros((0, 64)), []):
        for given in ({}, {"account": account}):
            with pytest.raises(scumble.DataError, match="there are no rows"):
                mechanism().release(nothing, **given)
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize(
    "name, value",
    [
        ("epsilon", 10**400),
        ("range", (0, 10**400)),
        ("beta", fractions.Fraction(10**400)),
        ("dim", 2**70),
        ("k", 2**70),
        ("symbols", 1000),
        ("lattice_steps", 2**40),
        ("grid_exponent", -(2**40)),
        ("repeats", 2**63),
    ],
)
def test_numbers_that_are_too_large_are_named(name, value):
    with pytest.raises(scumble.ParameterError, match=f"^{name} is too large"):
        mechanism(**{name: value})
