"""A release in each of five vector stores: the same top 10 as scumble's own search, bits and values."""

from __future__ import annotations

import json

import numpy as np
import pytest

import scumble
from conftest import mechanism, run
from scumble import stores

TOP = 10


KINDS = {
    "bits": lambda: mechanism("dp-signoporp-ceil", k=48),
    "values": lambda: mechanism("dp-oporp-staircase", k=32),
    "blocks": lambda: mechanism("dp-oporp-staircase", k=25, bins="grid:8x8"),  # of several sizes
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request):
    """A release of 500 rows and one of 8 queries."""
    rng = np.random.default_rng(3)
    m = KINDS[request.param]()
    centres = rng.random((20, 64))
    x = np.clip(centres[rng.integers(0, 20, 508)] + rng.normal(0, 0.1, (508, 64)), 0, 1)
    return m.release(x[:500], ids=np.arange(500) * 3 + 1), m.release(x[500:])


def check(pair, found):
    """Same distances rank for rank; ties may come in another order, so rows are compared by their own distance."""
    r, queries = pair
    hits = scumble.search(r, queries, top=TOP)
    row_of = {int(key): row for row, key in enumerate(stores.keys(r))}
    for q, names in enumerate(found):
        rows = [row_of[int(name)] for name in names]
        assert len(set(rows)) == TOP
        if stores.is_bits(r):
            scores = [(r.values[row] != queries.values[q]).sum() for row in rows]
            assert scores == hits.scores[q].tolist()
        else:
            scores = stores.normalised(stores.vectors(r)[rows]) @ stores.normalised(stores.vectors(queries)[q : q + 1])[0]
            assert np.allclose(scores, hits.scores[q], atol=1e-5)
            assert set(rows) == set(hits.rows[q].tolist())


def test_faiss(pair):
    r, queries = pair
    wanted = queries.bits if stores.is_bits(r) else stores.normalised(stores.vectors(queries))
    check(pair, stores.faiss_index(r).search(wanted, TOP)[1])


def test_usearch(pair):
    r, queries = pair
    check(pair, stores.usearch_index(r).search(stores.vectors(queries), TOP, exact=True).keys)


def test_lancedb(pair, tmp_path):
    import lancedb

    r, queries = pair
    table = stores.lancedb_table(lancedb.connect(tmp_path), "sketches", r)
    metric = "hamming" if stores.is_bits(r) else "cosine"
    search = lambda q: table.search(q, vector_column_name="sketch").distance_type(metric).limit(TOP).to_arrow()
    check(pair, [search(q)["id"].to_pylist() for q in stores.vectors(queries)])


def test_sqlite_vec(pair):
    import pysqlite3 as sqlite
    import sqlite_vec

    r, queries = pair
    connection = sqlite.connect(":memory:")
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    stores.sqlite_vec_table(connection, "sketches", r)
    value = "vec_bit(?)" if stores.is_bits(r) else "vec_f32(?)"
    query = f"SELECT id FROM sketches WHERE sketch MATCH {value} AND k = {TOP} ORDER BY distance"
    check(pair, [[row[0] for row in connection.execute(query, [q.tobytes()])] for q in stores.vectors(queries)])


def test_pgvector(pair, postgres):
    r, queries = pair
    if stores.is_bits(r):
        order, wanted = f"<~> %s::bit({r.k})", stores.bit_strings(queries)
    else:
        order, wanted = "<=> %s::vector", [str(q) for q in stores.vectors(queries).tolist()]
    with postgres(f"{r.encoding}_{r.k}") as connection:
        stores.pgvector_table(connection, "sketches", r)
        query = f"SELECT id FROM sketches ORDER BY sketch {order} LIMIT {TOP}"
        check(pair, [[row[0] for row in connection.execute(query, [q])] for q in wanted])


def test_command_line(pair, cli, tmp_path):
    """So what is found in a store is what `scumble search` finds."""
    r, queries = pair
    r.save(tmp_path / "r.parquet")
    queries.save(tmp_path / "q.parquet")
    out = run(cli, "search", tmp_path / "r.parquet", "--queries", tmp_path / "q.parquet", "--top", TOP, "--json")
    check(pair, [[hit["id"] for hit in hits] for hits in json.loads(out.stdout)])
    assert [[hit["row"] for hit in hits] for hits in json.loads(out.stdout)] == scumble.search(r, queries, top=TOP).rows.tolist()


def test_names_are_plain_words(pair):
    with pytest.raises(scumble.ParameterError, match="plain word"):
        stores.sqlite_vec_table(None, "x; DROP TABLE y", pair[0])
