//! The geometric law P(n) = (1 - a) a^n, a = R / 2^64, sampled exactly by its digits.
//!
//! In base 64 the digits of n are independent: digit j has P(d) proportional to (a^(64^j))^d. A few digits are drawn
//! by comparing a uniform real with exact thresholds (64 bits first, more on a tie). What lies above them is geometric
//! again, with a ratio of at most 1/16, and is counted by tosses, so the tail has no end.

use super::words::{Words, count_above};
use crate::error::{NoiseError, ParameterError};
use crate::exact::exp_ceil;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};
use std::fmt;

const BASE: u64 = 64;

/// Ratios closer to 1 than 2^-40 have no use here: the rounding of R would show in epsilon.
const LARGEST_RATIO: u64 = u64::MAX - (1 << 24) + 1;

/// A geometric law with an exact rational ratio.
#[derive(Clone)]
pub(super) struct Geometric {
    ratio: u64, // R
    digits: Vec<Digit>,
    /// The chance that n reaches another multiple of the digits' range: a^(64^digits).
    above: Reach,
}

/// Digit j: worth `step` = 64^j, with the first words of P(digit >= d), d = 1..64.
#[derive(Clone)]
struct Digit {
    step: u64,
    first: Vec<u64>,
}

/// P(n >= step) = a^step, with its first word.
#[derive(Clone)]
struct Reach {
    step: u64,
    first: [u64; 1],
}

impl fmt::Debug for Geometric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Geometric({} / 2^64)", self.ratio)
    }
}

impl Geometric {
    /// The law with ratio R / 2^64.
    pub(super) fn new(ratio: u64) -> Result<Self, ParameterError> {
        if ratio == 0 || ratio > LARGEST_RATIO {
            return Err(NoiseError::Ratio { ratio }.into());
        }
        let mut digits = Vec::new();
        let mut step = 1;
        while (power(ratio, step, 128).low >> 124u32) >= BigUint::one() {
            digits.push(Digit { step, first: digit_words(ratio, step) });
            step *= BASE;
        }
        Ok(Self { ratio, digits, above: Reach { step, first: [reach_word(ratio, step, 0)] } })
    }

    pub(super) fn ratio(&self) -> u64 {
        self.ratio
    }

    /// One draw; values beyond 64 bits saturate.
    #[inline]
    pub(super) fn draw<W: Words>(&self, words: &mut W) -> u64 {
        let mut n = 0;
        for Digit { step, first } in &self.digits {
            let draw = words.next_u64();
            let word = |i: usize, level| Some(digit_word(self.ratio, *step, i as u64 + 1, level));
            n += step * count_above(first, draw, words, word) as u64;
        }
        let Reach { step, first } = &self.above;
        loop {
            let draw = words.next_u64();
            if count_above(first, draw, words, |_, level| Some(reach_word(self.ratio, *step, level))) == 0 {
                return n;
            }
            n = n.saturating_add(*step);
        }
    }
}

/// The sensitivity as a divisor, once both numbers are known to be positive.
pub(super) fn positive(sensitivity: u64, epsilon: &BigRational) -> Result<BigInt, ParameterError> {
    if !epsilon.is_positive() {
        return Err(NoiseError::Epsilon.into());
    }
    if sensitivity == 0 {
        return Err(NoiseError::Sensitivity.into());
    }
    Ok(sensitivity.into())
}

/// ceil(2^64 e^-x).
pub(super) fn ratio_above(x: &BigRational) -> Result<u64, ParameterError> {
    exp_ceil(&-x, 64).to_u64().ok_or_else(|| NoiseError::EpsilonPerStep.into())
}

/// word / 2^64.
pub(super) fn fraction_of_word(word: u64) -> BigRational {
    BigRational::new(word.into(), BigInt::one() << 64u32)
}

/// A real in [0, 1] between `low` and `high` over 2^width.
struct Fixed {
    low: BigUint,
    high: BigUint,
    width: u64,
}

impl Fixed {
    fn times(&self, other: &Self) -> Self {
        let width = self.width;
        Self { low: (&self.low * &other.low) >> width, high: ((&self.high * &other.high) >> width) + 1u32, width }
    }
}

