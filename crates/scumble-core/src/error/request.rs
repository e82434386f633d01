//! Numbers and names of a request that are outside their domain.

use thiserror::Error;

/// The range, or the grid over it.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum GridError {
    #[error("range must be two finite numbers LO,HI with LO < HI, got {lo},{hi}")]
    Range { lo: f64, hi: f64 },
    #[error("beta must be positive and finite, got {beta}")]
    Beta { beta: f64 },
    #[error("grid exponent {exponent} is out of range")]
    Exponent { exponent: i32 },
    #[error(
        "a grid of step 2^{exponent} over [{lo}, {hi}] needs more than 31 bits per value: narrow ‹range› or enlarge \
         ‹beta›"
    )]
    TooFine { exponent: i32, lo: f64, hi: f64 },
    #[error("{length} is more grid steps than can be counted")]
    TooManySteps { length: f64 },
    #[error(
        "the range [{lo}, {hi}] is too large or too narrow for 32-bit floats and their squares: scale the data so that all \
         values are within 1e19, and ‹range› at least 1e-19 wide"
    )]
    Units { lo: f64, hi: f64 },
}

/// Epsilon, delta or the unit.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum GuaranteeError {
    #[error("epsilon must be greater than 0 and at most {most}, got {epsilon}")]
    Epsilon { epsilon: f64, most: f64 },
    #[error("delta must lie strictly between 0 and 1, got {delta}")]
    Delta { delta: f64 },
    #[error("this mechanism needs ‹delta› (for example 1e-6); {others}")]
    NoDelta { others: &'static str },
    #[error("unknown unit '{text}': use attribute, l1, l2 or record")]
    UnknownUnit { text: String },
}

/// The numbers that a noise scale is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum CalibrationError {
    #[error("delta must be above 0 and below 1, got {delta}")]
    Delta { delta: f64 },
    #[error("{name} must be a positive finite number, got {value}")]
    NotPositive { name: &'static str, value: f64 },
    #[error("{name} must be at least 1")]
    Zero { name: &'static str },
    #[error("q must be above 0 and at most 1, got {q}")]
    SignChange { q: f64 },
    #[error("sigma2 above 1e12 grid steps: the continuous delta is the same number")]
    Sigma2,
}

/// How values are written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum EncodingError {
    #[error("unknown encoding '{text}': use f32, i16, b8, b4 or b1")]
    Unknown { text: String },
    #[error("{mechanism} cannot be written as {encoding}; leave ‹encoding› out to take {natural}")]
    Unfit { mechanism: &'static str, encoding: String, natural: String },
}

/// The vector instructions that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum SimdError {
    #[error("SCUMBLE_SIMD={level}, but this processor has no {level}")]
    Lacking { level: &'static str },
    #[error(
        "SCUMBLE_SIMD=avx512, but this processor has no avx512 (F, BW, VL, DQ, VBMI, VNNI and VPOPCNTDQ: Ice Lake, Zen 4 and \
         later)"
    )]
    LackingAvx512,
    #[error("SCUMBLE_SIMD must be scalar, avx2, avx512 or neon")]
    Unknown,
}
