//! Noise laws that cannot exist.

use thiserror::Error;

/// A noise law, as built or as written in a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum NoiseError {
    #[error("epsilon must be positive")]
    Epsilon,
    #[error("the sensitivity must be at least one grid step")]
    Sensitivity,
    #[error("epsilon per grid step is below 2^-64; use a larger epsilon or a coarser grid")]
    EpsilonPerStep,
    #[error("noise ratio {ratio} / 2^64 is not between 2^-64 and 1 - 2^-40; use a larger epsilon or a coarser grid")]
    Ratio { ratio: u64 },
    #[error("a staircase of sensitivity {sensitivity} cannot have a first step of width {width}")]
    StaircaseWidth { sensitivity: u64, width: u64 },
    #[error("sigma must lie between 1/16 and 2^17 grid steps; choose another grid")]
    Sigma,
    #[error("the Gaussian table needs 64 to 512 bits")]
    GaussianBits,
    #[error("a flip table needs positive thresholds")]
    FlipThresholds,
    #[error("a symbol table needs 2 to {most} columns in each row")]
    SymbolColumns { most: usize },
    #[error("each row of a symbol table must be positive and sum to 2^32 or 2^62")]
    SymbolLaw,
    #[error("too many repetitions to compose")]
    Repetitions,
}