/// a^exponent, by squaring.
fn power(ratio: u64, exponent: u64, width: u64) -> Fixed {
    let one = BigUint::one() << width;
    let a = BigUint::from(ratio) << (width - 64);
    let mut square = Fixed { low: a.clone(), high: a, width };
    let mut product = Fixed { low: one.clone(), high: one, width };
    let mut rest = exponent;
    while rest > 0 {
        if rest & 1 == 1 {
            product = product.times(&square);
        }
        square = square.times(&square);
        rest >>= 1;
    }
    product
}

/// The first words of P(digit >= d), d = 1..64: all from one row of powers, or one by one where that does not decide.
fn digit_words(ratio: u64, step: u64) -> Vec<u64> {
    const WIDTH: u64 = 256;
    let (once, whole) = (power(ratio, step, WIDTH), power(ratio, step * BASE, WIDTH));
    let mut reached = power(ratio, 0, WIDTH);
    let mut first = Vec::with_capacity(BASE as usize - 1);
    for d in 1..BASE {
        reached = reached.times(&once);
        let decided = digit_bounds(&reached, &whole)
            .map(|(low, high)| (low >> (WIDTH - 64), high >> (WIDTH - 64)))
            .filter(|(low, high)| low == high);
        first.push(decided.map_or_else(|| digit_word(ratio, step, d, 0), |(low, _)| low_word(low)));
    }
    first
}

/// Bounds of (y - z) / (1 - z) over 2^width, y = a^(step d) and z = a^(step 64): it rises with y and falls with z.
/// `None` if z cannot be distinguished from 1.
fn digit_bounds(reached: &Fixed, whole: &Fixed) -> Option<(BigUint, BigUint)> {
    let width = reached.width;
    let one = BigUint::one() << width;
    if whole.high >= one {
        return None;
    }
    let low = (difference(&reached.low, &whole.high) << width) / (&one - &whole.high);
    let high = (difference(&reached.high, &whole.low) << width) / (&one - &whole.low) + 1u32;
    Some((low, high))
}

/// Word `level` of the binary expansion of P(digit >= d) = (a^(step d) - a^(step 64)) / (1 - a^(step 64)).
///
/// The fraction's reduced denominator keeps an odd factor of 2^(64·64 step) - R^(64 step), so its expansion never ends
/// and widening the enclosure always decides the word.
fn digit_word(ratio: u64, step: u64, d: u64, level: usize) -> u64 {
    widen_until_decided(level, |width| digit_bounds(&power(ratio, step * d, width), &power(ratio, step * BASE, width)))
}

/// Word `level` of the binary expansion of a^step.
fn reach_word(ratio: u64, step: u64, level: usize) -> u64 {
    // a^step = odd^step / 2^(step · places): beyond that many places the expansion ends, and no enclosure would decide.
    let zeros = ratio.trailing_zeros();
    let places = step * u64::from(64 - zeros);
    let shown = 64 * (level as u64 + 1);
    if shown >= places {
        return low_word(BigUint::from(ratio >> zeros).pow(step as u32) << (shown - places));
    }
    widen_until_decided(level, |width| {
        let Fixed { low, high, .. } = power(ratio, step, width);
        Some((low, high))
    })
}

/// The word of a real for which `bounds(width)` gives a lower and an upper bound over 2^width.
fn widen_until_decided(level: usize, bounds: impl Fn(u64) -> Option<(BigUint, BigUint)>) -> u64 {
    let shown = 64 * (level as u64 + 1);
    let mut width = shown + 128;
    loop {
        if let Some((low, high)) = bounds(width) {
            let (low, high) = (low >> (width - shown), high >> (width - shown));
            if low == high {
                return low_word(low);
            }
        }
        width *= 2;
    }
}

fn low_word(n: BigUint) -> u64 {
    n.iter_u64_digits().next().unwrap_or(0)
}

