//! A block of private rows as it came from a file: decoded in place, or parsed.

use crate::columns::Column;
use arrow::buffer::ScalarBuffer;
use half::f16;
use scumble_core::vectors::{Rows, Scalars};
use std::fmt;

macro_rules! values {
    ($($kind:ident($type:ty)),*) => {
        /// Scalars that are owned, shared with Arrow, or in a reader's buffer: one type for all three.
        #[derive(Clone)]
        pub(super) enum Values { $($kind(ScalarBuffer<$type>)),* }

        impl Values {
            pub(super) fn view(&self) -> Scalars<'_> {
                match self { $(Self::$kind(v) => Scalars::$kind(v)),* }
            }

            /// `len` scalars from `start` on, shared.
            pub(super) fn slice(&self, start: usize, len: usize) -> Self {
                match self { $(Self::$kind(v) => Self::$kind(v.slice(start, len))),* }
            }

            /// All rows of all batches in C order. The batches are of one file, so of one type.
            fn concatenate(batches: &[Batch]) -> Self {
                match &batches[0].values {
                    $(Self::$kind(_) => {
                        let total = batches.iter().map(|batch| batch.values.view().len()).sum();
                        let mut all: Vec<$type> = Vec::with_capacity(total);
                        for batch in batches {
                            let Self::$kind(v) = &batch.values else { unreachable!("one file, one type") };
                            match batch.layout {
                                Layout::Dense { row_stride, column_stride: 1 } if row_stride == batch.dim => {
                                    all.extend_from_slice(&v[..batch.len * batch.dim]);
                                }
                                Layout::Dense { row_stride, column_stride } => {
                                    for i in 0..batch.len {
                                        all.extend((0..batch.dim).map(|j| v[i * row_stride + j * column_stride]));
                                    }
                                }
                                Layout::Sparse { .. } => all.extend_from_slice(v),
                            }
                        }
                        Self::$kind(all.into())
                    })*
                }
            }
        }
    };
}
values!(F16(f16), F32(f32), F64(f64), U8(u8), I8(i8), I16(i16), I32(i32), I64(i64));

/// How the values lie.
pub(super) enum Layout {
    Dense { row_stride: usize, column_stride: usize },
    Sparse { offsets: Vec<usize>, index: Vec<u32> },
}

/// A block of private rows with their ids and labels. Prints its shape only.
pub struct Batch {
    pub(super) first_row: u64,
    pub(super) len: usize,
    pub(super) dim: usize,
    pub(super) values: Values,
    pub(super) layout: Layout,
    pub(super) ids: Option<Column>,
    pub(super) labels: Option<Column>,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} x {})", self.len, self.dim)
    }
}

impl Batch {
    /// Rows in C order without ids and labels.
    pub(super) fn dense(first_row: u64, dim: usize, values: Values) -> Self {
        let len = values.view().len() / dim;
        let layout = Layout::Dense { row_stride: dim, column_stride: 1 };
        Self { first_row, len, dim, values, layout, ids: None, labels: None }
    }

    /// The rows.
    pub fn rows(&self) -> Rows<'_> {
        let values = self.values.view();
        match &self.layout {
            Layout::Dense { row_stride, column_stride } => {
                Rows::strided(values, self.len, self.dim, *row_stride, *column_stride)
            }
            Layout::Sparse { offsets, index } => Rows::sparse(offsets, index, values, self.dim),
        }
    }

    /// Number of the first row, counted from 0 over the whole input.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The ids, if the input has them.
    pub fn ids(&self) -> Option<&Column> {
        self.ids.as_ref()
    }

    /// The labels, if the input has them.
    pub fn labels(&self) -> Option<&Column> {
        self.labels.as_ref()
    }

    /// One batch with all rows of consecutive batches of one source.
    pub(super) fn concatenate(mut batches: Vec<Self>) -> Option<Self> {
        if batches.len() < 2 {
            return batches.pop();
        }
        let values = Values::concatenate(&batches);
        let len = batches.iter().map(|batch| batch.len).sum();
        let Self { first_row, dim, layout, mut ids, mut labels, .. } = batches.remove(0);
        let mut layout = match layout {
            Layout::Dense { .. } => Layout::Dense { row_stride: dim, column_stride: 1 },
            sparse => sparse,
        };
        for batch in batches {
            if let (Layout::Sparse { offsets, index }, Layout::Sparse { offsets: more, index: columns }) =
                (&mut layout, &batch.layout)
            {
                let base = index.len();
                offsets.extend(more[1..].iter().map(|at| base + at));
                index.extend_from_slice(columns);
            }
            for (all, more) in [(&mut ids, batch.ids), (&mut labels, batch.labels)] {
                if let (Some(all), Some(more)) = (all, more) {
                    assert!(all.append(more), "one file, one kind of column");
                }
            }
        }
        Some(Self { first_row, len, dim, values, layout, ids, labels })
    }
}
