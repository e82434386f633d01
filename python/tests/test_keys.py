"""Keys: sticky noise and signatures, in the files and the words of the command line."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest

import scumble
from conftest import mechanism, run
from scumble.arrow import certify, new_key, release_batches


@pytest.fixture
def sticky(tmp_path):
    scumble.keygen(tmp_path / "sticky.key", sticky=True)
    return tmp_path / "sticky.key"


@pytest.fixture
def signing(tmp_path):
    scumble.keygen(tmp_path / "signing.key")
    return tmp_path / "signing.key"


def test_rows_that_have_not_changed_give_the_same_bytes(rng, sticky):
    m, x, ids = mechanism(seed=scumble.sticky_seed(sticky)), rng.random((200, 64), dtype=np.float32), np.arange(200)
    first = m.release(x, ids=ids, sticky_key=sticky)
    assert first.certificate["sticky"] is True and "sticky" not in m.release(x).certificate
    order = rng.permutation(200)
    changed = x[order].copy()
    changed[order < 3] += 0.25
    again = m.release(changed, ids=ids[order].astype(str), sticky_key=sticky.read_bytes())  # an id counts as its text
    equal = (again.values == first.values[order]).all(axis=1)
    assert np.array_equal(equal, order >= 3)
    assert (again.values[~equal] != first.values[order][~equal]).mean() > 0.9  # all of a changed row's noise is new
    assert not (m.release(x, ids=ids, sticky_key=new_key()).values == first.values).all(axis=1).any()
    with pytest.raises(scumble.NotPrivate, match="needs ids"):
        m.release(x, sticky_key=sticky)


def test_an_account_is_charged_for_what_is_new(rng, sticky, tmp_path):
    m, x = mechanism(epsilon=2.0), rng.random((50, 64))
    account = scumble.Account(tmp_path / "ledger", "rows", budget=5.0)
    spent = []
    for table in (x, x, x[:20], np.vstack([x[:1] + 0.1, x[1:]]), x, rng.random((50, 64))):
        try:
            r = m.release(table, ids=range(len(table)), sticky_key=sticky, account=account)
        except scumble.OverBudget:
            spent.append("refused")
        else:
            spent.append(account.statement["spent"])
            assert account.statement["entries"][-1]["certificate"] == r.certificate["digest"]
    assert spent == [2.0, 2.0, 2.0, 4.0, 4.0, "refused"]
    assert all(entry["sticky"] for entry in account.statement["entries"])


def test_the_command_line_gives_the_same_bytes(cli, rng, sticky, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    x = rng.random((60, 64), dtype=np.float32)
    table = pa.table({"id": np.arange(60), "vector": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 64)})
    pq.write_table(table, tmp_path / "in.parquet")
    run(cli, "release", tmp_path / "in.parquet", "--out", tmp_path / "out.parquet", "--mechanism", "dp-oporp-staircase",
        "--epsilon", 5, "--beta", 1, "--range", "0,1", "-k", 32, "--id", "id", "--sticky-key", sticky)
    theirs = scumble.load(tmp_path / "out.parquet")
    m = mechanism(seed=scumble.sticky_seed(sticky))
    ours = m.release(x, ids=np.arange(60), sticky_key=sticky)
    assert theirs.mechanism == m and np.array_equal(theirs.packed, ours.packed)
    assert theirs.certificate["digest"] == ours.certificate["digest"]
    batches = release_batches(table.to_batches(), mechanism=m, key=sticky.read_bytes())
    folder = tmp_path / "batches"
    folder.mkdir()
    pq.write_table(pa.Table.from_batches(batches), folder / "0.parquet")
    certify(folder, mechanism=m, sticky=True)
    assert np.array_equal(scumble.load(folder).packed, ours.packed)
    assert scumble.load(folder).certificate["content"]["sketch"] == ours.certificate["content"]["sketch"]


@pytest.mark.parametrize("ending", ["parquet", "npy"])
def test_signatures(cli, rng, signing, tmp_path, ending):
    public, path = f"{signing}.pub", tmp_path / f"release.{ending}"
    mechanism().release(rng.random((9, 64)), sign=signing).save(path)  # rows without ids get their numbers
    certificate = scumble.verify(path, key=public)
    assert certificate["signature"]["algorithm"] == "ed25519"
    assert scumble.load(path, key=public).certificate == certificate
    run(cli, "verify", path, "--key", public)
    scumble.keygen(tmp_path / "other.key")
    with pytest.raises(scumble.CertificateError, match="signed by .* not by"):
        scumble.load(path, key=tmp_path / "other.key.pub")
    mechanism().release(rng.random((9, 64))).save(tmp_path / f"plain.{ending}")
    with pytest.raises(scumble.CertificateError, match="not signed"):
        scumble.verify(tmp_path / f"plain.{ending}", key=public)


def test_a_certificate_of_a_folder_can_be_signed(rng, signing, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    batch = pa.record_batch({"id": ["a"], "vector": [rng.random(64).tolist()]})
    (tmp_path / "out").mkdir()
    released = release_batches([batch], mechanism=mechanism(), key=new_key(), id="id")
    pq.write_table(pa.Table.from_batches(released), tmp_path / "out" / "0.parquet")
    certify(tmp_path / "out", mechanism=mechanism(), sign=signing)
    assert scumble.verify(tmp_path / "out", key=f"{signing}.pub")["rows"] == 1


def test_verify_checks_every_byte(rng, tmp_path):
    path = tmp_path / "release.parquet"
    r = mechanism().release(rng.random((9, 64)), ids=range(9))
    r.save(path)
    assert scumble.verify(path)["rows"] == 9
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(path), tmp_path / "again.parquet")  # the same content, written by another program
    (tmp_path / "again.parquet.certificate.json").write_text(r.certificate_json)
    for read in (scumble.load, scumble.verify):
        with pytest.raises(scumble.DataError, match="not named in the certificate"):
            read(tmp_path / "again.parquet")


@pytest.mark.filterwarnings("ignore:.*chmod 600")
def test_key_files(cli, signing, sticky, tmp_path):
    for path in (signing, sticky):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with pytest.raises(scumble.FileError, match="never replaced"):
            scumble.keygen(path)
    run(cli, "keygen", "--sticky", "--out", tmp_path / "theirs")
    assert len(scumble.sticky_seed(tmp_path / "theirs")) == 32
    with pytest.warns(UserWarning, match="chmod 600"):
        os.chmod(sticky, 0o644)
        scumble.sticky_seed(sticky)
    x, m = np.zeros((1, 64)), mechanism()
    account = scumble.Account(tmp_path / "ledger", "rows", budget=5.0)
    for arguments, message in (
        ({"sticky_key": signing}, "not a key for noise"),
        ({"sticky_key": b"short"}, "not a key for noise"),
        ({"sticky_key": bytes(32)}, "not a key for noise"),  # 32 bytes of anything
        ({"sign": f"{signing}.pub"}, "not a signing key"),
    ):
        with pytest.raises(scumble.ParameterError, match=message):
            m.release(x, ids=[1], account=account, **arguments)
    assert not (tmp_path / "ledger").exists()  # a wrong key costs nothing
    with pytest.raises(scumble.FileError, match="nowhere"):
        m.release(x, ids=[1], sticky_key=tmp_path / "nowhere")
    with pytest.raises(scumble.ParameterError, match="public key"):
        m.release(x).save(tmp_path / "r.npy")
        scumble.load(tmp_path / "r.npy", key=signing)
