//! A public sample from a file.

use crate::files::{Batch, ReadOptions, read_all};
use crate::training::{LabelsError, read_classes};
use scumble_core::vectors::Rows;
use std::path::Path;

/// Public rows, with the classes that a model is to learn, if any.
#[derive(Debug)]
pub struct PublicSample {
    batch: Batch,
    classes: Option<Vec<u32>>,
}

impl PublicSample {
    /// Reads public rows as the private ones are read, except for ids. `labels`: where the labels for training a model
    /// are, in a file of their own or (`Some(None)`) in a column of the sample.
    pub fn read(path: &Path, options: &ReadOptions, labels: Option<Option<&Path>>) -> Result<Self, LabelsError> {
        let mut options = ReadOptions { format: None, id: None, ..options.clone() };
        match labels {
            Some(None) => drop(options.label.get_or_insert_with(|| "label".to_owned())),
            Some(Some(_)) | None => options.label = None,
        }
        let batch = read_all(path, &options)?;
        let classes = labels.map(|file| read_classes(path, &batch, file)).transpose()?;
        Ok(Self { batch, classes })
    }

    /// The rows.
    pub fn rows(&self) -> Rows<'_> {
        self.batch.rows()
    }

    /// The class of each.
    pub fn classes(&self) -> Option<&[u32]> {
        self.classes.as_deref()
    }
}
