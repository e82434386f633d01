"""Whatever holds the rows, the same rows are read; none are copied."""

from __future__ import annotations

import traceback
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

import scumble
from conftest import mechanism
from scumble import _input


def projected(x, m=None):
    """The exact projection tells which numbers were read."""
    return (m or mechanism("dp-oporp-laplace", range=(0.0, 255.0), beta=255.0, epsilon=50.0)).project(x)


@pytest.fixture
def integers(rng):
    return rng.integers(0, 100, (50, 64))


DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f4", ">f8", ">i2", ">u4", ">u8", "?"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_dtype_and_order_reads_the_same_numbers(integers, dtype, order):
    if dtype == "?":
        integers = integers % 2
    expected = projected(integers.astype("f8"))
    assert np.array_equal(projected(np.asarray(integers, dtype=dtype, order=order)), expected)


def test_strides_of_every_kind(integers):
    wide = np.zeros((150, 200), "f4")
    places = [
        (slice(0, 50), slice(0, 64)),
        (slice(0, 150, 3), slice(3, 195, 3)),
        (slice(50, 0, -1), slice(0, 64)),
        (slice(0, 50), slice(64, 0, -1)),
        (slice(149, None, -3), slice(199, 7, -3)),
    ]
    for rows, columns in places:
        view = wide[rows, columns]
        assert view.shape == integers.shape
        view[...] = integers
        assert np.array_equal(projected(view), projected(integers)), (rows, columns)
        assert np.array_equal(projected(np.asfortranarray(wide)[rows, columns]), projected(integers))
    broadcast = np.broadcast_to(integers[0].astype("f8"), (50, 64))
    assert np.array_equal(projected(broadcast), projected(np.repeat(integers[:1], 50, axis=0)))
    records = np.zeros(50, dtype=[("pad", "u1"), ("x", "f4", 64)])
    records["x"] = integers
    assert np.array_equal(projected(records["x"]), projected(integers))


def test_memory_mapped(integers, tmp_path):
    for order in "CF":
        np.save(tmp_path / "x.npy", np.asarray(integers, "f4", order=order))
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        assert isinstance(mapped, np.memmap)
        assert np.array_equal(projected(mapped), projected(integers))
        assert len(mechanism().release(mapped)) == 50


@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u2", "u8", "?"])
def test_scipy(rng, index, dtype):
    dense = rng.integers(0, 2, (50, 64)) * rng.integers(1, 90, (50, 64))
    matrix = sp.csr_matrix(dense.astype(dtype))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    expected = projected(dense.astype(dtype).astype("f8"))
    for form in (matrix, sp.csr_array(matrix), matrix.tocsc(), matrix.tocoo(), matrix.tolil()):
        assert np.array_equal(projected(form), expected), type(form)
    assert np.array_equal(projected(matrix[10:20]), expected[10:20])


def test_scipy_unsorted_and_repeated_indices_are_put_in_order_on_a_copy():
    matrix = sp.csr_matrix((np.array([1.0, 2.0, 3.0, 4.0]), np.array([5, 2, 2, 0]), np.array([0, 3, 4])), shape=(2, 64))
    dense = np.zeros((2, 64))
    dense[0, 5], dense[0, 2], dense[1, 0] = 1, 5, 4
    assert np.array_equal(projected(matrix), projected(dense))
    assert matrix.indices.tolist() == [5, 2, 2, 0]  # the caller's matrix is as it was


def test_scipy_index_out_of_range(rng):
    matrix = sp.csr_matrix(np.eye(64))
    matrix.has_canonical_format = True
    matrix.indices[3] = 64
    with pytest.raises(scumble.DataError, match="row 3, column 64"):
        mechanism().release(matrix)
    matrix.indices[3] = -1
    with pytest.raises(scumble.DataError, match="row 3"):
        mechanism().release(matrix)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_arrow(integers, dtype):
    flat = pa.array(integers.astype(dtype).ravel())
    fixed = pa.FixedSizeListArray.from_arrays(flat, 64)
    offsets = pa.array(range(0, 64 * 51, 64), pa.int32())
    expected = projected(integers)
    forms = {
        "fixed": fixed,
        "list": pa.ListArray.from_arrays(offsets, flat),
        "large": pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), flat),
        "chunked": pa.chunked_array([fixed[:7], fixed[7:7], fixed[7:]]),
        "column": pa.table({"v": fixed})["v"],
    }
    for name, column in forms.items():
        assert np.array_equal(projected(column), expected), name
        assert np.array_equal(projected(column[10:33]), expected[10:33]), name
        assert len(mechanism().release(column)) == 50


