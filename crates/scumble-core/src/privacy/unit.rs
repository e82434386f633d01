//! The unit of privacy: which two inputs the guarantee makes hard to tell apart.

use crate::error::{GuaranteeError, ParameterError};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What a neighbour of a row is. Always stated, never implied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// ONE coordinate differs, by at most beta (the paper's adjacency).
    Attribute,
    /// The sum of the absolute differences is at most beta.
    L1,
    /// The Euclidean distance is at most beta.
    L2,
    /// Any vector for any other.
    Record,
}

impl Unit {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attribute => "attribute",
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::Record => "record",
        }
    }

    /// Who is protected from which change, in one plain phrase.
    pub fn phrase(self, beta: f64) -> String {
        match self {
            Self::Attribute => format!("one attribute of one row, moving by at most beta = {beta}"),
            Self::L1 => format!("one row, its moves adding up to at most beta = {beta}"),
            Self::L2 => format!("one row, moving by a Euclidean distance of at most beta = {beta}"),
            Self::Record => "one whole row, replaced by any other (beta is any distance)".into(),
        }
    }

    /// The neighbours in one plain phrase.
    pub fn sentence(self, beta: f64) -> String {
        match self {
            Self::Attribute => format!("two rows that differ in ONE attribute, by at most beta = {beta}"),
            Self::L1 => format!("two rows whose absolute differences add up to at most beta = {beta}"),
            Self::L2 => format!("two rows whose Euclidean distance is at most beta = {beta}"),
            Self::Record => "any two rows whatever (the whole record)".to_owned(),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Unit {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Attribute, Self::L1, Self::L2, Self::Record]
            .into_iter()
            .find(|unit| unit.as_str() == text)
            .ok_or_else(|| GuaranteeError::UnknownUnit { text: text.into() }.into())
    }
}
