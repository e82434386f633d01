//! Discrete Laplace: P(n) = (1 - a) / (1 + a) · a^|n| on the integers, a = R / 2^64.
//!
//! Symbols: `B` sensitivity in grid steps · `epsilon` · `R` = ceil(2^64 e^(-epsilon/B)).
//! Holds for: `attribute` and `l1`. Moving the centre by m changes a probability by at most a^-|m|, so the one
//! inequality a^-B <= e^epsilon carries the proof. R is rounded up: more noise.

use super::SecretRng;
use super::geometric::{Geometric, fraction_of_word, positive, ratio_above};
use super::symmetric::{Enclosed, Tail, word_of};
use super::words::{Words, with_sign};
use crate::error::ParameterError;
use crate::exact::WorstRatio;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Pow};

/// Discrete Laplace noise.
#[derive(Debug, Clone)]
pub struct Laplace {
    geometric: Geometric, // a
}

impl Laplace {
    /// The law for sensitivity B (grid steps, in l1) and epsilon. Reads no private data.
    pub fn new(sensitivity: u64, epsilon: &BigRational) -> Result<Self, ParameterError> {
        let law = Self::from_ratio(ratio_above(&(epsilon / positive(sensitivity, epsilon)?))?)?;
        assert!(law.worst_ratio(sensitivity).at_most_exp(epsilon), "R was rounded up");
        Ok(law)
    }

    /// The law with a = R / 2^64, as written in a certificate.
    pub(crate) fn from_ratio(ratio: u64) -> Result<Self, ParameterError> {
        Ok(Self { geometric: Geometric::new(ratio)? })
    }

    /// R, where a = R / 2^64.
    pub fn ratio(&self) -> u64 {
        self.geometric.ratio()
    }

    /// The largest ratio between neighbours at this sensitivity: a^-B.
    pub fn worst_ratio(&self, sensitivity: u64) -> WorstRatio {
        WorstRatio { num: BigUint::one() << 64u32, den: self.ratio().into(), power: sensitivity }
    }

    /// P(n) = (u - r) r^|n| / ((u + r) u^|n|) with a = r / u in lowest terms, which leaves nothing to cancel.
    pub fn weight(&self, n: i64) -> BigRational {
        let (r, u) = self.a().into_raw();
        let (num, den) = (&u - &r, &u + &r);
        BigRational::new_raw(num * Pow::pow(r, n.unsigned_abs()), den * Pow::pow(u, n.unsigned_abs()))
    }

    /// E n^2 = 2a / (1 - a)^2 = 2 R U / (U - R)^2, U = 2^64.
    pub fn variance(&self) -> BigRational {
        let (r, unit) = (BigInt::from(self.ratio()), BigInt::one() << 64u32);
        BigRational::new(&r * &unit * 2, (unit - r).pow(2u32))
    }

    /// E n^4 = 2a (1 + 10a + a^2) / (1 - a)^4 = 2 R U (U^2 + 10 R U + R^2) / (U - R)^4.
    pub fn fourth_moment(&self) -> BigRational {
        let (r, unit) = (BigInt::from(self.ratio()), BigInt::one() << 64u32);
        let product = &r * &unit;
        let poly = &unit * &unit + &product * 10 + &r * &r;
        BigRational::new(product * 2 * poly, (unit - r).pow(4u32))
    }

    fn a(&self) -> BigRational {
        fraction_of_word(self.ratio())
    }

    /// A geometric magnitude with a fair sign; minus zero is drawn again, or zero would count twice.
    #[inline]
    pub(super) fn draw<W: Words>(&self, words: &mut W) -> i64 {
        loop {
            let magnitude = self.geometric.draw(words);
            if let Some(n) = with_sign(magnitude, words) {
                return n;
            }
        }
    }
}

