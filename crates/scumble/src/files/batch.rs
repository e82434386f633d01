//! A block of private rows as it came from a file: decoded in place, or parsed.

use super::error::ReadError;
use crate::columns::Column;
use half::f16;
use scumble_core::vectors::{Rows, Scalars};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable};

/// Scalars that are owned, in a reader's buffer, or in the memory of another library: shared, never copied.
pub struct Shared<T> {
    owner: Arc<dyn AsRef<[T]> + Send + Sync>,
    start: usize,
    len: usize,
}

impl<T> Shared<T> {
    /// Shares all scalars of their owner.
    pub fn new(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        let len = owner.as_ref().len();
        Self { owner: Arc::new(owner), start: 0, len }
    }

    /// `len` scalars from `start` on.
    ///
    /// # Panics
    /// If there are not that many.
    pub fn slice(&self, start: usize, len: usize) -> Self {
        assert!(start <= self.len && len <= self.len - start, "a slice is inside its whole");
        Self { owner: self.owner.clone(), start: self.start + start, len }
    }
}

impl<T: FromBytes + Immutable> Shared<T> {
    /// Bytes as scalars of the machine's byte order.
    ///
    /// # Panics
    /// If they are not aligned, or not a whole number of scalars.
    pub(super) fn cast(bytes: Shared<u8>) -> Self {
        struct Cast(Shared<u8>);
        impl<T: FromBytes + Immutable> AsRef<[T]> for Cast {
            fn as_ref(&self) -> &[T] {
                <[T]>::ref_from_bytes(&self.0).expect("aligned and whole")
            }
        }
        Self::new(Cast(bytes))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { owner: self.owner.clone(), start: self.start, len: self.len }
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({} scalars)", self.len)
    }
}

impl<T> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &(*self.owner).as_ref()[self.start..self.start + self.len]
    }
}

impl<T: Send + Sync + 'static> From<Vec<T>> for Shared<T> {
    fn from(values: Vec<T>) -> Self {
        Self::new(values)
    }
}

macro_rules! values {
    ($($kind:ident($type:ty)),*) => {
        /// Scalars of any type.
        #[derive(Debug, Clone)]
        #[allow(missing_docs)]
        pub enum Values { $($kind(Shared<$type>)),* }

        impl Values {
            /// The scalars in place.
            pub fn view(&self) -> Scalars<'_> {
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
                            let v: &[$type] = v;
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

/// How the values are laid out.
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
    pub(super) persons: Option<Column>,
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Batch({} x {})", self.len, self.dim)
    }
}

impl Batch {
    /// Rows in C order without ids and labels; the first of them has the number `first_row`.
    ///
    /// # Panics
    /// If `dim` is 0.
    pub fn dense(first_row: u64, dim: usize, values: Values) -> Self {
        let len = values.view().len() / dim;
        let layout = Layout::Dense { row_stride: dim, column_stride: 1 };
        Self { first_row, len, dim, values, layout, ids: None, labels: None, persons: None }
    }

    /// The same rows with these ids and labels.
    #[must_use]
    pub fn with(self, ids: Option<Column>, labels: Option<Column>) -> Self {
        Self { ids, labels, ..self }
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

    /// Whose rows they are, if the input was asked.
    pub fn persons(&self) -> Option<&Column> {
        self.persons.as_ref()
    }

    /// One batch with all rows of consecutive batches of one source.
    pub(super) fn concatenate(mut batches: Vec<Self>) -> Option<Self> {
        if batches.len() < 2 {
            return batches.pop();
        }
        let values = Values::concatenate(&batches);
        let len = batches.iter().map(|batch| batch.len).sum();
        let Self { first_row, dim, layout, mut ids, mut labels, mut persons, .. } = batches.remove(0);
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
            for (all, more) in [(&mut ids, batch.ids), (&mut labels, batch.labels), (&mut persons, batch.persons)] {
                if let (Some(all), Some(more)) = (all, more) {
                    assert!(all.append(more), "one file, one kind of column");
                }
            }
        }
        Some(Self { first_row, len, dim, values, layout, ids, labels, persons })
    }
}

/// Rows of an input that nobody has decoded yet. What must be read in the order of the file is here; the rest is read
/// when the piece is decoded, on any thread.
pub struct Piece {
    first_row: u64,
    len: usize,
    ids: Option<Column>,
    labels: Option<Column>,
    persons: Option<Column>,
    read: Box<dyn FnOnce() -> Result<Batch, ReadError> + Send>,
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Piece({} rows)", self.len)
    }
}

impl Piece {
    /// `read` gives the rows without ids and labels.
    pub(super) fn new(
        first_row: u64,
        len: usize,
        ids: Option<Column>,
        labels: Option<Column>,
        read: impl FnOnce() -> Result<Batch, ReadError> + Send + 'static,
    ) -> Self {
        Self { first_row, len, ids, labels, persons: None, read: Box::new(read) }
    }

    /// The same with the persons whose rows they are.
    pub(super) fn of_persons(self, persons: Option<Column>) -> Self {
        Self { persons, ..self }
    }

    /// How many rows.
    #[allow(clippy::len_without_is_empty)] // there is at least one
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whose rows they are, if the input was asked.
    pub fn persons(&self) -> Option<&Column> {
        self.persons.as_ref()
    }

    /// Number of the first row, counted from 0 over the whole input.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The ids, if the input has them.
    pub fn ids(&self) -> Option<&Column> {
        self.ids.as_ref()
    }

    /// The rows.
    pub fn decode(self) -> Result<Batch, ReadError> {
        Ok((self.read)()?.with(self.ids, self.labels))
    }
}

impl From<Batch> for Piece {
    fn from(mut batch: Batch) -> Self {
        let (ids, labels, persons) = (batch.ids.take(), batch.labels.take(), batch.persons.take());
        Self::new(batch.first_row, batch.len, ids, labels, move || Ok(batch)).of_persons(persons)
    }
}
