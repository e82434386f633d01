//! Faults of private rows: for the operator who owns them.

use thiserror::Error;

/// A fault in the private input: where it is and of which kind, never the value itself.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("row {row}{}: {kind}", column_suffix(*.column))]
pub struct DataError {
    /// Row, counted from 0 over the whole input.
    pub row: u64,
    /// Column (attribute), counted from 0, where one is to blame.
    pub column: Option<u64>,
    /// What is wrong.
    pub kind: DataErrorKind,
}

fn column_suffix(column: Option<u64>) -> String {
    column.map(|c| format!(", column {c}")).unwrap_or_default()
}

/// The ways in which a row can be unusable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DataErrorKind {
    /// NaN has no place on the grid.
    #[error("value is NaN; replace or drop it before the release")]
    Nan,
    /// An infinity is far more likely a fault than a value to clip.
    #[error("value is infinite; replace or drop it before the release")]
    Infinite,
    /// The row's number of attributes is not the mechanism's.
    #[error("row has {found} attributes, expected {expected}")]
    Dimension {
        /// Attributes in this row.
        found: u64,
        /// Attributes that the mechanism was made for.
        expected: u64,
    },
    /// A sparse index outside the dimension.
    #[error("index {index} is outside the dimension {dim}")]
    IndexOutOfRange {
        /// The index, counted from 0.
        index: u64,
        /// The number of attributes.
        dim: u64,
    },
    /// Sparse indices must rise strictly: a repeated attribute would count twice against the sensitivity.
    #[error("sparse indices must be strictly increasing")]
    IndexOrder,
    /// An attribute that a sparse row leaves out is 0, and stays 0 although a stored one would be clipped to the range.
    #[error(
        "sparse rows need a range that contains 0: an attribute that is left out is 0, and a stored one would be clipped \
         away from it; widen the range, or give dense rows"
    )]
    SparseRange,
    /// The row breaks a promise on which the guarantee rests.
    #[error("the row's norm is below the promised norm bound; drop it or lower ‹norm_bound›")]
    NormBelowBound,
}
