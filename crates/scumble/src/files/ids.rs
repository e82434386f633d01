//! Ids in a file of their own, for kinds of input that have no columns.

use super::error::{ReadError, ReadErrorKind};
use super::{Batch, Format, Source, npy};
use crate::columns::Column;
use std::path::Path;

/// An input whose ids are in another file.
struct WithIds {
    source: Box<dyn Source>,
    ids: Column,
}

/// Adds the ids of a `.npy` file with one axis to an input whose number of rows is known.
pub(super) fn attach(input: &Path, source: Box<dyn Source>, ids: &Path) -> Result<Box<dyn Source>, ReadError> {
    if Format::detect(ids) != Some(Format::Npy) {
        return Err(ReadError::new(input, ReadErrorKind::NoNames));
    }
    let column = npy::read_column(ids)?;
    if let Column::Float(_) = column {
        return Err(ReadError::new(ids, ReadErrorKind::IdType("float".into())));
    }
    let (found, expected) = (column.len() as u64, source.rows_hint().expect("headers tell it, and LIBSVM is counted"));
    if found != expected {
        return Err(ReadError::new(ids, ReadErrorKind::Count { found, expected }));
    }
    Ok(Box::new(WithIds { source, ids: column }))
}

impl Source for WithIds {
    fn dim(&self) -> usize {
        self.source.dim()
    }

    fn rows_hint(&self) -> Option<u64> {
        self.source.rows_hint()
    }

    fn is_sparse(&self) -> bool {
        self.source.is_sparse()
    }

    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Batch>, ReadError> {
        let batch = self.source.next_batch(max_rows)?;
        Ok(batch.map(|batch| {
            let first = batch.first_row as usize;
            Batch { ids: Some(self.ids.slice(first..first + batch.len)), ..batch }
        }))
    }
}
