//! What can go wrong, split by who may read the message.
//!
//! [`ParameterError`] holds public numbers only and may be shown to anyone. [`DataError`] names a row and a
//! column of the private input, for the operator who owns it; it never holds a value, and never enters an output.
//!
//! One variant per way to be wrong, its sentence beside it. A sentence names a parameter as `‹beta›`; each front end
//! puts it into its own words ([`worded`]).

mod data;
mod mechanism;
mod noise;
mod projection;
mod refusal;
mod request;

pub use data::{DataError, DataErrorKind};
pub use mechanism::MechanismError;
pub use noise::NoiseError;
pub use projection::{BinsError, ProjectionError, TableError};
pub(crate) use refusal::INDIVIDUAL;
pub use refusal::{NoProof, Refusal};
pub use request::{CalibrationError, EncodingError, GridError, GuaranteeError, SimdError};
use thiserror::Error;

/// A message in the words of a front end: parameters appear in it as `‹sketch_clip›`, actions as `‹keygen()›`; `name`
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
#[non_exhaustive]
pub enum ParameterError {
    /// The combination would not be private, or could not be shown to be.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The range, or the grid over it.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The projection, or a public file that takes its place.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// A noise law, as built or as written in a certificate.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Epsilon, delta or the unit.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// The numbers that a noise scale is computed from.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// What one mechanism needs or does not take.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// How values are written.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// The vector instructions that were asked for.
    #[error(transparent)]
    Simd(#[from] SimdError),
}

impl ParameterError {
    /// True for a refusal on privacy grounds (exit code 1 of the command line).
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::Grid(_)
            | Self::Projection(_)
            | Self::Noise(_)
            | Self::Guarantee(_)
            | Self::Calibration(_)
            | Self::Mechanism(_)
            | Self::Encoding(_)
            | Self::Simd(_) => false,
        }
    }
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
