//! What a classifier learns from rows: class labels, and a model that noise does not lead astray.

mod labels;
pub mod ridge;

pub use labels::{LabelsError, read_classes};

use crate::error::{LibraryError, TrainingError};
use crate::recall::Features;

/// The share of equal labels.
pub fn accuracy(found: &[u32], truth: &[u32]) -> f64 {
    assert_eq!(found.len(), truth.len(), "one label per row");
    found.iter().zip(truth).filter(|(a, b)| a == b).count() as f64 / truth.len().max(1) as f64
}

/// The classes among the labels of rows, in order.
pub fn classes_of(features: &Features, labels: &[u32]) -> Result<Vec<u32>, LibraryError> {
    if labels.len() != features.len() {
        return Err(TrainingError::Labels { found: labels.len(), rows: features.len() }.into());
    }
    let mut classes = labels.to_vec();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() < 2 {
        return Err(TrainingError::OneClass.into());
    }
    Ok(classes)
}

/// The classes that get a hyperplane: with two, only the second.
pub fn positives(classes: &[u32]) -> &[u32] {
    if classes.len() == 2 { &classes[1..] } else { classes }
}
