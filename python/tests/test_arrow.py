"""Record batches: noise is a function of key and id, of nothing else."""

from __future__ import annotations

import traceback

import numpy as np
import pyarrow as pa
import pytest

import scumble
from conftest import mechanism
from scumble.arrow import certify, new_key, release_batches

KEY = f"scumble-sticky-key {bytes(range(32)).hex()}\n".encode()


def batch(x, ids, **columns) -> pa.RecordBatch:
    flat = pa.array(np.ascontiguousarray(x).ravel())
    return pa.record_batch({"id": pa.array(ids), "vector": pa.FixedSizeListArray.from_arrays(flat, x.shape[1]), **columns})


def sketches(batches, **options) -> dict:
    options = {"mechanism": mechanism(), "key": KEY, "id": "id"} | options
    table = pa.Table.from_batches(release_batches(batches, **options))
    return dict(zip(table["id"].to_pylist(), table["sketch"].to_pylist()))


def test_order_and_cuts_do_not_matter(rng):
    x = rng.random((100, 64))
    whole = sketches([batch(x, range(100))])
    order = rng.permutation(100)
    cut = [batch(x[order[a : a + 7]], order[a : a + 7]) for a in range(0, 100, 7)]
    assert sketches(cut) == whole
    assert sketches([batch(x, np.arange(100, dtype="i4"))]) == whole  # the width of the id's type does not matter


def test_noise_depends_on_key_id_and_mechanism(rng):
    x = np.repeat(rng.random((1, 64)), 50, axis=0)
    one = sketches([batch(x, range(50))])
    assert len({tuple(s) for s in one.values()}) == 50  # equal vectors under other ids: other noise
    assert not any(one[i] == s for i, s in sketches([batch(x, range(50))], key=new_key()).items())
    # A key that is used again with another mechanism must not give the same noise: the difference would cancel it.
    noise = {e: np.array(list(sketches([batch(x, range(50))], mechanism=mechanism("dp-oporp-laplace", epsilon=e)).values()))
             for e in (1.0, 1.0001)}
    assert not np.allclose(noise[1.0], noise[1.0001], atol=0.2)


def test_keyed_noise_has_the_right_scale(rng):
    m, x = mechanism(), rng.random((400, 64))
    noise = np.array(list(sketches([batch(x, range(400))]).values())) - m.project(x)
    assert abs(noise.std() / m.noise_std - 1) < 0.1  # 12,800 draws: ten standard errors


def test_columns_and_types(rng):
    x = rng.random((4, 64))
    rows = batch(x, ["a", "b", "c", "d"], kind=pa.array(["x", "y", "x", "y"]).dictionary_encode())
    (out,) = release_batches([rows], mechanism=mechanism(), key=KEY, id="id", label="kind")
    assert out.schema.names == ["id", "label", "sketch"] and out["label"].to_pylist() == ["x", "y", "x", "y"]
    assert out.schema.field("sketch").type == pa.list_(pa.field("item", pa.float32(), False), 32)
    (out,) = release_batches([rows], mechanism=mechanism("dp-signoporp-ceil"), key=KEY)
    assert out.schema.names == ["sketch"]  # nothing leaves that nobody named
    assert out.schema.field("sketch").type == pa.binary(4)
    (out,) = release_batches([rows], mechanism=mechanism("dp-signoporp-ceil"), key=KEY, fixed_size=False)
    assert out.schema.field("sketch").type == pa.binary()
    assert not list(release_batches([], mechanism=mechanism(), key=KEY))
    (empty,) = release_batches([rows[:0]], mechanism=mechanism(), key=KEY)
    assert empty.num_rows == 0


def test_faults(rng):
    x = rng.random((3, 64))
    with pytest.raises(scumble.DataError, match="id"):
        sketches([batch(x, [1, 2, 1])])
    with pytest.raises(scumble.DataError, match="id"):
        sketches([batch(x, [1, 2, 3]), batch(x, [4, 3, 5])])  # also across batches
    with pytest.raises(scumble.DataError, match="id"):
        sketches([batch(x, [1, None, 2])])
    with pytest.raises(scumble.DataError, match="nobody"):
        sketches([batch(x, [1, 2, 3])], id="nobody")
    with pytest.raises(scumble.DataError):
        sketches([batch(x, [0.5, 1.5, 2.5])])
    with pytest.raises(scumble.ParameterError, match="keygen"):
        sketches([batch(x, [1, 2, 3])], key=b"short")
    x[1, 5] = np.nan
    with pytest.raises(scumble.DataError, match="row 1, column 5"):
        sketches([batch(x, [1, 2, 3])])