/// P(N > n) = a^(n+1) / (1 + a). The reduced denominator keeps the odd part of 2^64 + R, which is prime to R and not 1:
/// the expansion never ends.
impl Tail for Laplace {
    fn thresholds(&self, last: u64, most: usize) -> Option<Vec<u64>> {
        let r = BigUint::from(self.ratio());
        let mut tail = Enclosed::new(&r, &((BigUint::one() << 64u32) + &r)); // R / (2^64 + R)
        let mut thresholds = Vec::new();
        loop {
            let first = tail.first_word().unwrap_or_else(|| self.exact_word(thresholds.len(), 0));
            thresholds.push(first);
            if first < last {
                return Some(thresholds);
            }
            if thresholds.len() == most {
                return None;
            }
            tail = tail.times(self.ratio());
        }
    }

    fn word(&self, n: usize, level: usize) -> Option<u64> {
        Some(self.exact_word(n, level))
    }

    fn beyond(&self, n: usize, rng: &mut SecretRng) -> u64 {
        (n as u64).saturating_add(self.geometric.draw(rng))
    }
}

impl Laplace {
    fn exact_word(&self, n: usize, level: usize) -> u64 {
        let (r, unit) = (BigUint::from(self.ratio()), BigUint::one() << 64u32);
        word_of(&Pow::pow(&r, n + 1), &((&unit + &r) << (64 * n)), level)
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::Script;
    use super::*;
    use num_traits::Signed;

    fn rational(num: i64, den: i64) -> BigRational {
        BigRational::new(num.into(), den.into())
    }

    #[test]
    fn rounding_is_toward_more_noise_and_checked() {
        for (sensitivity, epsilon) in
            [(1, rational(1, 1)), (64, rational(1, 10)), (1000, rational(5, 1)), (7, rational(40, 1))]
        {
            let law = Laplace::new(sensitivity, &epsilon).unwrap();
            assert!(law.worst_ratio(sensitivity).at_most_exp(&epsilon));
            // Planted fault "rounding down": one unit less is not private.
            let rounded_down = Laplace::from_ratio(law.ratio() - 1).unwrap();
            assert!(!rounded_down.worst_ratio(sensitivity).at_most_exp(&epsilon));
            // Planted fault "beta off by one".
            assert!(!law.worst_ratio(sensitivity + 1).at_most_exp(&epsilon));
            // Planted fault "noise scale x 0.95".
            let narrow = Laplace::new(sensitivity, &(&epsilon / rational(95, 100))).unwrap();
            assert!(!narrow.worst_ratio(sensitivity).at_most_exp(&epsilon));
        }
    }

    #[test]
    fn minus_zero_is_drawn_again() {
        let law = Laplace::from_ratio(1).unwrap(); // no digits: one toss, then the sign
        let (go_on, stop) = (0, u64::MAX);
        let (plus, minus) = (0, u64::MAX);
        let mut script = Script::new(&[stop, minus, stop, minus, stop, plus]);
        assert_eq!(law.draw(&mut script), 0);
        assert!(script.is_used_up());
        assert_eq!(law.draw(&mut Script::new(&[go_on, go_on, stop, minus])), -2);
    }

    #[test]
    fn weights_sum_to_one_and_give_the_moments() {
        let law = Laplace::new(2, &rational(3, 1)).unwrap();
        let window = 40i64;
        let (mut mass, mut second, mut fourth) = (rational(0, 1), rational(0, 1), rational(0, 1));
        for n in -window..=window {
            let w = law.weight(n);
            second += &w * BigInt::from(n * n);
            fourth += &w * BigInt::from(n.pow(4));
            mass += w;
        }
        // The tail beyond the window is exactly 2 P(window + 1) / (1 - a).
        let tail = law.weight(window + 1) * BigInt::from(2) / (rational(1, 1) - law.a());
        assert_eq!(mass + tail, rational(1, 1));
        let close = rational(1, 1_000_000_000_000_000);
        assert!((law.variance() - second).abs() < close && (law.fourth_moment() - fourth).abs() < close);
    }

    #[test]
    fn bad_numbers_are_refused() {
        assert!(Laplace::new(0, &rational(1, 1)).is_err());
        assert!(Laplace::new(5, &rational(0, 1)).is_err());
        assert!(Laplace::new(5, &rational(-1, 1)).is_err());
        assert!(Laplace::new(u64::MAX, &rational(1, 1000)).is_err());
    }
}
