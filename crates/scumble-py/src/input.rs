//! Private rows as Python holds them, read in place.

use crate::capsule::Chunks;
use crate::errors::{OrRaise, raise};
use crate::record_batch::from_arrow;
use arrow_array::RecordBatch;
use half::f16;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use scumble::files::{Batch, ReadOptions};
use scumble::vectors::{Rows, Scalars};

/// A contiguous numpy array of one of the types that the library reads.
#[derive(FromPyObject)]
pub enum Values<'py> {
    F16(PyReadonlyArray1<'py, f16>),
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
    U8(PyReadonlyArray1<'py, u8>),
    I8(PyReadonlyArray1<'py, i8>),
    I16(PyReadonlyArray1<'py, i16>),
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
}

impl Values<'_> {
    fn scalars(&self) -> PyResult<Scalars<'_>> {
        Ok(match self {
            Self::F16(v) => Scalars::F16(v.as_slice()?),
            Self::F32(v) => Scalars::F32(v.as_slice()?),
            Self::F64(v) => Scalars::F64(v.as_slice()?),
            Self::U8(v) => Scalars::U8(v.as_slice()?),
            Self::I8(v) => Scalars::I8(v.as_slice()?),
            Self::I16(v) => Scalars::I16(v.as_slice()?),
            Self::I32(v) => Scalars::I32(v.as_slice()?),
            Self::I64(v) => Scalars::I64(v.as_slice()?),
        })
    }
}

/// `scumble._input.Dense`: a view with strides counted in elements.
#[derive(FromPyObject)]
pub struct Dense<'py> {
    values: Values<'py>,
    rows: usize,
    dim: usize,
    row_stride: usize,
    column_stride: usize,
}

/// `scumble._input.Sparse`: compressed sparse rows.
#[derive(FromPyObject)]
pub struct Sparse<'py> {
    offsets: PyReadonlyArray1<'py, usize>,
    index: PyReadonlyArray1<'py, u32>,
    values: Values<'py>,
    dim: usize,
}

/// Whatever Python hands over.
#[derive(FromPyObject)]
pub enum Input<'py> {
    Dense(Dense<'py>),
    Sparse(Sparse<'py>),
    Arrow(Chunks),
}

/// What must stay alive while [`Rows`] refer to it.
pub enum Held<'py> {
    Dense(Dense<'py>),
    Sparse(Sparse<'py>),
    Arrow(Vec<Batch>),
}

impl<'py> Input<'py> {
    /// Checks Arrow's lists; `dim` is what their lengths must be, `first_row` the number of the first row.
    pub fn hold(self, py: Python<'_>, dim: usize, first_row: u64) -> PyResult<Held<'py>> {
        let chunks = match self {
            Self::Dense(dense) => return Ok(Held::Dense(dense)),
            Self::Sparse(sparse) => return Ok(Held::Sparse(sparse)),
            Self::Arrow(Chunks(chunks)) => chunks,
        };
        let options = ReadOptions { dim: Some(dim), ..Default::default() };
        let mut next = first_row;
        let mut batches = Vec::new();
        for chunk in chunks {
            if chunk.is_empty() {
                continue;
            }
            let rows = chunk.len() as u64;
            let batch = RecordBatch::try_from_iter_with_nullable([(options.column.as_str(), chunk, true)])
                .map_err(|e| raise(py, "DataError", e))?;
            batches.push(from_arrow("arrow", &batch, &options, next).or_raise(py)?);
            next += rows;
        }
        Ok(Held::Arrow(batches))
    }
}

impl Held<'_> {
    /// Views of the rows, without copying.
    pub fn blocks(&self) -> PyResult<Vec<Rows<'_>>> {
        Ok(match self {
            Self::Dense(d) => {
                vec![Rows::strided(d.values.scalars()?, d.rows, d.dim, d.row_stride, d.column_stride)]
            }
            Self::Sparse(s) => {
                vec![Rows::sparse(s.offsets.as_slice()?, s.index.as_slice()?, s.values.scalars()?, s.dim)]
            }
            Self::Arrow(batches) => batches.iter().map(Batch::rows).collect(),
        })
    }

    /// The rows, which must be in one piece.
    pub fn whole(&self, py: Python<'_>) -> PyResult<Rows<'_>> {
        match self.blocks()?[..] {
            [rows] => Ok(rows),
            _ => Err(raise(py, "DataError", "give the vectors in one piece: a numpy array, or combine_chunks()")),
        }
    }
}
