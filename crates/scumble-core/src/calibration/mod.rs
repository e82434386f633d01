//! Pure functions from public numbers to noise scales, flip probabilities, compositions and forecasts.
//!
//! Nothing here reads data or draws randomness. Tails are handled as logarithms and as sums or integrals of positive
//! terms, so a delta of 1e-15 (or 1e-5000, through the `ln_` forms) keeps its digits. A value that a mechanism
//! calibrates with is on the private side of the true root, by a relative [`SLACK`]. The exact inequality over the
//! integers that run is checked again where the mechanism is made.

#[cfg(any(test, feature = "testing"))]
pub mod comparison;
pub mod composition;
pub mod gaussian;
pub mod laplace;
mod numeric;
pub mod sensitivity;
pub mod signs;
pub mod staircase;

use crate::error::{CalibrationError, ParameterError};

/// Relative distance by which solved values are moved toward more privacy, far above the error of the solvers.
pub const SLACK: f64 = 1e-13;

/// A number below 1 together with its distance to 1, both with full relative precision.
///
/// The ratios of the integer laws lie within 1e-6 of 1 on fine grids, where `1 - value` alone would lose its digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    value: f64,
    gap: f64,
}

impl Ratio {
    /// `e^-x` for x > 0.
    pub fn from_exponent(x: f64) -> Self {
        Self { value: libm::exp(-x), gap: -libm::expm1(-x) }
    }

    /// `numerator / 2^64`, the form in which the integer laws store their ratio.
    pub fn from_integer(numerator: u64) -> Self {
        const UNIT: f64 = 18_446_744_073_709_551_616.0; // 2^64
        Self { value: numerator as f64 / UNIT, gap: (u128::from(u64::MAX) + 1 - u128::from(numerator)) as f64 / UNIT }
    }

    /// The ratio itself.
    pub fn value(self) -> f64 {
        self.value
    }

    /// One minus the ratio.
    pub fn gap(self) -> f64 {
        self.gap
    }

    /// `x` such that the ratio is `e^-x`.
    pub fn exponent(self) -> f64 {
        if self.gap < 0.5 { -libm::log1p(-self.gap) } else { -libm::log(self.value) }
    }
}

/// Epsilon must be a positive finite number.
pub(crate) fn check_epsilon(epsilon: f64) -> Result<(), ParameterError> {
    check_positive("epsilon", epsilon)
}

/// Delta must lie strictly between 0 and 1.
pub(crate) fn check_delta(delta: f64) -> Result<(), ParameterError> {
    if delta > 0.0 && delta < 1.0 { Ok(()) } else { Err(CalibrationError::Delta { delta }.into()) }
}

/// A scale such as beta, a sensitivity or a norm must be a positive finite number.
pub(crate) fn check_positive(name: &'static str, value: f64) -> Result<(), ParameterError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(CalibrationError::NotPositive { name, value }.into()) }
}

/// A size such as p or k must be at least 1.
pub(crate) fn check_size(name: &'static str, value: u64) -> Result<(), ParameterError> {
    if value > 0 { Ok(()) } else { Err(CalibrationError::Zero { name }.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_keeps_its_distance_to_one() {
        let x = 1e-12;
        let ratio = Ratio::from_exponent(x);
        assert!((ratio.gap() / x - 1.0).abs() < 1e-11 && (ratio.exponent() / x - 1.0).abs() < 1e-14);
        let integer = Ratio::from_integer(u64::MAX);
        assert_eq!(integer.gap(), libm::ldexp(1.0, -64));
        assert_eq!(Ratio::from_integer(1 << 63).value(), 0.5);
        assert!((Ratio::from_integer(1).exponent() - 64.0 * std::f64::consts::LN_2).abs() < 1e-13);
    }

    #[test]
    fn parameters_outside_their_domain_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(check_epsilon(bad).is_err());
        }
        for bad in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(check_delta(bad).is_err());
        }
        assert!(check_size("k", 0).is_err());
    }
}
