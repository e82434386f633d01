//! Biased coins: a random word is compared with an integer threshold, so every probability is T / 2^64 exactly.
//!
//! [`FlipTable`] holds the chance to flip a sign bit by its level L = ceil(|x| / beta). Neighbours differ by at most one
//! level on the same side; on different sides both have a level of at most 1. Each threshold is rounded up, and raised
//! as far as these inequalities require: more noise.

use super::geometric::positive;
use super::rng::SecretRng;
use crate::error::{NoiseError, ParameterError, Refusal};
use crate::exact::{WorstRatio, exp_ceil, exp_floor};
use crate::facts::{Fact, hex};
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive};
use std::cmp::Ordering;
use std::fmt;

const HALF: u64 = 1 << 63;
const WHOLE: u128 = 1 << 64;

/// Bits at which e^epsilon is bounded while a table is built.
const BITS: u32 = 192;

/// Levels beyond this one share a threshold: constant is private too, and a table stays below a megabyte.
const MOST_LEVELS: usize = 1 << 17;

/// A coin that shows true with probability T / 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coin {
    threshold: u64, // T
}

impl Coin {
    /// The coin with threshold T.
    pub fn new(threshold: u64) -> Self {
        Self { threshold }
    }

    /// T, where the coin shows true with probability T / 2^64.
    pub fn threshold(self) -> u64 {
        self.threshold
    }

    /// One toss.
    #[inline]
    pub fn toss(self, rng: &mut SecretRng) -> bool {
        rng.next_u64() < self.threshold
    }
}

/// The chance to flip a sign bit, by level: thresholds over 2^64, constant after the last.
#[derive(Clone, PartialEq, Eq)]
pub struct FlipTable {
    thresholds: Vec<u64>,
}

impl fmt::Debug for FlipTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FlipTable({} levels)", self.thresholds.len())
    }
}

impl FlipTable {
    /// Randomized response: 1 / (1 + e^epsilon) at every level but 0, where the coin is fair.
    pub fn randomized_response(epsilon: &BigRational) -> Result<Self, ParameterError> {
        Self::build(epsilon, |up, _| up.clone())
    }

    /// The paper's smooth rule: 1 / (1 + e^(L epsilon)).
    pub fn smooth(epsilon_per_level: &BigRational) -> Result<Self, ParameterError> {
        // Bounds e^(-L epsilon) by repeated products, rounded up.
        let mut odds = None;
        Self::build(epsilon_per_level, move |up, _| {
            let next = match odds.take() {
                None => up.clone(),
                Some(odds) => up_product(up, &odds, BITS),
            };
            odds = Some(next.clone());
            next
        })
    }

    /// The ceil rule: e^(-(L - 1) epsilon) / (1 + e^epsilon), 1/2 at level 0.
    pub fn ceil_rule(epsilon: &BigRational) -> Result<Self, ParameterError> {
        // From level 1 on the threshold falls as fast as the neighbour inequality allows.
        Self::build(epsilon, |up, level| if level == 1 { up.clone() } else { BigUint::ZERO })
    }

    /// Builds the table level by level. `odds(e^-epsilon, level)` bounds the odds to flip from above, over 2^BITS; the
    /// inequality with the level before may ask for more.
    fn build(epsilon: &BigRational, mut odds: impl FnMut(&BigUint, u32) -> BigUint) -> Result<Self, ParameterError> {
        positive(1, epsilon)?;
        let up = exp_ceil(&-epsilon, BITS).magnitude().clone(); // above e^-epsilon
        let growth = exp_floor(epsilon, BITS).magnitude().clone(); // below e^epsilon
        let mut thresholds = vec![HALF];
        let mut last = HALF;
        for level in 1.. {
            // T / (1 - T) >= odds · 2^-BITS, T / 2^64 = odds / (1 + odds)
            let odds = odds(&up, level);
            let wanted = (&odds << 64u32).div_ceil(&(odds + (BigUint::one() << BITS)));
            // Flipped bits: last / T <= e^epsilon.
            let flipped = up_product(&last.into(), &up, BITS);
            // Kept bits: (2^64 - T) / (2^64 - last) <= e^epsilon.
            let kept = BigUint::from(WHOLE) - ((&growth * (WHOLE - u128::from(last))) >> BITS).min(WHOLE.into());
            let threshold = wanted.max(flipped).max(kept).to_u64().expect("at most the threshold before");
            if level > 1 && threshold == last {
                break;
            }
            thresholds.push(threshold);
            last = threshold;
            if thresholds.len() == MOST_LEVELS {
                break;
            }
        }
        let table = Self { thresholds };
        table.check(epsilon)?;
        Ok(table)
    }

