//! Views of private rows: raw scalars in place in memory, and one row on the grid.

use super::Grid;
use crate::error::{DataError, DataErrorKind};
use half::f16;
use std::fmt;
use zeroize::Zeroize;

/// Scalars in place in memory: they are never copied.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub enum Scalars<'a> {
    F16(&'a [f16]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    U8(&'a [u8]),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
}

impl Scalars<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::F16(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::U8(v) => v.len(),
            Self::I8(v) => v.len(),
            Self::I16(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
        }
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn quantise(&self, at: usize, grid: &Grid) -> Result<i32, DataErrorKind> {
        match self {
            Self::F16(v) => grid.quantise(v[at].to_f64()),
            Self::F32(v) => grid.quantise(f64::from(v[at])),
            Self::F64(v) => grid.quantise(v[at]),
            Self::U8(v) => Ok(grid.quantise_integer(i64::from(v[at]))),
            Self::I8(v) => Ok(grid.quantise_integer(i64::from(v[at]))),
            Self::I16(v) => Ok(grid.quantise_integer(i64::from(v[at]))),
            Self::I32(v) => Ok(grid.quantise_integer(i64::from(v[at]))),
            Self::I64(v) => Ok(grid.quantise_integer(v[at])),
        }
    }

    /// The value as a float, for evaluation on the private side only.
    #[inline]
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Self::F16(v) => v[at].to_f64(),
            Self::F32(v) => f64::from(v[at]),
            Self::F64(v) => v[at],
            Self::U8(v) => f64::from(v[at]),
            Self::I8(v) => f64::from(v[at]),
            Self::I16(v) => f64::from(v[at]),
            Self::I32(v) => f64::from(v[at]),
            Self::I64(v) => v[at] as f64,
        }
    }
}

/// How the rows are laid out in memory.
#[derive(Clone, Copy)]
pub enum Layout<'a> {
    /// Element (i, j) is at `i*row_stride + j*column_stride`: C and Fortran order alike.
    Dense {
        /// The scalars.
        values: Scalars<'a>,
        /// Distance between rows.
        row_stride: usize,
        /// Distance between columns.
        column_stride: usize,
    },
    /// Compressed sparse rows: row i owns `offsets[i]..offsets[i+1]` of `index` and `values`.
    Sparse {
        /// One more than there are rows.
        offsets: &'a [usize],
        /// Attributes, strictly increasing within a row.
        index: &'a [u32],
        /// Their values.
        values: Scalars<'a>,
    },
}

/// A block of private rows. Prints its shape only.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    len: usize,
    dim: usize,
    layout: Layout<'a>,
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} x {})", self.len, self.dim)
    }
}

impl<'a> Rows<'a> {
    /// Every attribute of a row that is not zero, in order: for rows that may be looked at, such as a public sample.
    pub fn for_each_value(&self, row: usize, mut take: impl FnMut(usize, f64)) {
        match self.layout {
            Layout::Dense { values, row_stride, column_stride } => {
                for attribute in 0..self.dim {
                    let value = values.get(row * row_stride + attribute * column_stride);
                    if value != 0.0 {
                        take(attribute, value);
                    }
                }
            }
            Layout::Sparse { offsets, index, values } => {
                let places = offsets[row]..offsets[row + 1];
                for (at, &attribute) in places.clone().zip(&index[places]) {
                    let value = values.get(at);
                    if value != 0.0 {
                        take(attribute as usize, value);
                    }
                }
            }
        }
    }

    /// Dense rows in C order.
    ///
    /// # Panics
    /// If `values` does not hold a whole number of rows.
    pub fn dense(values: Scalars<'a>, dim: usize) -> Self {
        assert!(dim > 0 && values.len().is_multiple_of(dim), "dense rows must be whole");
        let len = values.len() / dim;
        Self { len, dim, layout: Layout::Dense { values, row_stride: dim, column_stride: 1 } }
    }

    /// Dense rows with strides, as numpy has them.
    ///
    /// # Panics
    /// If the last element lies outside `values`.
    pub fn strided(values: Scalars<'a>, len: usize, dim: usize, row_stride: usize, column_stride: usize) -> Self {
        let last = len.saturating_sub(1) * row_stride + dim.saturating_sub(1) * column_stride;
        assert!(len == 0 || dim == 0 || last < values.len(), "strides leave the buffer");
        Self { len, dim, layout: Layout::Dense { values, row_stride, column_stride } }
    }

    /// Sparse rows (CSR).
    ///
    /// # Panics
    /// If the offsets do not rise or leave the buffers. Indices are checked row by row when they are read.
    pub fn sparse(offsets: &'a [usize], index: &'a [u32], values: Scalars<'a>, dim: usize) -> Self {
        assert!(!offsets.is_empty() && offsets.windows(2).all(|w| w[0] <= w[1]), "offsets must rise");
        let end = *offsets.last().expect("not empty");
        assert!(end <= index.len() && end <= values.len(), "offsets leave the buffers");
        Self { len: offsets.len() - 1, dim, layout: Layout::Sparse { offsets, index, values } }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of attributes, `p`.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How they are laid out in memory.
    pub fn layout(&self) -> Layout<'a> {
        self.layout
    }

    /// True for compressed sparse rows.
    pub fn is_sparse(&self) -> bool {
        matches!(self.layout, Layout::Sparse { .. })
    }

