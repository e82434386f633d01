"""Releases in the vector stores that people already run: faiss, usearch, LanceDB, sqlite-vec, PostgreSQL with pgvector.

Bits are stored as bits and compared by Hamming distance; values are stored as float32 and compared by cosine. Rows are
identified in a store by their id if the release has integer ids, and by their row number otherwise. See docs/vector-stores.md
for the queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import ParameterError
from ._release import Release


def is_bits(r: Release) -> bool:
    """True for a release that is stored as packed bits."""
    return r.encoding == "b1"


def keys(r: Release) -> np.ndarray:
    """int64: the ids of the rows in a store."""
    if r.ids is not None and r.ids.dtype.kind == "i":
        return r.ids
    return np.arange(len(r), dtype=np.int64)


def vectors(r: Release) -> np.ndarray:
    """What is stored, row by row: packed bits (uint8) or values (float32) as :func:`scumble.search` compares them."""
    return r.bits if is_bits(r) else r._inner.compared_values()


def bit_strings(r: Release) -> list[str]:
    """Bits as text of 0 and 1, as PostgreSQL writes them."""
    return ["".join("01"[bit] for bit in row) for row in np.unpackbits(r.bits, axis=1, count=r.k)]


def normalised(x: np.ndarray) -> np.ndarray:
    """Rows of length 1, for indices that have only the inner product."""
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def faiss_index(r: Release) -> Any:
    """A faiss index: ``IndexBinaryFlat`` over bits, ``IndexFlatIP`` over rows of length 1, both by key."""
    import faiss

    index: Any
    if is_bits(r):
        index = faiss.IndexBinaryIDMap2(faiss.IndexBinaryFlat(8 * r.bits.shape[1]))
        index.add_with_ids(r.bits, keys(r))
    else:
        index = faiss.IndexIDMap2(faiss.IndexFlatIP(r.k))
        index.add_with_ids(normalised(vectors(r)), keys(r))
    return index


def usearch_index(r: Release, **options: Any) -> Any:
    """A usearch index: ``b1`` with Hamming, or ``f32`` with cosine. `options` go to ``usearch.index.Index``."""
    from usearch.index import Index

    if is_bits(r):
        index = Index(ndim=8 * r.bits.shape[1], metric="hamming", dtype="b1", **options)
    else:
        index = Index(ndim=r.k, metric="cos", dtype="f32", **options)
    index.add(keys(r), vectors(r))
    return index


def lancedb_table(db: Any, name: str, r: Release) -> Any:
    """A LanceDB table with the columns ``id`` and ``sketch``: FixedSizeList of uint8 (bits) or float32."""
    import pyarrow as pa

    rows = vectors(r)
    sketch = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    return db.create_table(name, pa.table({"id": keys(r), "sketch": sketch}))


def sqlite_vec_table(connection: Any, name: str, r: Release) -> None:
    """A ``vec0`` table with the columns ``id`` and ``sketch``: ``bit[n]`` or ``float[k]`` with cosine."""
    table = _word(name)
    column = f"bit[{8 * r.bits.shape[1]}]" if is_bits(r) else f"float[{r.k}] distance_metric=cosine"
    value = "vec_bit(?)" if is_bits(r) else "vec_f32(?)"
    connection.execute(f"CREATE VIRTUAL TABLE {table} USING vec0(id INTEGER PRIMARY KEY, sketch {column})")
    rows = ((int(key), row.tobytes()) for key, row in zip(keys(r), vectors(r)))
    connection.executemany(f"INSERT INTO {table}(id, sketch) VALUES (?, {value})", rows)
    connection.commit()


def pgvector_table(connection: Any, name: str, r: Release) -> None:
    """A PostgreSQL table with the columns ``id`` and ``sketch``: ``bit(k)`` or ``vector(k)``. `connection`: psycopg."""
    table = _word(name)
    column = f"bit({r.k})" if is_bits(r) else f"vector({r.k})"
    texts = bit_strings(r) if is_bits(r) else [str(row) for row in vectors(r).tolist()]
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        cursor.execute(f"CREATE TABLE {table} (id bigint PRIMARY KEY, sketch {column} NOT NULL)")
        with cursor.copy(f"COPY {table} (id, sketch) FROM STDIN") as copy:
            for key, text in zip(keys(r), texts):
                copy.write_row((int(key), text))
    connection.commit()


def _word(name: str) -> str:
    """A table's name goes into SQL as it is, so only plain words are let through."""
    if not name.isidentifier() or not name.isascii():
        raise ParameterError("a table's name must be a plain word of letters, digits and _")
    return name