    /// A table as written in a certificate. [`FlipTable::check`] says what it is worth.
    pub fn from_thresholds(thresholds: Vec<u64>) -> Result<Self, ParameterError> {
        if thresholds.is_empty() || thresholds.contains(&0) {
            return Err(NoiseError::FlipThresholds.into());
        }
        Ok(Self { thresholds })
    }

    /// What a certificate says about the table: its first thresholds, and a digest of all.
    pub fn facts(&self) -> Fact {
        let bytes: Vec<u8> = self.thresholds.iter().flat_map(|t| t.to_le_bytes()).collect();
        Fact::Fields(vec![
            ("law", "flip-table".into()),
            ("first_thresholds", Fact::list(self.thresholds.iter().take(8).map(u64::to_string))),
            ("levels", self.thresholds.len().into()),
            ("digest", hex(blake3::hash(&bytes).as_bytes()).into()),
        ])
    }

    /// The thresholds over 2^64, from level 0 on; the last one holds for all levels beyond.
    pub fn thresholds(&self) -> &[u64] {
        &self.thresholds
    }

    /// The threshold of a level.
    #[inline]
    pub fn threshold(&self, level: u64) -> u64 {
        let last = self.thresholds.len() - 1;
        self.thresholds[usize::try_from(level).map_or(last, |level| level.min(last))]
    }

    /// P(flip) at a level.
    pub fn probability(&self, level: u64) -> BigRational {
        BigRational::new(self.threshold(level).into(), BigInt::one() << 64u32)
    }

    /// Whether a bit of this level is flipped, this time.
    #[inline]
    pub fn flip(&self, level: u64, rng: &mut SecretRng) -> bool {
        rng.next_u64() < self.threshold(level)
    }

    /// The same from the first 16 bits; 48 of the 64 bits that `more` gives follow if these agree with the threshold.
    #[inline]
    pub(crate) fn decide(&self, level: u64, first: u16, more: impl FnOnce() -> u64) -> bool {
        let (threshold, first) = (self.threshold(level), u64::from(first));
        match first.cmp(&(threshold >> 48)) {
            Ordering::Equal => first << 48 | more() >> 16 < threshold,
            order => order.is_lt(),
        }
    }

    /// The largest ratio between neighbours, for either value of the bit: what the table really guarantees.
    pub fn worst_ratio(&self) -> WorstRatio {
        let flipped = |level: usize| u128::from(self.threshold(level as u64));
        let kept = |level: usize| WHOLE - flipped(level);
        let mut worst = (1, 1);
        let mut compare = |a: u128, b: u128| {
            let (num, den) = (a.max(b), a.min(b));
            if is_larger((num, den), worst) {
                worst = (num, den);
            }
        };
        for level in 0..self.thresholds.len() {
            compare(flipped(level), flipped(level + 1)); // same side
            compare(kept(level), kept(level + 1));
        }
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            compare(kept(a), flipped(b)); // the two sides
        }
        WorstRatio { num: worst.0.into(), den: worst.1.into(), power: 1 }
    }

    /// Shows in exact integers that the whole table is epsilon-DP, or refuses.
    pub fn check(&self, epsilon: &BigRational) -> Result<(), ParameterError> {
        if self.worst_ratio().at_most_exp(epsilon) {
            return Ok(());
        }
        Err(Refusal::FlipTable.into())
    }
}

/// ceil(a · b / 2^bits).
fn up_product(a: &BigUint, b: &BigUint, bits: u32) -> BigUint {
    (a * b).div_ceil(&(BigUint::one() << bits))
}