    /// A sub-block, without copying.
    pub fn slice(&self, start: usize, len: usize) -> Self {
        assert!(start + len <= self.len, "slice leaves the block");
        let layout = match self.layout {
            Layout::Dense { values, row_stride, column_stride } => {
                let from = (start * row_stride).min(values.len());
                macro_rules! cut {
                    ($($kind:ident)*) => { match values { $(Scalars::$kind(v) => Scalars::$kind(&v[from..]),)* } };
                }
                Layout::Dense { values: cut!(F16 F32 F64 U8 I8 I16 I32 I64), row_stride, column_stride }
            }
            Layout::Sparse { offsets, index, values } => {
                Layout::Sparse { offsets: &offsets[start..=start + len], index, values }
            }
        };
        Self { len, dim: self.dim, layout }
    }

    /// Row `i` on the grid, into `buffer`. The error carries `first_row + i`.
    pub fn quantise<'b>(
        &self,
        i: usize,
        grid: &Grid,
        first_row: u64,
        buffer: &'b mut QuantisedRow,
    ) -> Result<PrivateRow<'b>, DataError> {
        let fault = |column: usize, kind| DataError { row: first_row + i as u64, column: Some(column as u64), kind };
        buffer.value.clear();
        buffer.index.clear();
        match self.layout {
            Layout::Dense { values, row_stride, column_stride } => {
                for j in 0..self.dim {
                    let q = values.quantise(i * row_stride + j * column_stride, grid).map_err(|kind| fault(j, kind))?;
                    buffer.value.push(q);
                }
                Ok(PrivateRow::Dense(&buffer.value))
            }
            Layout::Sparse { offsets, index, values } => {
                if !grid.range().holds_zero() {
                    let row = first_row + i as u64;
                    return Err(DataError { row, column: None, kind: DataErrorKind::SparseRange });
                }
                let mut last = None;
                let from = offsets[i];
                for (at, &attribute) in index[from..offsets[i + 1]].iter().enumerate() {
                    let j = attribute as usize;
                    if j >= self.dim {
                        let kind = DataErrorKind::IndexOutOfRange { index: j as u64, dim: self.dim as u64 };
                        return Err(fault(j, kind));
                    }
                    if last.is_some_and(|l| l >= j) {
                        return Err(fault(j, DataErrorKind::IndexOrder));
                    }
                    last = Some(j);
                    let q = values.quantise(from + at, grid).map_err(|kind| fault(j, kind))?;
                    buffer.index.push(attribute);
                    buffer.value.push(q);
                }
                Ok(PrivateRow::Sparse { dim: self.dim, index: &buffer.index, value: &buffer.value })
            }
        }
    }

    /// Row `i` as floats into `out`, for evaluation on the private side only.
    pub fn row_f64(&self, i: usize, out: &mut [f64]) {
        match self.layout {
            Layout::Dense { values, row_stride, column_stride } => {
                for (j, x) in out.iter_mut().enumerate() {
                    *x = values.get(i * row_stride + j * column_stride);
                }
            }
            Layout::Sparse { offsets, index, values } => {
                out.fill(0.0);
                for at in offsets[i]..offsets[i + 1] {
                    out[index[at] as usize] = values.get(at);
                }
            }
        }
    }
}

/// Room for one row on the grid, reused from row to row. Prints its shape only, wiped when dropped.
#[derive(Default)]
pub struct QuantisedRow {
    index: Vec<u32>,
    value: Vec<i32>,
}

impl Drop for QuantisedRow {
    fn drop(&mut self) {
        self.index.zeroize();
        self.value.zeroize();
    }
}

impl QuantisedRow {
    /// Room for every attribute of a row.
    pub(crate) fn dense(&mut self, dim: usize) -> &mut [i32] {
        self.value.resize(dim, 0);
        &mut self.value
    }
}

impl fmt::Debug for QuantisedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QuantisedRow({} values)", self.value.len())
    }
}

/// One private row, p integers on the grid. Prints its shape only.
#[derive(Clone, Copy)]
pub enum PrivateRow<'a> {
    /// Every attribute.
    Dense(&'a [i32]),
    /// The attributes that are not zero.
    Sparse {
        /// Number of attributes, `p`.
        dim: usize,
        /// Attributes, strictly increasing.
        index: &'a [u32],
        /// Their values on the grid.
        value: &'a [i32],
    },
}

impl fmt::Debug for PrivateRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dense(v) => write!(f, "PrivateRow(dense, {})", v.len()),
            Self::Sparse { dim, .. } => write!(f, "PrivateRow(sparse, {dim})"),
        }
    }
}

impl PrivateRow<'_> {
    /// Number of attributes, `p`.
    pub fn dim(&self) -> usize {
        match self {
            Self::Dense(v) => v.len(),
            Self::Sparse { dim, .. } => *dim,
        }
    }

    /// The attributes that are not zero, with their values.
    pub fn entries(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        let (index, value) = match self {
            Self::Dense(v) => (None, *v),
            Self::Sparse { index, value, .. } => (Some(*index), *value),
        };
        value
            .iter()
            .enumerate()
            .filter(|(_, q)| **q != 0)
            .map(move |(at, q)| (index.map_or(at, |index| index[at] as usize), i64::from(*q)))
    }

    /// `|u|^2` in squared grid steps.
    pub fn squared_norm(&self) -> u128 {
        self.entries().map(|(_, q)| (q * q) as u128).sum()
    }
}
