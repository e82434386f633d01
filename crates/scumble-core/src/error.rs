//! What can go wrong, split by who may read the message.
//!
//! [`ParameterError`] holds public numbers only and may be shown to anyone. [`DataError`] names a row and a
//! column of the private input, for the operator who owns it; it never holds a value, and never enters an output.

use thiserror::Error;

/// A message in the words of a front end: parameters stand in it as `‹sketch_clip›` and actions as `‹keygen()›`, and `name`
/// says how to call one (`--sketch-clip`, `scumble keygen` on the command line; `sketch_clip`, `scumble.keygen` in Python).
/// The library itself never names a flag or a command.
pub fn worded(message: &str, name: impl Fn(&str) -> String) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, named)) = rest.split_once('‹') {
        let Some((parameter, after)) = named.split_once('›') else { break };
        text.push_str(before);
        text.push_str(&name(parameter));
        rest = after;
    }
    text + rest
}

/// A request that cannot be met. Made from public parameters only, before any private data is read.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ParameterError {
    /// A number is missing, out of its domain, or does not fit another one.
    #[error("{0}")]
    Invalid(String),
    /// The combination would not be private, or could not be shown to be.
    #[error("refused: {reason}. Instead: {instead}")]
    NotPrivate {
        /// Why no guarantee can be given.
        reason: String,
        /// What to ask for instead.
        instead: String,
    },
}

/// The words, where this build has any.
fn kept(words: impl Into<String>) -> String {
    if cfg!(feature = "words") { words.into() } else { String::new() }
}

impl ParameterError {
    /// A parameter out of its domain.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(kept(message))
    }

    /// A combination that is not private, with the way out.
    pub fn not_private(reason: impl Into<String>, instead: impl Into<String>) -> Self {
        Self::NotPrivate { reason: kept(reason), instead: kept(instead) }
    }

    /// True for a refusal on privacy grounds (exit code 1 of the command line).
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::NotPrivate { .. })
    }
}

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
    /// The row has another number of attributes than the mechanism.
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
    /// An attribute that a sparse row leaves out is 0, and stays 0 where a stored one is clipped to the range.
    #[error(
        "sparse rows need a range that holds 0: an attribute that is left out is 0, and a stored one would be clipped \
         away from it; widen the range, or give dense rows"
    )]
    SparseRange,
    /// The row breaks a promise on which the guarantee rests.
    #[error("the row's norm is below the promised norm bound; drop it or lower ‹norm_bound›")]
    NormBelowBound,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_as_the_front_end_likes() {
        let flag = |name: &str| format!("--{}", name.replace('_', "-"));
        assert_eq!(
            worded("give ‹budget_delta›, or leave ‹delta› out", flag),
            "give --budget-delta, or leave --delta out"
        );
        assert_eq!(worded("nothing to name", flag), "nothing to name");
        assert_eq!(worded("a ‹torn name", flag), "a ‹torn name");
    }
}