def test_arrow_faults_are_named():
    m = mechanism(dim=2, k=2)
    with pytest.raises(scumble.DataError, match="row 1.*attributes"):
        m.release(pa.array([[0.1, 0.2], [0.3]]))
    with pytest.raises(scumble.DataError, match="row 1"):
        m.release(pa.chunked_array([pa.array([[0.1, 0.2]]), pa.array([None, [0.1, 0.2]], pa.list_(pa.float64()))]))
    with pytest.raises(scumble.DataError, match="row 0"):
        m.release(pa.array([[0.1, None]]))
    with pytest.raises(scumble.DataError):
        m.release(pa.array(["a", "b"]))
    with pytest.raises(TypeError, match="table"):
        m.release(pa.table({"vector": pa.array([[0.1, 0.2]])}))


def test_no_copy_of_the_input(rng):
    """The flat view shares memory with the array, and a release allocates next to nothing in Python."""
    x = rng.random((20_000, 64), dtype=np.float32)
    for view in (x, np.asfortranarray(x), x[::2, ::2], x[5:]):
        (block,) = _input.blocks(view, view.shape[1])
        assert np.shares_memory(block.values, view)
    matrix = sp.csr_matrix(np.eye(64, dtype="f4"))
    block = next(_input.blocks(matrix, 64))
    assert np.shares_memory(block.values, matrix.data) and np.shares_memory(block.index, matrix.indices)
    m = mechanism(k=8)
    tracemalloc.start()
    m.release(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes / 10


def test_wrong_shapes_and_types():
    m = mechanism()
    with pytest.raises(scumble.DataError, match="2 axes"):
        m.release(np.zeros(64))
    with pytest.raises(scumble.DataError, match="63 attributes, expected 64"):
        m.release(np.zeros((3, 63)))
    with pytest.raises(scumble.DataError, match="expected 64"):
        m.release(sp.csr_matrix((3, 63)))
    for dtype in ("c8", "U3", "M8[s]", "O", "g"):
        with pytest.raises(TypeError, match="dtype"):
            m.release(np.zeros((3, 64), dtype))


@pytest.mark.parametrize(
    "x, error, message",
    [
        (None, TypeError, "NoneType holds no rows"),
        (np.float32(1), TypeError, "holds no rows"),
        ((row for row in np.eye(64)), TypeError, "generator holds no rows"),
        ([[1.0] * 64, [1.0] * 63], scumble.DataError, "same number of attributes"),
        ([], scumble.DataError, "there are no rows"),
        ("rows.npy", TypeError, "release_file"),
        (np.ma.masked_greater(np.linspace(0, 1, 128).reshape(2, 64), 0.9), scumble.DataError, "masked"),
        (np.zeros((3, 64), object), TypeError, "dtype object"),
        (sp.coo_array(np.ones(64)), scumble.DataError, "1 axes"),
    ],
)
def test_what_is_not_a_matrix(x, error, message):
    with pytest.raises(error, match=message):
        mechanism().release(x)


def test_sparse_parts_that_do_not_fit_their_shape():
    for starts in ([0, 1, 2, 3], [0, 1, 2, 3, 3, 3]):
        matrix = sp.csr_matrix(np.eye(4, 64))
        matrix.indptr = np.array(starts, dtype="i4")
        for ids in (None, range(4)):
            with pytest.raises(scumble.DataError, match="indptr"):
                mechanism().release(matrix, ids=ids)
    for form in ("csr", "csc", "coo"):
        for type in ("i4", "i8"):
            for index in (-1, 64, 2**32) if type == "i8" and form != "coo" else (-1, 64):
                matrix = sp.eye(64, format=form)
                if form == "coo":
                    matrix.col = matrix.col.astype(type)
                    matrix.col[3], place = index, (3, index)
                else:
                    matrix.indices, matrix.indptr = matrix.indices.astype(type), matrix.indptr.astype(type)
                    matrix.indices[3], place = index, (3, index) if form == "csr" else (index, 3)
                with pytest.raises(scumble.DataError, match=f"row {place[0]}, column {place[1]}: outside the shape") as fault:
                    mechanism().release(matrix)
                assert (fault.value.row, fault.value.column) == place


def test_sparse_offsets_that_do_not_hold_together():
    for place, value in ((1, -1), (2, 99), (3, 10**6), (64, 10**6), (0, 1)):
        matrix = sp.csr_array(np.eye(64))
        matrix.indptr[place] = value
        with pytest.raises(scumble.DataError, match="indptr"):
            mechanism().release(matrix)


def test_ids_and_labels_of_every_kind(rng):
    import pandas

    m, x = mechanism(), rng.random((3, 64))
    for ids in ([3, 1, 2], range(3), iter([1, 2, 3]), np.array([1, 2, 3], "u2"), [np.int64(1), 2, 3], pa.array([7, 8, 9]),
                pandas.Series([1, 2, 3], dtype="Int64"), pandas.Index(["a", "b", "c"]), np.array(["a", "b", "é"])):
        r = m.release(x, ids=ids)
        assert r.ids.dtype.kind in "iU" and len(set(r.ids.tolist())) == 3
    assert m.release(x, labels=[1, 2.5, np.nan]).labels[1] == 2.5
    assert m.release(x, labels=[True, False, True]).labels.tolist() == [1, 0, 1]
    for ids, row in ([1, "a", 2], 1), ([1, None, 2], 1), (pa.array([1, 2, None]), 2), ([2**63, 1, 2], 0), ([0.5, 1, 2], 0), (
        [b"a", b"b", b"c"], 0), ([[1], [2], [3]], 0), (np.array([1, 2, 3], "M8[s]"), 0), ([1, 2, 1], 2):
        with pytest.raises(scumble.DataError) as caught:
            m.release(x, ids=ids)
        assert caught.value.row == row
    with pytest.raises(scumble.DataError, match="one for each of the 3 rows"):
        m.release(x, ids=[1, 2])
    with pytest.raises(scumble.DataError, match="row 2: labels must be all numbers or all strings"):
        m.release(x, labels=["a", "b", None])


def test_the_same_fractions_in_every_float_type(rng):
    """Values are read exactly: a half-precision number is the same number in every wider type."""
    x = rng.random((40, 64)).astype("f2")
    m = mechanism("dp-oporp-laplace")
    for dtype in ("f4", "f8", ">f2", ">f8"):
        assert np.array_equal(m.project(x.astype(dtype)), m.project(x))
    large = np.array([[2**62 - 1, 2**53 + 1, -(2**63), 2**63 - 1] * 16])
    m = mechanism("dp-oporp-laplace", range=(0.0, 2.0**62), beta=2.0**62)
    assert np.array_equal(m.project(large), m.project(np.clip(large, 0, 2**62).astype("u8")))


def test_nan_and_infinity_name_the_place_and_not_the_value():
    for value, word in ((np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "infinite")):
        x = np.full((9000, 64), 0.123456, "f4")
        x[8765, 43] = value
        with pytest.raises(scumble.DataError, match=word) as caught:
            mechanism().release(x)
        assert (caught.value.row, caught.value.column) == (8765, 43)
        assert "0.123" not in str(caught.value)


def test_frames_and_columns(integers):
    import pandas
    import polars

    expected = projected(integers)
    for library in (pandas, polars):
        assert np.array_equal(projected(library.DataFrame(integers)), expected)  # one attribute per column
        frame = library.DataFrame({"vector": integers.tolist()})
        assert np.array_equal(projected(frame["vector"]), expected)
        with pytest.raises(scumble.DataError, match="give the column with the vectors"):
            projected(frame)
    fixed = polars.Series(integers.tolist(), dtype=polars.Array(polars.Float32, 64))
    assert np.array_equal(projected(fixed), expected) and np.array_equal(projected(fixed[10:33]), expected[10:33])
    assert np.array_equal(projected(pandas.Series(list(integers.astype("f4")))), expected)
    with pytest.raises(scumble.DataError, match="row 1: not a vector of 64 attributes"):
        projected(pandas.Series([[1.0] * 64, [1.0] * 63]))


class Spiteful:
    """Quotes a value when it is read."""

    shape = (2, 2)

    def __array__(self, dtype=None, copy=None):
        raise ValueError(f"{SECRET} is inhomogeneous")


SECRET = "HIV positive"


def unreadable():
    """Columns that hold no real numbers, and how they are called."""
    import pandas

    times = pandas.date_range("2020", periods=2)
    return {
        "text": [SECRET, "x"],
        "string": pandas.array([SECRET, "x"], dtype="string"),
        "arrow": pandas.array([SECRET, "x"], dtype="string[pyarrow]"),
        "category": pandas.Categorical([SECRET, "x"]),
        "bytes": [SECRET.encode(), b"x"],
        "object": [{SECRET: 1}, 2],
        "digits": ["1", "2"],
        "time": times,
        "zone": times.tz_localize("UTC"),
        "duration": times - times[0],
        "period": times.to_period("D"),
        "complex": np.array([1j, 2]),
    }


@pytest.mark.parametrize("name", unreadable())
@pytest.mark.parametrize("beside", ["Int64", "Float32", "boolean", "double[pyarrow]", "f8"])
def test_a_column_without_numbers_is_named_and_not_quoted(name, beside):
    import pandas

    from scumble.sklearn import PrivateProjection

    frame = pandas.DataFrame({"age": pandas.Series([1, 0], dtype=beside), name: unreadable()[name]})
    m = mechanism(dim=2, k=2)
    projection = PrivateProjection(range=(0, 1))
    uses = [m.release, m.project, lambda x: scumble.learn_bins(x, 2), projection.fit_transform]
    for use in (*uses, projection.fit(np.zeros((1, 2))).transform):
        with pytest.raises(scumble.DataError, match=f"column '{name}' holds no numbers") as fault:
            use(frame)
        assert SECRET not in told(fault.value)


def told(error):
    """All that a traceback would show."""
    return "".join(traceback.format_exception(error))


def test_no_conversion_quotes_a_value(rng):
    import pandas
    import polars

    from scumble.sklearn import PrivateProjection

    m = mechanism(dim=2, k=2)
    r, pairs, dates = m.release(rng.random((3, 2))), np.array([1, 2]), np.array(["2020", "2021"], "M8[s]")
    rows = [
        Spiteful(),
        [[1, Spiteful()], [1, 2]],
        [[1, SECRET], [1, 2]],
        [[1, 10**400], [1, 2]],
        [[{SECRET: 1}, 1], [1, 2]],
        np.array([[1, SECRET], [1, 2]], object),
        pandas.Series([[SECRET, "b"], [1, 2]]),
        pandas.Series([[1, [SECRET, 2]], [1, 2]]),
        pandas.Series([[1, 2], [1, None]]),
        pandas.Series([dates, pairs]),
        pandas.Series([[SECRET, "b"], dates]),
        pandas.Series([Spiteful(), Spiteful()]),
        polars.DataFrame({"a": [1, 2], "b": [SECRET, "x"]}),
        polars.DataFrame({"a": [1, 2], "b": polars.Series([1, 2]).cast(polars.Datetime)}),
    ]
    projection = PrivateProjection(range=(0, 1))
    uses = [m.release, m.project, lambda x: scumble.search(r, x), lambda x: scumble.inner_product_with_query(r, 0, x)]
    uses += [projection.fit_transform, projection.fit(np.zeros((1, 2))).transform]
    for x in rows:
        for use in uses:
            with pytest.raises((scumble.DataError, TypeError, ValueError)) as fault:
                use(x)
            assert SECRET not in told(fault.value), x
    with pytest.raises(scumble.DataError, match="Spiteful cannot be turned into an array"):
        m.release(Spiteful())
    with pytest.raises(scumble.DataError, match="row 1: not all of its attributes are numbers"):
        m.release(rows[8])
    with pytest.raises(scumble.DataError) as fault:
        m.release(np.zeros((2, 2)), ids=Spiteful())
    assert SECRET not in told(fault.value)


UNSEEN = ["\n", "\r", "\t", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066"]


def test_text_that_no_file_gives_back_is_refused_before_it_is_charged(tmp_path, rng):
    m, x = mechanism(), rng.random((2, 64))
    account = scumble.Account(tmp_path / "ledger", "customers", budget=12.0)
    for what, more in (("ids", {}), ("labels", {}), ("persons", {"rows_per_person": 1})):
        for wrong, message in [(unseen, "control character") for unseen in UNSEEN] + [("\ud800", "is not text")]:
            if what == "persons" and message != "is not text":
                continue  # they are not released
            with pytest.raises(scumble.DataError, match=f"row 1: its {what[:-1]}.*{message}") as fault:
                m.release(x, account=account, **{what: ["a", f"b{wrong}c"]}, **more)
            assert fault.value.row == 1
    assert not (tmp_path / "ledger").exists()
    for fine in ("a b", "a\xa0b", "a\u3000b", "n\u200dn", "\u05d0\u200f", ""):
        r = m.release(x, ids=["1", fine], labels=["2", fine])
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        r.save(path)
        assert scumble.load(path).ids.tolist() == ["1", fine]
