//! The odds `E <= e^epsilon` of the whole-record mechanisms, as an integer over 2^64.

use crate::error::{MechanismError, ParameterError};
use crate::exact::{self, WorstRatio, at_most_exp, exp_floor};
use num_bigint::BigUint;
use num_rational::BigRational;
use num_traits::{One, Signed};

/// `E = numer / 2^64`, the largest such fraction not above e^epsilon: rounding down is toward more noise.
#[derive(Debug, Clone)]
pub(crate) struct Odds {
    /// Numerator, above the denominator.
    pub numer: BigUint,
}

impl Odds {
    /// Rounds e^epsilon down.
    pub fn new(epsilon: &BigRational) -> Result<Self, ParameterError> {
        if !epsilon.is_positive() || *epsilon > BigRational::from_integer(500.into()) {
            return Err(MechanismError::RecordEpsilon.into());
        }
        let numer = exp_floor(epsilon, 64).to_biguint().expect("positive");
        if numer <= Self::denom() {
            return Err(MechanismError::RecordEpsilonTooSmall.into());
        }
        assert!(at_most_exp(&numer, &Self::denom(), epsilon), "rounded down");
        Ok(Self { numer })
    }

    /// 2^64.
    pub fn denom() -> BigUint {
        BigUint::one() << 64
    }

    /// `(E - 1) 2^64`.
    pub fn excess(&self) -> BigUint {
        &self.numer - Self::denom()
    }

    /// The worst ratio of two records' probabilities.
    pub fn worst_ratio(&self) -> WorstRatio {
        WorstRatio { num: self.numer.clone(), den: Self::denom(), power: 1 }
    }

    /// How often a member of a cap of `cap` out of 2^k vertices is drawn by its excess weight `E - 1`, all having 1.
    pub fn share(&self, cap: &BigUint, k: usize) -> f64 {
        let cap = self.excess() * cap;
        ratio(&cap, &(&cap + (Self::denom() << k)))
    }
}

/// The value of a ratio of public integers.
pub(crate) fn ratio(num: &BigUint, den: &BigUint) -> f64 {
    exact::nearest(num.clone(), den.clone()).unwrap_or(0.0)
}
