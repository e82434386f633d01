"""Turns numpy, scipy and Arrow objects into views that the compiled part reads in place."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from . import _checks
from ._errors import DataError, ParameterError

# Types that the library reads as they are. The others are converted a few rows at a time.
_DIRECT = frozenset(np.dtype(t) for t in ("f2", "f4", "f8", "u1", "i1", "i2", "i4", "i8"))
_WIDER: dict[str, np.dtype] = {"u2": np.dtype("i4"), "u4": np.dtype("i8"), "u8": np.dtype("i8")}
_CONVERT_BYTES = 8 << 20

_NO_TEXT = re.compile("[\ud800-\udfff]")
# Unicode's control characters (Cc), line and paragraph separators (Zl, Zp), and what turns the direction of text (in Cf).
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclasses.dataclass(frozen=True)
class Dense:
    """A strided matrix over a flat array; strides are counted in elements."""

    values: np.ndarray
    rows: int
    dim: int
    row_stride: int
    column_stride: int


@dataclasses.dataclass(frozen=True)
class Sparse:
    """Compressed sparse rows."""

    offsets: np.ndarray
    index: np.ndarray
    values: np.ndarray
    dim: int


def blocks(x: Any, dim: int) -> Iterator[Any]:
    """Views of the rows of `x`. Raises if `x` does not have `dim` columns."""
    _check_kind(x)
    if hasattr(x, "tocsr") and hasattr(x, "nnz"):
        yield _sparse(x, dim)
    elif not isinstance(x, np.ndarray) and (hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")):
        if hasattr(x, "columns") and hasattr(x, "to_numpy"):  # pandas, polars: one attribute per column
            yield from _dense(_matrix(x, dim))
            return
        if hasattr(x, "schema"):
            raise TypeError("this is a table: give the column with the vectors, such as table['vector']")
        yield x
    else:
        yield from _dense(_matrix(x, dim))


def _check_kind(x: Any) -> None:
    """Names the most common mistakes."""
    if isinstance(x, (str, bytes, os.PathLike)):
        raise TypeError("this is a path, not rows: scumble.release_file(in, out, mechanism=m) releases a file")
    kind = type(x)
    if kind.__module__.split(".")[0] == "torch":
        if x.requires_grad:
            raise TypeError("this tensor has a gradient, which noise would cut: give x.detach()")
        if x.device.type != "cpu":
            raise TypeError("this tensor is not in main memory: give x.cpu()")
        if str(x.dtype) == "torch.bfloat16":
            raise TypeError("numpy has no bfloat16: give x.float()")
    if kind.__name__ == "LazyFrame":
        raise TypeError("this is a query, not rows: give x.collect()")
    if hasattr(x, "certificate_json"):
        raise TypeError("these rows are a release already: they cost nothing further, and need no other noise")


def _frame(x: Any, dim: int) -> np.ndarray | None:
    """A pandas frame as a matrix; None for anything else."""
    if not (hasattr(x, "columns") and hasattr(x, "dtypes") and hasattr(x, "to_numpy")) or isinstance(x, np.ndarray):
        return None
    names = [str(name) for name in x.columns]
    if len(names) != dim:
        beside = [name for name in names if name.lower() in ("id", "ids", "label", "labels", "index", "unnamed: 0")]
        hint = f"; drop {', '.join(beside)}, or give ids= and labels=" if beside else ""
        others = _without_numbers(x)
        if others and len(names) - len(others) == dim:
            hint = f"; drop {', '.join(others)}, which holds no numbers"
        elif others:
            hint = "; if one column holds them, give the column with the vectors, such as frame['vector']"
        raise DataError(f"the frame has {len(names)} columns, expected {dim} attributes{hint}")
    check_numbers(x)
    if hasattr(x, "isna") and any(_may_be_missing(kind) for kind in x.dtypes):
        missing = x.isna().to_numpy()
        if missing.any():
            row, column = (int(at) for at in np.argwhere(missing)[0])
            raise DataError(f"row {row}, column {column}: value is missing; fill it or drop the row", row, column)
        try:
            return x.to_numpy(dtype=np.float64)  # nullable pandas numbers
        except MemoryError:
            raise
        except Exception:  # its words may quote a cell
            raise DataError("some columns of the frame cannot be turned into numbers") from None
    return None


def _may_be_missing(kind: Any) -> bool:
    """True for pandas' own and Arrow's numbers, which may be missing without being NaN."""
    return not isinstance(kind, np.dtype) and getattr(kind, "kind", "") in ("b", "i", "u", "f")


def _without_numbers(x: Any) -> list[str]:
    """The columns of a pandas or polars frame that hold something else."""

    def numbers(kind: Any) -> bool:
        if hasattr(kind, "is_numeric"):
            return kind.is_numeric() or str(kind) == "Boolean"
        if hasattr(kind, "categories"):
            return numbers(kind.categories.dtype)
        return getattr(kind, "kind", "O") in ("b", "i", "u", "f")

    return [str(name) for name, kind in zip(x.columns, x.dtypes) if not numbers(kind)]


def check_numbers(x: Any) -> None:
    """Raises for a frame with a column of something else, and for a sparse matrix that does not hold together."""
    if hasattr(x, "columns") and hasattr(x, "dtypes") and (others := _without_numbers(x)):
        raise DataError(f"column {others[0]!r} holds no numbers that can be read: drop it, or turn it into numbers")
    if hasattr(x, "tocsr") and len(x.shape) == 2:
        _check_sparse(x)


def unreadable(x: Any) -> DataError:
    """Says which place of `x` holds no number, never what it holds."""
    try:
        array = array_of(x)
    except DataError as error:
        return error
    for row, column in np.ndindex(array.shape) if array.dtype == object and array.ndim == 2 else ():
        try:
            float(array[row, column])
        except Exception:
            return DataError(f"row {row}, column {column}: cannot be turned into a number", row, column)
    return DataError("the rows cannot be turned into numbers")


def _matrix(x: Any, dim: int) -> np.ndarray:
    frame = _frame(x, dim)
    if frame is not None:
        return frame
    if np.ma.is_masked(x):
        raise DataError("some values are masked, and would be released as they lie under the mask: fill or drop them first")
    array = array_of(x)
    if array.ndim == 1 and array.dtype == object and len(array):  # a pandas column of lists or arrays
        array = _stacked(array, dim)
    if array.ndim == 0:
        raise _no_rows(x)
    if array.ndim != 2:
        raise DataError(f"vectors need 2 axes, with one vector per row; this array has {array.ndim}: reshape it")
    if array.shape[1] != dim:
        hint = ": give the column with the vectors" if array.shape[1] == 1 and array.dtype == object else ""
        raise DataError(f"rows have {array.shape[1]} attributes, expected {dim}{hint}")
    return array


def array_of(x: Any) -> np.ndarray:
    """`x` as an array. What goes wrong is told without the words of others, which may quote a value."""
    try:
        return np.asarray(x)
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(x, (list, tuple)) and any(word in str(error) for word in ("inhomogeneous", "broadcast")):  # numpy's
            raise DataError("rows must all have the same number of attributes") from None
    raise DataError(f"{type(x).__name__} cannot be turned into an array")


def _stacked(column: np.ndarray, dim: int) -> np.ndarray:
    rows = []
    for row, vector in enumerate(column):
        try:
            rows.append(array_of(vector))
        except DataError:
            raise DataError(f"row {row}: not a vector of {dim} attributes", row) from None
        if rows[row].shape != (dim,):
            raise DataError(f"row {row}: not a vector of {dim} attributes", row)
        if rows[row].dtype.kind not in "biuf":
            raise DataError(f"row {row}: not all of its attributes are numbers", row)
    return np.stack(rows)


def _dense(array: np.ndarray) -> Iterator[Dense]:
    target = _target(array.dtype)
    if target is None and array.flags.aligned and min(array.strides) >= 0:
        yield _view(array)
        return
    rows = max(1, _CONVERT_BYTES // max(1, 8 * array.shape[1]))
    for start in range(0, max(1, len(array)), rows):
        yield _view(_convert(array[start : start + rows], target))


def _target(dtype: np.dtype) -> np.dtype | None:
    """The type to convert to; None for one that is read as it is."""
    native: np.dtype = dtype.newbyteorder("=")
    if native.kind == "b":
        return np.dtype("u1")
    if native in _DIRECT:
        return None if dtype.isnative else native
    if native.str[1:] in _WIDER:
        return _WIDER[native.str[1:]]
    raise TypeError(f"dtype {dtype} cannot be read; convert to float16, float32, float64 or integers first")


def _convert(array: np.ndarray, target: np.dtype | None) -> np.ndarray:
    if array.dtype.newbyteorder("=").str[1:] == "u8":
        array = np.minimum(array, np.uint64(2**63 - 1))  # saturates, as clipping to the range does afterwards
    return np.require(array, target, ["C", "ALIGNED"])


def _view(array: np.ndarray) -> Dense:
    """The matrix as a flat array with strides: no copy."""
    rows, dim = array.shape
    size = array.itemsize
    if any(stride % size for stride in array.strides):
        array = np.ascontiguousarray(array)  # a field of records
    row_stride, column_stride = (stride // size for stride in array.strides)
    if rows == 0 or dim == 0:
        return Dense(np.empty(0, array.dtype), rows, dim, 0, 0)
    length = (rows - 1) * row_stride + (dim - 1) * column_stride + 1
    flat = np.lib.stride_tricks.as_strided(array, (length,), (size,), writeable=False)
    return Dense(flat, rows, dim, row_stride, column_stride)


def _sparse(x: Any, dim: int) -> Sparse:
    if len(x.shape) != 2 or x.shape[1] != dim:
        raise DataError(f"rows have {x.shape[-1]} attributes on {len(x.shape)} axes, expected {dim} on 2")
    _check_sparse(x)  # scipy itself would read past the end
    matrix = x.tocsr()
    if not matrix.has_canonical_format:  # repeated attributes would count twice against the sensitivity
        matrix = matrix.copy() if matrix is x else matrix
        matrix.sum_duplicates()
    index = matrix.indices
    if index.dtype.itemsize == 4:
        index = index.view(np.uint32)
    elif dim <= 2**32:
        index = index.astype(np.uint32)
    else:
        raise ParameterError("at most 2^32 attributes")
    target = _target(matrix.data.dtype)
    values = matrix.data if target is None else _convert(matrix.data, target)
    return Sparse(
        np.ascontiguousarray(matrix.indptr, dtype=np.uintp), np.ascontiguousarray(index), np.ascontiguousarray(values), dim
    )


def _check_sparse(x: Any) -> None:
    """Raises for offsets and indices that do not hold together."""
    form, (rows, dim) = getattr(x, "format", None), x.shape
    if form == "coo":
        at = _outside(x.row, rows)
        at = _outside(x.col, dim) if at is None else at
        if at is not None:
            raise _no_place(x.row[at], x.col[at], x.shape)
    elif form in ("csr", "csc"):
        starts, index, values = x.indptr, x.indices, x.data
        if not (starts.ndim == index.ndim == values.ndim == 1 and starts.dtype.kind in "iu" and index.dtype.kind in "iu"):
            raise DataError("indptr and indices of the sparse matrix must be integers on one axis")
        if len(starts) != (rows if form == "csr" else dim) + 1:
            raise DataError("indptr of the sparse matrix does not fit its shape")
        if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] > min(len(index), len(values)):
            raise DataError("indptr of the sparse matrix is inconsistent")
        at = _outside(index[: starts[-1]], dim if form == "csr" else rows)
        if at is not None:
            other = np.searchsorted(starts, at, side="right") - 1
            row, column = (other, index[at]) if form == "csr" else (index[at], other)
            raise _no_place(row, column, x.shape)


def _outside(index: np.ndarray, below: int) -> int | None:
    """Where the first index is that is negative or too large."""
    if len(index) == 0 or 0 <= index.min() <= index.max() < below:
        return None
    return int(np.argmax((index < 0) | (index >= below)))


def _no_place(row: Any, column: Any, shape: tuple[int, int]) -> DataError:
    row, column = int(row), int(column)
    return DataError(f"row {row}, column {column}: outside the shape {shape} of the sparse matrix", row, column)


def rows_of(x: Any) -> int:
    """How many rows there are."""
    _check_kind(x)
    try:
        return int(x.shape[0]) if hasattr(x, "shape") else len(x)
    except (TypeError, IndexError):
        raise _no_rows(x) from None


def _no_rows(x: Any) -> TypeError:
    return TypeError(
        f"{type(x).__name__} holds no rows: give a 2-dimensional array, a sparse matrix, or an Arrow column of lists"
    )


def dim_of(x: Any) -> int:
    """How many attributes a row has."""
    _check_kind(x)
    try:
        return int(x.shape[1]) if len(getattr(x, "shape", ())) == 2 else len(x[0])
    except (TypeError, IndexError, KeyError):
        raise DataError("vectors need 2 axes, with one vector per row, and at least one row") from None


def names(column: Any, rows: int, what: str) -> list[Any] | None:
    """Ids or labels as a list of int, float or str."""
    if column is None:
        return None
    if hasattr(column, "to_pylist"):  # pyarrow
        column = column.to_pylist()
    if not hasattr(column, "__array__") and not isinstance(column, Iterable):
        raise TypeError(f"{what} must be one for each row, got {type(column).__name__}")
    array = array_of(column) if hasattr(column, "__array__") else np.array([*column, None], dtype=object)[:-1]
    if array.ndim != 1 or len(array) != rows:
        raise DataError(f"{what} must be one for each of the {rows} rows")
    listed: list[Any] = [None] * rows if array.dtype.kind in "mM" else array.tolist()  # a time is no name
    if array.dtype.kind in "ib":
        return [int(value) for value in listed] if array.dtype.kind == "b" else listed
    kinds = [_kind(value, what) for value in listed]
    if what == "labels" and set(kinds) == {int, float}:
        kinds = [float] * rows
    for row, kind in enumerate(kinds):
        if kind is None or kind is not kinds[0]:
            allowed = "numbers or all strings" if what == "labels" else "64-bit integers or all strings"
            raise DataError(f"row {row}: {what} must be all {allowed}", row)
    plain = [kind(value) for kind, value in zip(kinds, listed) if kind is not None]
    if kinds[:1] == [str]:
        _check_text(plain, what)
    return plain


def _check_text(texts: list[str], what: str) -> None:
    """Raises for text that no file would give back as it was, and for ids and labels that would not show as they are."""
    wrong = _NO_TEXT if what == "persons" else _UNSEEN
    if not wrong.search("".join(texts)):
        return
    for row, text in enumerate(texts):
        if _NO_TEXT.search(text):
            raise DataError(f"row {row}: its {what[:-1]} is not text: it has half of a surrogate pair", row)
        if wrong.search(text):
            raise DataError(f"row {row}: its {what[:-1]} contains a line break or another control character; replace it", row)


def persons(column: Any, most: Any, delta: float | None, rows: int) -> tuple[list[Any], int, float | None] | None:
    """Whose row each is, the most rows of a person that leave, and the delta for all of them."""
    if column is None:
        if most is not None or delta is not None:
            raise ParameterError("rows_per_person and person_delta need persons, one for each row")
        return None
    if most is None:
        raise ParameterError("persons need rows_per_person, the most rows of a person that leave")
    most, delta = _checks.whole("rows_per_person", most, least=1), _checks.real("person_delta", delta)
    named = names(column, rows, "persons")
    assert named is not None
    return named, most, delta


def _kind(value: Any, what: str) -> type | None:
    """int, str, and for labels float; None for what cannot be kept."""
    if isinstance(value, str):
        return str
    if isinstance(value, (int, np.integer)):
        return int if -(2**63) <= value < 2**63 else None
    return float if what == "labels" and isinstance(value, (float, np.floating)) else None


def unique(ids: list[Any]) -> None:
    """Raises for an id that occurs twice."""
    seen: dict[Any, int] = {}
    for row, value in enumerate(ids):
        first = seen.setdefault(value, row)
        if first != row:
            raise DataError(f"row {row}: its id is that of row {first}; ids must be unique", row)


def whole(x: Any, dim: int) -> Any:
    """All rows as one block."""
    if hasattr(x, "combine_chunks"):
        x = x.combine_chunks()
    parts = list(blocks(x, dim))
    if len(parts) > 1:
        array = _matrix(x, dim)
        return _view(_convert(array, _target(array.dtype)))
    return parts[0]
