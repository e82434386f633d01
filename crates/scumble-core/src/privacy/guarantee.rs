//! The claim as a value that travels with the output.

use super::Unit;
use crate::error::{GuaranteeError, INDIVIDUAL, ParameterError, Refusal};
use crate::exact::WorstRatio;
use num_rational::BigRational;
use serde::{Deserialize, Serialize};

/// A positive, finite privacy parameter, kept as the exact rational that the double is.
#[derive(Debug, Clone, PartialEq)]
pub struct Epsilon {
    value: f64,
    exact: BigRational,
}

impl Epsilon {
    /// Largest epsilon that a request may name: beyond it the promise is empty (odds factor 1e130).
    pub const LARGEST: f64 = 300.0;

    /// Checks the domain.
    pub fn new(value: f64) -> Result<Self, ParameterError> {
        if !(value > 0.0 && value <= Self::LARGEST) {
            return Err(GuaranteeError::Epsilon { epsilon: value, most: Self::LARGEST }.into());
        }
        Ok(Self { value, exact: crate::exact::rational(value) })
    }

    /// The double.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The same number as a rational.
    pub fn exact(&self) -> &BigRational {
        &self.exact
    }
}

/// Checks `0 < delta < 1`.
pub fn check_delta(delta: f64) -> Result<f64, ParameterError> {
    if delta > 0.0 && delta < 1.0 { Ok(delta) } else { Err(GuaranteeError::Delta { delta }.into()) }
}

/// Differential privacy, checked on the integers that run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// `pure` or `approximate`.
    pub notion: Notion,
    /// What was asked for: an upper bound on the loss.
    pub epsilon: f64,
    /// 0 for a pure guarantee.
    pub delta: f64,
    /// The loss of the integer law itself, rounded up: at most `epsilon`.
    pub checked_epsilon: f64,
    /// Neighbours.
    pub unit: Unit,
    /// The most that the unit may move.
    pub beta: f64,
}

/// Which inequality holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notion {
    /// `P[y|u] <= e^epsilon P[y|u']` for every output.
    Pure,
    /// The same up to `delta`.
    Approximate,
}

impl Guarantee {
    /// A pure guarantee. Takes the worst ratio of the integers that run and refuses one above e^epsilon.
    pub fn pure(epsilon: &Epsilon, worst: &WorstRatio, unit: Unit, beta: f64) -> Result<Self, ParameterError> {
        if !worst.at_most_exp(epsilon.exact()) {
            return Err(Refusal::EpsilonExceeded { epsilon: epsilon.value }.into());
        }
        let (epsilon, checked_epsilon) = (epsilon.value, worst.epsilon());
        Ok(Self { notion: Notion::Pure, epsilon, delta: 0.0, checked_epsilon, unit, beta })
    }

    /// An approximate guarantee. Takes a proven upper bound on delta at this epsilon and refuses one above it.
    pub fn approximate(
        epsilon: &Epsilon,
        delta: f64,
        shown: &BigRational,
        unit: Unit,
        beta: f64,
    ) -> Result<Self, ParameterError> {
        if !(delta > 0.0 && delta < 1.0) || *shown > crate::exact::rational(delta) {
            return Err(Refusal::DeltaNotShown { delta }.into());
        }
        let epsilon = epsilon.value;
        Ok(Self { notion: Notion::Approximate, epsilon, delta, checked_epsilon: epsilon, unit, beta })
    }

    /// The promise in one plain sentence.
    pub fn sentence(&self) -> String {
        let neighbours = self.unit.sentence(self.beta);
        let plus = match self.notion {
            Notion::Pure => String::new(),
            Notion::Approximate => format!(" plus {:e}", self.delta),
        };
        format!(
            "For {neighbours}, no outcome of the release is more likely from one than e^{} times its probability from the \
             other{plus}.",
            self.epsilon
        )
    }
}

/// What the paper calls individual DP. It is NOT differential privacy and has no epsilon that a ledger could take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Individual {
    /// The number that the paper's section 6 would print. No bound between neighbours goes with it.
    pub nominal_epsilon: f64,
    /// Likewise.
    pub nominal_delta: f64,
}

impl Individual {
    /// The sentence that every certificate of such a release carries.
    pub const SENTENCE: &'static str = INDIVIDUAL;
}

/// What a release may say about itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Promise {
    /// Differential privacy.
    Private(Guarantee),
    /// Individual DP: not private in the sense of this library.
    NotPrivate(Individual),
}

impl Promise {
    /// The guarantee, if there is one: only this can enter accounting.
    pub fn guarantee(&self) -> Option<&Guarantee> {
        match self {
            Self::Private(guarantee) => Some(guarantee),
            Self::NotPrivate(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_checked() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 301.0] {
            assert!(Epsilon::new(bad).is_err(), "{bad}");
        }
        for bad in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(check_delta(bad).is_err(), "{bad}");
        }
        assert_eq!(check_delta(1e-6), Ok(1e-6));
    }

    /// No promise without its proof: a loss above epsilon is refused, not cut to it.
    #[test]
    fn a_promise_above_its_proof_is_refused() {
        let epsilon = Epsilon::new(1.0).unwrap();
        let worst = |num: u32, power| WorstRatio { num: num.into(), den: 1000u32.into(), power };
        let pure = |worst: &WorstRatio| Guarantee::pure(&epsilon, worst, Unit::Attribute, 1.0);
        assert!(pure(&worst(2718, 1)).unwrap().checked_epsilon <= 1.0);
        assert!(pure(&worst(2719, 1)).is_err()); // e = 2.71828...
        assert!(pure(&worst(1648, 2)).is_ok() && pure(&worst(1649, 2)).is_err()); // repetitions multiply
        let shown = |n: i64| BigRational::new(n.into(), 1_000_000.into());
        let approximate = |shown, delta| Guarantee::approximate(&epsilon, delta, &shown, Unit::Attribute, 1.0);
        assert!(approximate(shown(1), 2e-6).is_ok());
        assert!(approximate(shown(3), 2e-6).is_err());
        assert!(approximate(shown(0), 0.0).is_err() && approximate(shown(0), 1.0).is_err());
    }

    #[test]
    fn individual_dp_has_no_guarantee() {
        let promise = Promise::NotPrivate(Individual { nominal_epsilon: 0.1, nominal_delta: 0.0 });
        assert!(promise.guarantee().is_none());
    }
}