/// Is a.0 / a.1 > b.0 / b.1? The parts have up to 65 bits.
fn is_larger(a: (u128, u128), b: (u128, u128)) -> bool {
    BigUint::from(a.0) * b.1 > BigUint::from(b.0) * a.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::at_most_exp;
    use crate::noise::NoiseKey;

    fn rational(num: i64, den: i64) -> BigRational {
        BigRational::new(num.into(), den.into())
    }

    type Rule = fn(&BigRational) -> Result<FlipTable, ParameterError>;
    const RULES: [(&str, Rule); 3] =
        [("rr", FlipTable::randomized_response), ("smooth", FlipTable::smooth), ("ceil", FlipTable::ceil_rule)];

    /// Every neighbour inequality one by one, with a fresh exact comparison each: what `worst_ratio` sums up.
    fn holds_one_by_one(table: &FlipTable, epsilon: &BigRational) -> bool {
        // P(+) at (side, level)
        let plus = |side: bool, level: u64| {
            let flip = u128::from(table.threshold(level));
            if side { WHOLE - flip } else { flip }
        };
        let within =
            |a: u128, b: u128| at_most_exp(&a.into(), &b.into(), epsilon) && at_most_exp(&b.into(), &a.into(), epsilon);
        let neighbours = |a: u128, b: u128| within(a, b) && within(WHOLE - a, WHOLE - b);
        let last = table.thresholds().len() as u64;
        (0..=last).all(|l| [true, false].iter().all(|&side| neighbours(plus(side, l), plus(side, l + 1))))
            && [(0, 0), (0, 1), (1, 0), (1, 1)].iter().all(|&(a, b)| neighbours(plus(true, a), plus(false, b)))
    }

    #[test]
    fn every_neighbour_inequality_holds() {
        for (name, rule) in RULES {
            for epsilon in
                [rational(1, 100), rational(1, 3), rational(1, 1), rational(5, 1), rational(30, 1), rational(60, 1)]
            {
                let table = rule(&epsilon).unwrap();
                assert!(table.check(&epsilon).is_ok(), "{name} {epsilon}");
                assert!(table.thresholds().len() > 1000 || holds_one_by_one(&table, &epsilon), "{name} {epsilon}");
                assert!(table.thresholds().is_sorted_by(|a, b| a >= b));
                assert_eq!(table.threshold(0), HALF);
            }
        }
    }

    /// No epsilon is wasted: the worst ratio is above e^(0.999 epsilon) while 64 bits can hold the probabilities.
    #[test]
    fn the_bound_is_nearly_attained() {
        for (name, rule) in RULES {
            for epsilon in [rational(1, 1000), rational(1, 2), rational(3, 1), rational(20, 1)] {
                let table = rule(&epsilon).unwrap();
                assert!(!table.worst_ratio().at_most_exp(&(&epsilon * rational(999, 1000))), "{name} {epsilon}");
            }
        }
    }

    /// Planted faults in a single threshold: one unit less, keep and flip swapped, scale x 0.95, a biased coin at 0.
    #[test]
    fn a_wrong_threshold_is_refused() {
        for (name, rule) in RULES {
            let epsilon = rational(1, 1);
            let good = rule(&epsilon).unwrap();
            let refused = |change: &dyn Fn(&mut Vec<u64>)| {
                let mut thresholds = good.thresholds().to_vec();
                change(&mut thresholds);
                FlipTable::from_thresholds(thresholds).unwrap().check(&epsilon).is_err_and(|e| e.is_refusal())
            };
            assert!(refused(&|t| t[1] -= 1), "{name}: rounded down");
            // (In randomized response it only turns all bits over, which costs no privacy.)
            assert!(name == "rr" || refused(&|t| t[1] = t[1].wrapping_neg()), "{name}: swapped keep and flip");
            assert!(refused(&|t| t[0] = t[1] / 4), "{name}: biased coin at 0");
            assert!(rule(&rational(100, 95)).unwrap().check(&epsilon).is_err(), "{name}: scale x 0.95");
        }
        // Planted fault "levels by floor": level 1 then shares the coin of level 0, and the step to level 2 is too far.
        let smooth = FlipTable::smooth(&rational(1, 1)).unwrap();
        let mut skipped = smooth.thresholds().to_vec();
        skipped.remove(1);
        assert!(FlipTable::from_thresholds(skipped).unwrap().check(&rational(1, 1)).is_err());
    }

    #[test]
    fn deep_levels_share_the_last_threshold() {
        let table = FlipTable::ceil_rule(&rational(2, 1)).unwrap();
        let last = *table.thresholds().last().unwrap();
        assert_eq!(table.threshold(u64::MAX), last);
        assert!(last > 0);
        let long = FlipTable::smooth(&rational(1, 1_000_000)).unwrap();
        assert_eq!(long.thresholds().len(), MOST_LEVELS);
    }

    #[test]
    fn bad_numbers_are_refused() {
        assert!(FlipTable::ceil_rule(&rational(0, 1)).is_err());
        assert!(FlipTable::from_thresholds(vec![]).is_err());
        assert!(FlipTable::from_thresholds(vec![HALF, 0]).is_err());
    }

    #[test]
    fn value_stability() {
        let mut rng = SecretRng::keyed(&NoiseKey::from_bytes([5; 32]), &[]); // the same on every CPU
        let coin = Coin::new(HALF / 2);
        let tosses: String = (0..32).map(|_| if coin.toss(&mut rng) { '1' } else { '0' }).collect();
        let table = FlipTable::ceil_rule(&rational(1, 1)).unwrap();
        let flips: String = (0..32).map(|level| if table.flip(level % 4, &mut rng) { '1' } else { '0' }).collect();
        assert_eq!(
            (tosses.as_str(), flips.as_str()),
            ("00000010001010110011010100000010", "01000000001010001000000000000001")
        );
        // ceil(2^64 / (1 + e)), then ceil(T / e) twice, by mpmath
        assert_eq!(table.thresholds()[..4], [HALF, 4961093570831980854, 1825084330436904421, 671411003571884379]);
    }
}
