//! Labels of rows that may be looked at, from files.

use crate::error::{Fault, Kind, TrainingError};
use crate::files::{Batch, ReadError, ReadErrorKind, read_labels};
use std::path::Path;

/// Why rows have no classes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is another module's error
pub enum LabelsError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Training(#[from] TrainingError),
}

impl Fault for LabelsError {
    fn kind(&self) -> Kind {
        match self {
            Self::Read(error) => error.kind(),
            Self::Training(_) => Kind::Parameter,
        }
    }
}

/// The class of each row of `data`, which was read from `path`: by the labels in a file of their own, or by its own.
pub fn read_classes(path: &Path, data: &Batch, labels: Option<&Path>) -> Result<Vec<u32>, LabelsError> {
    let labels = match labels {
        Some(file) => read_labels(file)?,
        None => data.labels().cloned().ok_or_else(|| ReadError::new(path, ReadErrorKind::NoLabels))?,
    };
    match (labels.len(), data.rows().len()) {
        (found, rows) if found != rows => Err(TrainingError::Labels { found, rows }.into()),
        _ => Ok(labels.classes()),
    }
}
