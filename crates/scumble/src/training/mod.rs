//! What a classifier learns from rows: class labels, and a model that noise does not lead astray.

pub mod ridge;

use crate::recall::Features;
use scumble_core::error::ParameterError;

/// The share of equal labels.
pub fn accuracy(found: &[u32], truth: &[u32]) -> f64 {
    assert_eq!(found.len(), truth.len(), "one label per row");
    found.iter().zip(truth).filter(|(a, b)| a == b).count() as f64 / truth.len().max(1) as f64
}

/// The classes among the labels of rows, in order.
pub fn classes_of(features: &Features, labels: &[u32]) -> Result<Vec<u32>, ParameterError> {
    if labels.len() != features.len() {
        let (rows, found) = (features.len(), labels.len());
        return Err(ParameterError::invalid(format!("{found} labels for {rows} rows: each row needs one")));
    }
    let mut classes = labels.to_vec();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() < 2 {
        return Err(ParameterError::invalid("classification needs at least two classes among the labels"));
    }
    Ok(classes)
}

/// The classes that get a hyperplane: with two, only the second.
pub fn positives(classes: &[u32]) -> &[u32] {
    if classes.len() == 2 { &classes[1..] } else { classes }
}
