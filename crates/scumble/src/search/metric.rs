//! Rankings by name.

use super::Metric;
use crate::error::{LibraryError, SearchError};
use std::str::FromStr;

impl Metric {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hamming, Self::Cosine, Self::InnerProduct];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hamming => "hamming",
            Self::Cosine => "cosine",
            Self::InnerProduct => "inner-product",
        }
    }
}

impl FromStr for Metric {
    type Err = LibraryError;

    fn from_str(name: &str) -> Result<Self, LibraryError> {
        let found = Self::ALL.into_iter().find(|metric| metric.as_str() == name);
        found.ok_or(SearchError::UnknownMetric.into())
    }
}
