//! Rows as floats, for evaluation only: a copy of private rows, or released values.

use super::random::Fixed;
use crate::search::dot;
use scumble_core::vectors::{Layout, Rows, Scalars};
use std::fmt;

/// A matrix of `f32` rows, dense or sparse. Prints its shape only: it may hold private rows.
#[derive(Clone)]
pub struct Features {
    dim: usize,
    store: Store,
}

#[derive(Clone)]
enum Store {
    Dense(Vec<f32>),
    Sparse { offsets: Vec<usize>, index: Vec<u32>, value: Vec<f32> },
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Features({} x {})", self.len(), self.dim)
    }
}

impl Features {
    /// Dense rows, one after the other.
    ///
    /// # Panics
    /// If `values` does not hold a whole number of rows.
    pub fn dense(values: Vec<f32>, dim: usize) -> Self {
        assert!(dim > 0 && values.len().is_multiple_of(dim), "dense rows must be whole");
        Self { dim, store: Store::Dense(values) }
    }

    /// Sparse rows: row i owns `offsets[i]..offsets[i+1]`.
    ///
    /// # Panics
    /// If offsets or indices leave their bounds.
    pub fn sparse(offsets: Vec<usize>, index: Vec<u32>, value: Vec<f32>, dim: usize) -> Self {
        assert!(offsets.windows(2).all(|w| w[0] <= w[1]) && offsets.last() == Some(&index.len()), "offsets must rise");
        assert!(index.len() == value.len() && index.iter().all(|j| (*j as usize) < dim), "indices leave the dimension");
        Self { dim, store: Store::Sparse { offsets, index, value } }
    }

    /// A copy of private rows.
    pub fn from_rows(rows: &Rows<'_>) -> Self {
        match rows.layout() {
            Layout::Dense { values, row_stride, column_stride } => {
                let mut copy = Vec::with_capacity(rows.len() * rows.dim());
                for i in 0..rows.len() {
                    copy.extend((0..rows.dim()).map(|j| values.get(i * row_stride + j * column_stride) as f32));
                }
                Self::dense(copy, rows.dim())
            }
            Layout::Sparse { offsets, index, values } => {
                let first = offsets[0];
                let last = offsets[rows.len()];
                let value = (first..last).map(|at| values.get(at) as f32).collect();
                let offsets = offsets[..=rows.len()].iter().map(|o| o - first).collect();
                Self::sparse(offsets, index[first..last].to_vec(), value, rows.dim())
            }
        }
    }

    /// A view of the rows, as a mechanism takes them.
    pub fn rows(&self) -> Rows<'_> {
        match &self.store {
            Store::Dense(values) => Rows::dense(Scalars::F32(values), self.dim),
            Store::Sparse { offsets, index, value } => Rows::sparse(offsets, index, Scalars::F32(value), self.dim),
        }
    }

    /// All row numbers in a fixed random order, to hold rows out of files that are sorted.
    pub fn shuffled_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        Fixed::new(0x5CB1_0DE2).shuffle(&mut order);
        order
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.store {
            Store::Dense(values) => values.len() / self.dim,
            Store::Sparse { offsets, .. } => offsets.len() - 1,
        }
    }

    /// True when there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of attributes.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The rows at `keep`, in that order.
    pub fn select(&self, keep: &[usize]) -> Self {
        match &self.store {
            Store::Dense(values) => {
                let rows = keep.iter().flat_map(|i| &values[i * self.dim..(i + 1) * self.dim]);
                Self { dim: self.dim, store: Store::Dense(rows.copied().collect()) }
            }
            Store::Sparse { .. } => {
                let (mut offsets, mut index, mut value) = (vec![0], Vec::new(), Vec::new());
                for i in keep {
                    if let Row::Sparse(j, x) = self.row(*i) {
                        index.extend_from_slice(j);
                        value.extend_from_slice(x);
                    }
                    offsets.push(index.len());
                }
                Self { dim: self.dim, store: Store::Sparse { offsets, index, value } }
            }
        }
    }

    /// Every row divided by its Euclidean norm; a row of zeros stays.
    pub fn normalised(mut self) -> Self {
        let scale = |row: &mut [f32]| {
            let norm = dot(row, row).sqrt();
            if norm > 0.0 {
                row.iter_mut().for_each(|x| *x /= norm);
            }
        };
        match &mut self.store {
            Store::Dense(values) => values.chunks_exact_mut(self.dim).for_each(scale),
            Store::Sparse { offsets, value, .. } => {
                offsets.windows(2).for_each(|ends| scale(&mut value[ends[0]..ends[1]]));
            }
        }
        self
    }

    /// One row.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        match &self.store {
            Store::Dense(values) => Row::Dense(&values[i * self.dim..(i + 1) * self.dim]),
            Store::Sparse { offsets, index, value } => {
                let (from, to) = (offsets[i], offsets[i + 1]);
                Row::Sparse(&index[from..to], &value[from..to])
            }
        }
    }

    /// All values in C order, when the rows are dense.
    pub(crate) fn as_dense(&self) -> Option<&[f32]> {
        match &self.store {
            Store::Dense(values) => Some(values),
            Store::Sparse { .. } => None,
        }
    }
}

/// One row of [`Features`].
#[derive(Clone, Copy)]
pub enum Row<'a> {
    Dense(&'a [f32]),
    Sparse(&'a [u32], &'a [f32]),
}

impl Row<'_> {
    #[inline]
    pub fn dot(&self, w: &[f32]) -> f32 {
        match self {
            Self::Dense(x) => dot(x, w),
            Self::Sparse(index, x) => index.iter().zip(*x).map(|(j, x)| x * w[*j as usize]).sum(),
        }
    }

    /// `w += scale * row`.
    #[inline]
    pub fn add_to(&self, w: &mut [f32], scale: f32) {
        match self {
            Self::Dense(x) => w.iter_mut().zip(*x).for_each(|(w, x)| *w += scale * x),
            Self::Sparse(index, x) => index.iter().zip(*x).for_each(|(j, x)| w[*j as usize] += scale * x),
        }
    }

    #[inline]
    pub fn squared_norm(&self) -> f32 {
        match self {
            Self::Dense(x) | Self::Sparse(_, x) => dot(x, x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_copies_agree() {
        let dense = [0u8, 3, 0, 4, 0, 0];
        let from_dense = Features::from_rows(&Rows::dense(Scalars::U8(&dense), 3));
        let (offsets, index, value) = ([0, 1, 2], [1u32, 0], [3u8, 4]);
        let from_sparse = Features::from_rows(&Rows::sparse(&offsets, &index, Scalars::U8(&value), 3));
        let w = [1.0, 10.0, 100.0];
        for i in 0..2 {
            assert_eq!(from_dense.row(i).dot(&w), from_sparse.row(i).dot(&w));
            assert_eq!(from_dense.row(i).squared_norm(), from_sparse.row(i).squared_norm());
        }
        assert_eq!(from_sparse.select(&[1, 1, 0]).row(2).dot(&w), 30.0);
        assert_eq!(from_dense.normalised().row(1).dot(&w), 1.0);
        assert_eq!(format!("{from_sparse:?}"), "Features(2 x 3)");
    }
}
