"""Parquet files that others write, and ours as others read them."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import SEED, run

ROWS, DIM = 3000, 24


def released(cli, path, folder):
    """The hashes of a release with noise from a key: the same for every file with the same rows."""
    key, out = folder / "sticky.key", folder / "out.parquet"
    if not key.exists():
        run(cli, "keygen", "--sticky", "--out", key)
    out.unlink(missing_ok=True)
    run(cli, "release", path, "--id", "id", "--out", out, "--sticky-key", key, "--mechanism", "dp-oporp-staircase", "--epsilon", 5,
        "--beta", 1, "--range", "0,100", "-k", 8)
    return json.loads(run(cli, "inspect", out, "--json").stdout)["content"]


@pytest.fixture(scope="module")
def reference(tmp_path_factory, cli):
    """The rows, and their release from a text file."""
    folder = tmp_path_factory.mktemp("reference")
    rows = np.random.default_rng(3).integers(0, 100, (ROWS, DIM))
    path = folder / "x.csv"
    path.write_text("id," + ",".join(f"x{j}" for j in range(DIM)) + "\n"
                    + "".join(f"{i}," + ",".join(map(str, row)) + "\n" for i, row in enumerate(rows)))
    return rows, released(cli, path, folder), folder


def table(rows, vector, id=pa.int64()):
    flat = pa.array(rows.reshape(-1), vector.value_type) if vector.value_type != pa.float16() else pa.array(
        rows.reshape(-1).astype(np.float16))
    offsets = np.arange(0, rows.size + 1, DIM)
    if pa.types.is_fixed_size_list(vector):
        lists = pa.FixedSizeListArray.from_arrays(flat, DIM)
    elif pa.types.is_large_list(vector):
        lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), flat)
    else:
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)
    ids = pa.array([str(i) for i in range(len(rows))]) if id == pa.string() else pa.array(range(len(rows)), id)
    return pa.table({"other": pa.array(["x"] * len(rows)), "vector": lists, "id": ids})


NUMBERS = [pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
           pa.uint32(), pa.uint64()]


@pytest.mark.parametrize("vector", [pa.list_(x) for x in NUMBERS] + [pa.list_(pa.float32(), DIM), pa.large_list(pa.float32())],
                         ids=str)
def test_every_type(cli, reference, vector):
    rows, expected, folder = reference
    pq.write_table(table(rows, vector), folder / "x.parquet")
    assert released(cli, folder / "x.parquet", folder) == expected


WRITERS = {
    "none": dict(compression="none"),
    "gzip": dict(compression="gzip"),
    "brotli": dict(compression="brotli"),
    "zstd": dict(compression="zstd"),
    "lz4": dict(compression="lz4"),
    "no dictionary": dict(use_dictionary=False),
    "second version of pages": dict(data_page_version="2.0"),
    "second version, plain": dict(data_page_version="2.0", use_dictionary=False, compression="none"),
    "small pages": dict(data_page_size=1000, write_batch_size=100, use_dictionary=False),
    "small pages with a dictionary": dict(data_page_size=1000, write_batch_size=100),
    "page index": dict(write_page_index=True, data_page_size=1000, use_dictionary=False),
    "checksums": dict(write_page_checksum=True, use_dictionary=False),
    "row groups": dict(row_group_size=701),
    "split bytes": dict(use_dictionary=False, use_byte_stream_split=["vector.list.element"]),
    "differences": dict(use_dictionary=False, column_encoding={"id": "DELTA_BINARY_PACKED"}),
    "no Arrow schema": dict(store_schema=False),
    "two levels": dict(use_compliant_nested_type=False),
    "first format": dict(version="1.0"),
}


@pytest.mark.parametrize("options", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("fixed", [False, True])
def test_every_way_to_write(cli, reference, options, fixed):
    rows, expected, folder = reference
    vector = pa.list_(pa.float32(), DIM) if fixed else pa.list_(pa.float32())
    pq.write_table(table(rows, vector), folder / "x.parquet", **options)
    assert released(cli, folder / "x.parquet", folder) == expected


@pytest.mark.parametrize("id", [pa.string(), pa.int32(), pa.uint16()], ids=str)
def test_ids_of_other_types_are_the_same_ids(cli, reference, id):
    rows, expected, folder = reference
    pq.write_table(table(rows, pa.list_(pa.float32()), id), folder / "x.parquet", column_encoding=None)
    assert released(cli, folder / "x.parquet", folder)["sketch"] == expected["sketch"]


@pytest.mark.parametrize("change, said", [
    (lambda rows: rows.__setitem__(2100, None), "row 2100, column vector: null"),
    (lambda rows: rows[2100].__setitem__(3, None), "row 2100, column vector[3]: null"),
    (lambda rows: rows[2100].pop(), f"row 2100, column vector: row has {DIM - 1} attributes, expected {DIM}"),
    (lambda rows: rows.__setitem__(2100, []), f"row 2100, column vector: row has 0 attributes, expected {DIM}"),
    (lambda rows: rows[2100].append(1.0), f"row 2100, column vector: row has {DIM + 1} attributes, expected {DIM}"),
])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_faults_are_named(cli, reference, change, said, version):
    rows, _, folder = reference
    lists = rows.astype(float).tolist()
    change(lists)
    pq.write_table(pa.table({"vector": pa.array(lists, pa.list_(pa.float32()))}), folder / "bad.parquet", data_page_version=version,
                   row_group_size=2000, data_page_size=3000, write_batch_size=100)
    done = subprocess.run([cli, "release", str(folder / "bad.parquet"), "--out", str(folder / "bad.npy"), "--mechanism",
                           "dp-oporp-staircase", "--epsilon", "5", "--range", "0,100", "-k", "8"], capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr and "panicked" not in done.stderr, done.stderr


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_checksums_are_checked_where_there_are_any(cli, reference, compression):
    rows, _, folder = reference
    path = folder / "x.parquet"
    pq.write_table(table(rows, pa.list_(pa.float32())), path, write_page_checksum=True, use_dictionary=False, compression=compression)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = subprocess.run([cli, "release", str(path), "--out", str(folder / "bad.npy"), "--mechanism", "dp-oporp-staircase",
                           "--epsilon", "5", "--range", "0,100", "-k", "8"], capture_output=True, text=True)
    assert done.returncode == 2 and "a page does not match its checksum" in done.stderr, done.stderr


@pytest.mark.parametrize("encoding, kind", [
    ("f32", pa.list_(pa.field("item", pa.float32(), nullable=False), 8)),
    ("i16", pa.list_(pa.field("item", pa.int16(), nullable=False), 8)),
    ("b8", pa.list_(pa.field("item", pa.int8(), nullable=False), 8)),
    ("b4", pa.binary(4)),
])
def test_what_we_write_has_its_types(cli, reference, tmp_path, encoding, kind):
    rows, _, _ = reference
    labels = pa.array(["even", "odd"] * (ROWS // 2))
    pq.write_table(table(rows, pa.list_(pa.float32())).append_column("label", labels), tmp_path / "x.parquet")
    out = tmp_path / "out.parquet"
    run(cli, "release", tmp_path / "x.parquet", "--id", "id", "--label", "label", "--out", out, "--encoding", encoding, "--mechanism",
        "dp-oporp-staircase", "--epsilon", 5, "--range", "0,100", "-k", 8, "--seed", SEED.hex())
    found = pq.read_table(out)
    expected = [pa.field(name, type, nullable=False) for name, type in (("id", pa.int64()), ("label", pa.string()), ("sketch", kind))]
    assert list(found.schema) == expected
    assert found["id"].to_pylist() == list(range(ROWS)) and found["label"].equals(pa.chunked_array([labels]))
    group = pq.ParquetFile(out).metadata.row_group(0)
    assert (group.column(0).statistics.min, group.column(0).statistics.max) == (0, ROWS - 1)
    assert found["sketch"].null_count == 0 and len(found["sketch"]) == ROWS
