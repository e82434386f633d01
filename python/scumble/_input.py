"""Turns numpy, scipy and Arrow objects into views that the compiled part reads where they lie."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._errors import DataError, ParameterError

# Types that the library reads as they are. The others are converted a few rows at a time.
_DIRECT = frozenset(np.dtype(t) for t in ("f2", "f4", "f8", "u1", "i1", "i2", "i4", "i8"))
_WIDER: dict[str, np.dtype] = {"u2": np.dtype("i4"), "u4": np.dtype("i8"), "u8": np.dtype("i8")}
_CONVERT_BYTES = 8 << 20


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
    if hasattr(x, "tocsr") and hasattr(x, "nnz"):
        yield _sparse(x, dim)
    elif not isinstance(x, np.ndarray) and (hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")):
        if hasattr(x, "columns") and hasattr(x, "to_numpy"):  # pandas, polars: one attribute a column
            yield from _dense(_matrix(x, dim))
            return
        if hasattr(x, "schema"):
            raise TypeError("this is a table: give the column with the vectors, such as table['vector']")
        yield x
    else:
        yield from _dense(_matrix(x, dim))


def _matrix(x: Any, dim: int) -> np.ndarray:
    array = np.asarray(x)
    if array.ndim != 2:
        raise DataError(f"vectors need 2 axes, one row each; this array has {array.ndim}: reshape it")
    if array.shape[1] != dim:
        raise DataError(f"rows have {array.shape[1]} attributes, expected {dim}")
    return array


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
    if x.shape[1] != dim:
        raise DataError(f"rows have {x.shape[1]} attributes, expected {dim}")
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


def rows_of(x: Any) -> int:
    """How many rows there are."""
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def names(column: Any, rows: int, what: str) -> list[Any] | None:
    """Ids or labels as a list of int, float or str."""
    if column is None:
        return None
    if hasattr(column, "to_pylist"):  # pyarrow
        column = column.to_pylist()
    array = np.asarray(column)
    if array.ndim != 1 or len(array) != rows:
        raise DataError(f"{what} must be one for each of the {rows} rows")
    if array.dtype.kind in "iub":
        if array.dtype.kind == "u" and len(array) and int(array.max()) > 2**63 - 1:
            raise DataError(f"{what} must fit 64-bit signed integers")
        return array.astype(np.int64).tolist()
    if array.dtype.kind == "f" and what == "labels":
        return array.astype(np.float64).tolist()
    listed = array.tolist()
    for row, value in enumerate(listed):
        if not isinstance(value, str):
            allowed = "integers or strings" if what == "ids" else "numbers or strings"
            raise DataError(f"row {row}: {what} must be {allowed}", row)
    return listed


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