/// max(a - b, 0).
fn difference(a: &BigUint, b: &BigUint) -> BigUint {
    if a > b { a - b } else { BigUint::ZERO }
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::Script;
    use super::*;
    use num_integer::Integer;

    const RATIOS: [u64; 6] = [1, 1 << 63, 3 << 62, 0x8000_0000_0000_0001, 0xFC00_0000_0000_1234, LARGEST_RATIO];

    /// Word `level` of num / den by plain division.
    fn plain_word(num: &BigUint, den: &BigUint, level: usize) -> u64 {
        low_word((num << (64 * (level + 1))) / den)
    }

    fn digit_fraction(ratio: u64, step: u64, d: u64) -> (BigUint, BigUint) {
        let r = |n: u64| BigUint::from(ratio).pow((step * n) as u32);
        let two = |n: u64| BigUint::one() << (64 * step * n);
        (r(d) * two(BASE - d) - r(BASE), two(BASE) - r(BASE))
    }

    #[test]
    fn thresholds_equal_the_plain_fractions() {
        for ratio in RATIOS {
            for step in [1, 64] {
                for d in [1, 2, 31, 63] {
                    let (num, den) = digit_fraction(ratio, step, d);
                    for level in 0..4 {
                        assert_eq!(
                            digit_word(ratio, step, d, level),
                            plain_word(&num, &den, level),
                            "{ratio} {step} {d}"
                        );
                    }
                }
                let (num, den) = (BigUint::from(ratio).pow(step as u32), BigUint::one() << (64 * step));
                for level in 0..4 {
                    assert_eq!(reach_word(ratio, step, level), plain_word(&num, &den, level), "{ratio} {step}");
                }
            }
        }
    }

    /// Digit by digit the law is (1 - a) a^n: the digits' probabilities multiply to it exactly, and the tail is a^step.
    #[test]
    fn digits_multiply_to_the_law() {
        for ratio in [1u64 << 63, 0xFC00_0000_0000_1234] {
            let (a, unit) = (BigUint::from(ratio), BigUint::one() << 64u32);
            for d in 0..BASE {
                let (upper, den) = digit_fraction(ratio, 1, d);
                let (lower, _) = digit_fraction(ratio, 1, d + 1);
                // P(digit = d) (1 - a^64) = (1 - a) a^d, with both sides over 2^(64·65) den
                let left = (upper - lower) * (unit.pow(64) - a.pow(64)) * unit.pow(d as u32 + 1);
                let right = (&unit - &a) * a.pow(d as u32) * den * unit.pow(64);
                assert_eq!(left, right, "{d}");
            }
        }
    }

    /// A draw that agrees with a threshold in its first word is settled by the exact next words.
    #[test]
    fn a_tie_extends_and_decides_exactly() {
        let ratio = 0xF000_0000_0000_0001;
        let law = Geometric::new(ratio).unwrap();
        let never = u64::MAX; // above every chance to go on
        let tied = digit_word(ratio, 1, 5, 0);
        let next = digit_word(ratio, 1, 5, 1);
        let last = digit_word(ratio, 1, 5, 2);
        let draw = |words: &[u64]| {
            let mut script = Script::new(words);
            let n = law.draw(&mut script);
            assert!(script.is_used_up(), "{words:?}");
            n
        };
        assert_eq!(law.digits.len(), 1);
        assert_eq!(draw(&[tied - 1, never]), 5);
        assert_eq!(draw(&[tied + 1, never]), 4);
        assert_eq!(draw(&[tied, next - 1, never]), 5);
        assert_eq!(draw(&[tied, next + 1, never]), 4);
        assert_eq!(draw(&[tied, next, last - 1, never]), 5);
        assert_eq!(draw(&[tied, next, last + 1, never]), 4);
    }

    /// Planted fault "cut tail": tosses that go on are followed however far they lead.
    #[test]
    fn the_tail_has_no_end() {
        let law = Geometric::new(1 << 63).unwrap();
        let Reach { step, first: [first] } = law.above;
        let digits = law.digits.len();
        let mut words = vec![u64::MAX; digits]; // digits 0
        words.extend(vec![first - 1; 1000]);
        words.push(u64::MAX);
        assert_eq!(law.draw(&mut Script::new(&words)), 1000 * step);
    }

    #[test]
    fn impossible_ratios_are_refused() {
        assert!(Geometric::new(0).is_err());
        assert!(Geometric::new(LARGEST_RATIO + 1).is_err());
        assert!(Geometric::new(LARGEST_RATIO).is_ok());
    }

    /// A power of two as ratio has thresholds that end: a tie with a^step is settled too.
    #[test]
    fn a_finite_expansion_ends_in_zeros() {
        assert_eq!(reach_word(1 << 60, 1, 0), 1 << 60);
        assert_eq!(reach_word(1 << 60, 1, 1), 0);
        let plain = BigUint::from(5u64 << 59).pow(64);
        let digits = (plain << 64u32).div_rem(&(BigUint::one() << (64u32 * 64))).0;
        assert_eq!(reach_word(5 << 59, 64, 0), low_word(digits));
    }
}
