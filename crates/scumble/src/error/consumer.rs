//! What a release does not answer: queries, statistics, labels.

use scumble_core::release::Encoding;
use std::path::PathBuf;
use thiserror::Error;

/// Queries that cannot be compared with the rows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum SearchError {
    #[error("‹top› must be at least 1")]
    Top,
    #[error("Hamming needs bits on both sides")]
    HammingBits,
    #[error("Hamming ranks released bits against released bits; use cosine or inner-product here")]
    HammingReleased,
    #[error("its encoding is {encoding}, that of {} is {of_other}: they are not one table", other.display())]
    OtherEncoding { encoding: Encoding, other: PathBuf, of_other: Encoding },
    #[error("the query has {found} projected values, the release has {k}")]
    QueryLength { found: usize, k: usize },
    #[error("queries have {found} attributes, the database {expected}")]
    QueryDim { found: usize, expected: usize },
    #[error("metric must be hamming, cosine or inner-product")]
    UnknownMetric,
    #[error("decode must be wiener, scale or bounds")]
    UnknownMethod,
    #[error("decoded rows are values: rank them by cosine or inner product, and ask for at least one")]
    Decoded,
}

/// Statistics that a release cannot give.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum StatisticsError {
    #[error("statistics need at least two rows")]
    FewRows,
    #[error("there are fewer rows than false reports")]
    FalseReports,
    #[error("the centroids are not projected as the release was")]
    Centroids,
    #[error("there is no attribute {attribute}: the rows had {dim}")]
    NoSuchAttribute { attribute: usize, dim: usize },
    #[error("shuffling needs a positive epsilon and between 1 and 2^36 reports")]
    Shuffle,
    #[error("delta must be between 0 and 1, got {delta}")]
    ShuffleDelta { delta: f64 },
}

/// Labels that no classifier can learn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum TrainingError {
    #[error("{found} labels for {rows} rows: each row needs one")]
    Labels { found: usize, rows: usize },
    #[error("classification needs at least two classes among the labels")]
    OneClass,
}
