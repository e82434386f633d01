"""Files: Python's and the command line's are the same."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import scumble
from conftest import SEED, mechanism, run


@pytest.mark.parametrize("ending", ["parquet", "npy"])
@pytest.mark.parametrize("id, encoding", [("dp-oporp-staircase", "f32"), ("dp-oporp-staircase", "i16"),
                                          ("dp-oporp-staircase", "b4"), ("dp-signoporp-ceil", "b1")])
def test_save_and_load(tmp_path, rng, ending, id, encoding):
    r = mechanism(id).release(rng.random((20, 64)), ids=list("abcdefghijklmnopqrst"), labels=range(20), encoding=encoding)
    path = tmp_path / f"out.{ending}"
    r.save(path)
    again = scumble.load(path)
    assert again.certificate == r.certificate
    assert np.array_equal(again.packed, r.packed)
    assert again.ids.tolist() == r.ids.tolist() and again.labels.tolist() == r.labels.tolist()
    with pytest.raises(scumble.FileError):
        r.save(path)  # never overwritten


def test_plain_readers_understand_the_files(tmp_path, rng):
    r = mechanism("dp-signoporp-ceil").release(rng.random((20, 64)))
    r.save(tmp_path / "out.npy")
    assert np.array_equal(np.load(tmp_path / "out.npy"), r.bits)
    assert json.loads((tmp_path / "out.npy.certificate.json").read_text())["rows"] == 20
    values = mechanism().release(rng.random((20, 64)))
    values.save(tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["id", "sketch"]
    assert np.array_equal(np.stack(table["sketch"].to_numpy()), values.values)
    certificate = pq.read_metadata(tmp_path / "out.parquet").metadata[b"scumble.certificate"]
    assert json.loads(certificate)["mechanism"]["id"] == "dp-oporp-staircase"


def test_what_was_changed_is_refused(tmp_path, rng):
    mechanism().release(rng.random((20, 64))).save(tmp_path / "out.npy")
    data = bytearray((tmp_path / "out.npy").read_bytes())
    data[-1] ^= 1
    (tmp_path / "out.npy").write_bytes(data)
    with pytest.raises(scumble.CertificateError, match="not those"):
        scumble.load(tmp_path / "out.npy")
    certificate = tmp_path / "out.npy.certificate.json"
    certificate.write_text(certificate.read_text().replace('"rows": 20', '"rows": 19'))
    with pytest.raises(scumble.CertificateError):
        scumble.load(tmp_path / "out.npy")
    certificate.unlink()
    with pytest.raises(scumble.CertificateError, match="certificate"):
        scumble.load(tmp_path / "out.npy")
    with pytest.raises(scumble.FileError):
        scumble.load(tmp_path / "nothing.npy")


def release_arguments(k=32):
    return ["--mechanism", "dp-oporp-staircase", "--epsilon", 5, "--beta", 1, "--range", "0,1", "-k", k, "--seed", SEED.hex()]


def test_command_line_reads_python(cli, tmp_path, rng):
    x = rng.random((50, 64), dtype=np.float32)
    r = mechanism().release(x)
    r.save(tmp_path / "r.parquet")
    run(cli, "verify", tmp_path / "r.parquet")
    assert "dp-oporp-staircase" in run(cli, "inspect", tmp_path / "r.parquet").stdout
    np.save(tmp_path / "q.npy", x[:3])
    out = run(cli, "search", tmp_path / "r.parquet", "--queries", tmp_path / "q.npy", "--exact-queries", "--top", 10, "--json")
    found = [[hit["row"] for hit in query] for query in json.loads(out.stdout)]
    assert found == scumble.search(r, x[:3], top=10).rows.tolist()


@pytest.mark.parametrize("ending", ["parquet", "npy"])
def test_python_reads_command_line(cli, tmp_path, rng, ending):
    x = rng.random((50, 64), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    run(cli, "release", tmp_path / "x.npy", "--out", tmp_path / f"r.{ending}", *release_arguments())
    r = scumble.load(tmp_path / f"r.{ending}")
    assert r.mechanism == mechanism()
    # The same seed is the same projection: what is left is noise, a fraction of a grid step on some grids.
    noise = r.values - mechanism().project(x)
    assert abs(noise.std() / mechanism().noise_std - 1) < 0.2
    # Python's own release of the same rows may be compared with it row by row.
    scumble.squared_distance(r, 0, 0, other=mechanism().release(x))
    assert np.array_equal(scumble.search(r, x[:5], top=1).rows[:, 0], range(5))


@pytest.mark.parametrize("id, projection, k", [("dp-oporp-laplace", "oporp", 32), ("dp-rp-l", "rademacher", 4),
                                               ("dp-rp-l", "very-sparse:4", 4), ("dp-signrp-rr", "gaussian", 4),
                                               ("dp-signrp-rr", "uniform", 4)])
def test_projections_are_bit_for_bit_those_of_the_command_line(cli, tmp_path, rng, id, projection, k):
    """At epsilon = 300 on a grid of step beta noise other than 0 has probability below 1e-9: releases show projections."""
    x = rng.integers(0, 100, (50, 64)).astype("f4")
    np.save(tmp_path / "x.npy", x)
    arguments = ["--mechanism", id, "--projection", projection, "--epsilon", 300, "--beta", 1, "--range", "0,100", "-k", k]
    arguments += ["--grid-exponent", 0, "--seed", SEED.hex()]
    run(cli, "release", tmp_path / "x.npy", "--out", tmp_path / "r.npy", *arguments)
    m = mechanism(id, projection=projection, k=k, epsilon=300.0, range=(0.0, 100.0), grid_exponent=0)
    theirs, ours, exact = scumble.load(tmp_path / "r.npy").values, m.release(x).values, m.project(x)
    assert np.array_equal(theirs, ours)
    assert np.array_equal(theirs, exact if m.output == "values" else np.where(exact >= 0, 1, -1))
    assert not np.array_equal(m.project(x), mechanism(id, projection=projection, k=k, seed=bytes(32)).project(x))
