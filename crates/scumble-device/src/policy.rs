//! Losses as integers, and the device's own limits: a float sum could round a charge away.

use crate::refusal::Refusal;
use scumble_core::privacy::{Guarantee, Unit};

/// Steps per epsilon of 1.
const STEPS: f64 = (1u64 << 32) as f64;
/// Steps per delta of 1.
const DELTA_STEPS: f64 = (1u128 << 64) as f64;

/// What was, or would be, lost: epsilon in steps of 2^-32 and delta in steps of 2^-64, both rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Epsilon.
    pub epsilon: u64,
    /// Delta.
    pub delta: u64,
}

impl Loss {
    /// The loss of one report.
    pub fn of(guarantee: &Guarantee) -> Self {
        Self {
            epsilon: (guarantee.epsilon * STEPS).ceil() as u64, // exact: a power of two only moves the exponent
            delta: (guarantee.delta * DELTA_STEPS).ceil() as u64,
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self { epsilon: self.epsilon.saturating_add(other.epsilon), delta: self.delta.saturating_add(other.delta) }
    }

    /// True when neither part is more than that of `limit`.
    pub fn within(self, limit: Self) -> bool {
        self.epsilon <= limit.epsilon && self.delta <= limit.delta
    }

    /// Epsilon as a double.
    pub fn epsilon(self) -> f64 {
        self.epsilon as f64 / STEPS
    }

    /// Delta as a double.
    pub fn delta(self) -> f64 {
        self.delta as f64 / DELTA_STEPS
    }
}

/// How many units of privacy there are.
pub const UNITS: usize = 4;

/// The place of a unit in policies and states.
pub fn place(unit: Unit) -> usize {
    match unit {
        Unit::Attribute => 0,
        Unit::L1 => 1,
        Unit::L2 => 2,
        Unit::Record => 3,
    }
}

/// The most that this device may lose, by unit, over all campaigns and its whole life.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Epsilon for unit `attribute`.
    pub attribute: f64,
    /// Epsilon for unit `l1`.
    pub l1: f64,
    /// Epsilon for unit `l2`.
    pub l2: f64,
    /// Epsilon for unit `record`.
    pub record: f64,
    /// Delta, for each unit.
    pub delta: f64,
}

impl Default for Policy {
    /// Nothing is allowed until the application says so; delta has a usual value.
    fn default() -> Self {
        Self { attribute: 0.0, l1: 0.0, l2: 0.0, record: 0.0, delta: 1e-5 }
    }
}

impl Policy {
    /// The limit for each unit, rounded down.
    pub fn limits(&self) -> Result<[Loss; UNITS], Refusal> {
        let Self { attribute, l1, l2, record, delta } = *self;
        let good = |limit: f64| limit >= 0.0 && limit.is_finite();
        if ![attribute, l1, l2, record, delta].into_iter().all(good) {
            return Err(Refusal::BadPolicy);
        }
        let delta = (delta * DELTA_STEPS) as u64; // a cast rounds down and saturates
        Ok([attribute, l1, l2, record].map(|epsilon| Loss { epsilon: (epsilon * STEPS) as u64, delta }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble_core::privacy::Notion;

    fn guarantee(epsilon: f64, delta: f64, unit: Unit) -> Guarantee {
        Guarantee { notion: Notion::Approximate, epsilon, delta, checked_epsilon: epsilon, unit, beta: 1.0 }
    }

    #[test]
    fn charges_round_up_and_limits_down() {
        let loss = Loss::of(&guarantee(0.1, 1e-7, Unit::Attribute));
        assert!(loss.epsilon() >= 0.1 && loss.delta() >= 1e-7);
        let limit = Policy { attribute: 0.1, ..Policy::default() }.limits().unwrap()[0];
        assert!(limit.epsilon() <= 0.1);
        let ten = (0..10).fold(Loss::default(), |sum, _| sum.plus(loss));
        assert!(!ten.within(Policy { attribute: 1.0, ..Policy::default() }.limits().unwrap()[0]));
        assert!(ten.within(Policy { attribute: 1.00001, ..Policy::default() }.limits().unwrap()[0]));
        // Ten charges of one half are five exactly.
        let half = Loss::of(&guarantee(0.5, 0.0, Unit::Record));
        let ten = (0..10).fold(Loss::default(), |sum, _| sum.plus(half));
        assert!(ten.within(Policy { record: 5.0, ..Policy::default() }.limits().unwrap()[3]));
    }

    #[test]
    fn policies_that_are_no_numbers_are_refused() {
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            assert_eq!(Policy { l2: bad, ..Policy::default() }.limits(), Err(Refusal::BadPolicy));
        }
    }
}