@pytest.mark.parametrize("list_type", [pa.list_(pa.float32()), pa.large_list(pa.float32())], ids=str)
@pytest.mark.parametrize("change, said", [
    (lambda rows: rows[1].pop(), "row 1, column vector: row has 63 attributes, expected 64"),
    (lambda rows: rows.__setitem__(1, None), "row 1, column vector: null"),
    (lambda rows: rows[1].__setitem__(3, None), r"row 1, column vector\[3\]: null"),
])
def test_lists_that_are_not_whole(rng, list_type, change, said):
    rows = rng.random((3, 64)).tolist()
    change(rows)
    bad = pa.record_batch({"id": pa.array([1, 2, 3]), "vector": pa.array(rows, list_type)})
    with pytest.raises(scumble.DataError, match=said):
        sketches([bad])


def test_certify_a_folder(rng, tmp_path):
    import pyarrow.parquet as pq

    folder = tmp_path / "out"
    folder.mkdir()
    for part in (1, 0):
        rows = batch(rng.random((30, 64)), np.arange(30) + 30 * part, kind=pa.array(["é"] * 30))
        released = release_batches([rows], mechanism=mechanism(), key=KEY, id="id", label="kind")
        pq.write_table(pa.Table.from_batches(released), folder / f"part-{part}.parquet")
    certificate = certify(folder, mechanism=mechanism(), rows=60)
    r = scumble.load(folder)
    assert r.certificate == certificate and r.ids.tolist() == list(range(60)) and set(r.labels) == {"é"}
    with pytest.raises(scumble.DataError, match="60 rows were written, 61 expected"):
        certify(folder, mechanism=mechanism(), rows=61)
    (folder / "part-0.parquet").rename(folder / "part-2.parquet")
    with pytest.raises(scumble.CertificateError):
        scumble.load(folder)


def test_a_folder_has_its_public_file_beside_it(rng, tmp_path):
    import pyarrow.parquet as pq

    folder = tmp_path / "out"
    folder.mkdir()
    components = scumble.learn_components(rng.random((200, 64)), 16)
    m = scumble.Mechanism("privcube", dim=64, k=16, epsilon=5.0, range=(0.0, 1.0), components=components, seed=bytes(32))
    released = release_batches([batch(rng.random((30, 64)), np.arange(30))], mechanism=m, key=KEY, id="id")
    pq.write_table(pa.Table.from_batches(released), folder / "part-0.parquet")
    certify(folder, mechanism=m)
    assert (tmp_path / "out.components").read_bytes() == components.content
    for name in (folder, f"{folder}/"):  # as a shell completes it
        assert scumble.load(name).mechanism == m and scumble.verify(name)["rows"] == 30


def test_certify_binds_the_mechanism_that_made_the_files(rng, tmp_path):
    import pyarrow.parquet as pq

    folder = tmp_path / "out"
    folder.mkdir()
    released = release_batches([batch(rng.random((3, 64)), [1, 2, 3])], mechanism=mechanism(), key=KEY)
    table = pa.Table.from_batches(released)
    pq.write_table(table, folder / "0.parquet")
    with pytest.raises(scumble.ScumbleError, match="another mechanism"):
        certify(folder, mechanism=mechanism(epsilon=0.1))
    pq.write_table(table.replace_schema_metadata(None), folder / "0.parquet")
    with pytest.raises(scumble.ScumbleError, match="which mechanism"):
        certify(folder, mechanism=mechanism())
    pq.write_table(table.append_column("exact", pa.array([0.1, 0.2, 0.3])), folder / "0.parquet")
    with pytest.raises(scumble.ScumbleError, match="exact"):
        certify(folder, mechanism=mechanism())
    pq.write_table(table, folder / "0.parquet")
    certify(folder, mechanism=mechanism())
    pq.write_table(table.append_column("exact", pa.array([0.1, 0.2, 0.3])), folder / "0.parquet")
    with pytest.raises(scumble.ScumbleError, match="exact"):
        scumble.load(folder)


def test_a_label_that_cannot_be_kept_is_not_quoted():
    rows = pa.record_batch({"id": [1], "label": pa.array([2**63 + 12345], pa.uint64()), "vector": [[0.1, 0.2]]})
    with pytest.raises(scumble.DataError, match="some ids or labels are no int64") as fault:
        list(release_batches([rows], mechanism=mechanism(dim=2, k=2), key=KEY, label="label"))
    assert str(2**63 + 12345) not in "".join(traceback.format_exception(fault.value))
