//! Rounded Gaussian: N = round(sigma Z), so that x + N is the rounding of the continuous Gaussian mechanism's x + sigma Z.
//!
//! Symbols: `sigma` in grid steps · `h` = 1 / sigma · Q(x) = P(Z > x) · `P` bits of a threshold, a multiple of 64.
//! P(|N| > n) = 2 Q((n + 1/2) h). The table holds Q((n + 1/2) h) over 2^P from n = 0 until it is 0.
//! Departure: the tail beyond the table is cut. [`RoundedGaussian::distance`] bounds the total variation distance from
//! the true law, cut tail included; the mechanism adds it to delta.

use super::SecretRng;
use super::symmetric::Tail;
use super::words::{Words, count_above};
use crate::error::{NoiseError, ParameterError};
use crate::exact::Normal;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::fmt;

/// Bits carried beyond P while the table is built.
const GUARD: u32 = 32;

/// Rounded Gaussian noise.
#[derive(Clone)]
pub struct RoundedGaussian {
    sigma: BigRational,
    /// Thresholds word by word: `words[0][n]` holds the first 64 bits of Q((n + 1/2) h), and so on.
    words: Vec<Vec<u64>>,
}

impl fmt::Debug for RoundedGaussian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sigma, entries, bits) = (&self.sigma, self.entries(), self.precision_bits());
        write!(f, "RoundedGaussian(sigma {sigma}, {entries} thresholds of {bits} bits)")
    }
}

impl RoundedGaussian {
    /// The table for sigma (grid steps) with thresholds of at least `precision_bits` bits. Reads no private data.
    pub fn new(sigma: &BigRational, precision_bits: u32) -> Result<Self, ParameterError> {
        let (least, most) = (BigRational::new(1.into(), 16.into()), BigRational::from_integer((1 << 17).into()));
        if *sigma < least || *sigma > most {
            return Err(NoiseError::Sigma.into());
        }
        if !(64..=512).contains(&precision_bits) {
            return Err(NoiseError::GaussianBits.into());
        }
        let words = precision_bits.div_ceil(64);
        let mut table = vec![Vec::new(); words as usize];
        for tail in tails(sigma, 64 * words) {
            for (level, column) in table.iter_mut().enumerate() {
                let word: BigUint = &tail >> (64 * (words as usize - 1 - level));
                column.push(word.iter_u64_digits().next().unwrap_or(0));
            }
        }
        Ok(Self { sigma: sigma.clone(), words: table })
    }

    /// sigma in grid steps.
    pub fn sigma(&self) -> &BigRational {
        &self.sigma
    }

    /// P, the bits of a threshold.
    pub(crate) fn precision_bits(&self) -> u32 {
        64 * self.words.len() as u32
    }

    fn entries(&self) -> usize {
        self.words[0].len()
    }

    /// A proven upper bound on the total variation distance between this table's law and round(sigma Z).
    ///
    /// Drive both laws by the same uniform real: they differ only if it falls between a threshold and its true value
    /// (at most 2 units apart, on either side), or below the first threshold that was cut (below 2 units).
    pub fn distance(&self) -> BigRational {
        BigRational::new((4 * (self.entries() + 1)).into(), self.unit())
    }

    /// P(N = n) of the table.
    pub fn weight(&self, n: i64) -> BigRational {
        let m = n.unsigned_abs() as usize;
        let numerator = match m {
            0 => self.unit() - 2 * self.tail(0),
            _ => self.tail(m - 1) - self.tail(m),
        };
        BigRational::new(numerator, self.unit())
    }

    /// E N^2 of the table, as the sum of P(|N| > n) ((n + 1)^2 - n^2).
    pub fn variance(&self) -> BigRational {
        self.sum_of_tails(|n| 2 * n + 1)
    }

    /// E N^4 of the table, as the sum of P(|N| > n) ((n + 1)^4 - n^4).
    pub fn fourth_moment(&self) -> BigRational {
        self.sum_of_tails(|n| (n + 1).pow(4) - n.pow(4))
    }

    fn sum_of_tails(&self, factor: impl Fn(u128) -> u128) -> BigRational {
        let sum: BigInt = (0..self.entries()).map(|n| self.tail(n) * factor(n as u128)).sum();
        BigRational::new(2 * sum, self.unit())
    }

    /// Q((n + 1/2) h) over 2^P, as the table has it.
    fn tail(&self, n: usize) -> BigInt {
        if n >= self.entries() {
            return BigInt::zero();
        }
        self.words.iter().fold(BigInt::zero(), |sum, column| (sum << 64u32) + column[n])
    }

    fn unit(&self) -> BigInt {
        BigInt::one() << self.precision_bits()
    }

    /// The first bit is the sign, the others are a uniform real below 1/2; |N| counts the thresholds above it.
    #[inline]
    pub(super) fn draw<W: Words>(&self, words: &mut W) -> i64 {
        let first = words.next_u64();
        let (minus, draw) = (first >> 63 == 1, first & (u64::MAX >> 1));
        let word = |n: usize, level: usize| self.words.get(level).map(|column| column[n]);
        let magnitude = count_above(&self.words[0], draw, words, word) as i64;
        if minus { -magnitude } else { magnitude }
    }
}

/// The table is the whole law: there is nothing beyond it.
impl Tail for RoundedGaussian {
    fn thresholds(&self, _: u64, most: usize) -> Option<Vec<u64>> {
        (self.entries() <= most.max(1 << 21)).then(|| self.words[0].clone())
    }

    fn word(&self, n: usize, level: usize) -> Option<u64> {
        self.words.get(level).map(|column| column[n])
    }

    fn beyond(&self, n: usize, _: &mut SecretRng) -> u64 {
        n as u64
    }
}

/// Q((n + 1/2) h) over 2^bits for n = 0, 1, ... until it is 0, falling, each within 2 units of the true value.
///
/// The thresholds are taken in blocks of 2^s that span at most 1/8: an enclosed tail and density at the block's first
/// point c, and from there Taylor's polynomial Q(c + t) = Q(c) - sum of phi^(j)(c) t^(j+1) / (j+1)!.
fn tails(sigma: &BigRational, bits: u32) -> Vec<BigUint> {
    let width = bits + GUARD;
    let normal = Normal::new(width);
    let h = sigma.recip();
    let s = (sigma / BigInt::from(8)).to_integer().bits().saturating_sub(1) as u32; // 2^s h <= 1/8
    let block = 1u64 << s;
    let mut out: Vec<BigUint> = Vec::new();
    for start in (0u64..).step_by(block as usize) {
        let c = BigRational::new((2 * start + 1).into(), 2.into()) * &h;
        let series = (block > 1).then(|| Taylor::new(&normal, &c, &(&h * BigInt::from(block)), width));
        let (anchor, _) = normal.tail(&c);
        for m in 0..block {
            let fine = match &series {
                Some(series) if m > 0 => &anchor - series.fall(m, s),
                _ => anchor.clone(),
            };
            // Rounding down loses less than a unit, the error before it is below another.
            let tail = (fine >> GUARD).to_biguint().unwrap_or_default();
            // Neighbours too close to be told apart by the error bound still fall.
            let tail = match out.last() {
                Some(last) if *last < tail => last.clone(),
                _ => tail,
            };
            if tail.is_zero() {
                return out;
            }
            out.push(tail);
        }
    }
    out
}

/// The terms phi^(j)(c) tau^(j+1) / (j+1)! over 2^width, for steps t = (m / 2^s) tau with m < 2^s, tau <= 1/8.
struct Taylor {
    /// Two's complement, lowest word first, with a word to spare for a product by m.
    terms: Vec<Vec<u64>>,
}

impl Taylor {
    fn new(normal: &Normal, c: &BigRational, tau: &BigRational, width: u32) -> Self {
        let fixed = |x: &BigRational| (x * (BigInt::one() << width)).floor().to_integer();
        let (slope, bend) = (fixed(&(c * tau)), fixed(&(tau * tau)));
        let (density, _) = normal.density(c);
        let count = terms_needed(width);

        // phi^(j+1) = -(c phi^(j) + j phi^(j-1))
        let mut terms = vec![(density * fixed(tau)) >> width];
        let mut before = BigInt::zero();
        for j in 0..count - 1 {
            let last = &terms[j as usize];
            let next = -((&slope * last + &bend * before * j / (j + 1)) >> width) / (j + 2);
            before = last.clone();
            terms.push(next);
        }
        assert!(error_bound(c, count) < 1 << GUARD, "the table's error stays below one unit");
        let words = width as usize / 64 + 2;
        Self { terms: terms.iter().map(|term| twos_complement(term, words)).collect() }
    }

    /// Q(c) - Q(c + (m / 2^s) tau), by Horner's rule: sum = floor((sum + term) m / 2^s), for s in 1..64.
    fn fall(&self, m: u64, s: u32) -> BigInt {
        let mut sum = vec![0; self.terms[0].len()];
        let top = sum.len() - 1;
        for term in self.terms.iter().rev() {
            let (mut plus, mut times) = (false, 0);
            for (word, &other) in sum.iter_mut().zip(term) {
                let added;
                (added, plus) = carrying_add(*word, other, plus);
                let product = u128::from(added) * u128::from(m) + times;
                (*word, times) = (product as u64, product >> 64);
            }
            for i in 0..top {
                sum[i] = (sum[i] >> s) | (sum[i + 1] << (64 - s));
            }
            sum[top] = ((sum[top] as i64) >> s) as u64;
        }
        let bytes: Vec<u8> = sum.iter().flat_map(|word| word.to_le_bytes()).collect();
        BigInt::from_signed_bytes_le(&bytes)
    }
}

fn carrying_add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry.into());
    (sum, first || second)
}

/// The number in `words` words, lowest first.
fn twos_complement(n: &BigInt, words: usize) -> Vec<u64> {
    let wrapped = if n.is_negative() { (BigInt::one() << (64 * words)) + n } else { n.clone() };
    let mut digits = wrapped.magnitude().to_u64_digits();
    digits.resize(words, 0);
    digits
}

/// Terms after which the rest is below one unit. By Cramér's inequality |phi^(j)| < sqrt(j!) / 2, so the rest after
/// J terms is below tau^(J+1) sqrt(J!) / (J+1)! < 2^(-3 (J+1)) / sqrt(J!).
fn terms_needed(width: u32) -> u32 {
    let mut factorial = BigUint::one();
    (1..)
        .find(|&j| {
            factorial *= j;
            u64::from(3 * (j + 1)) + (factorial.bits() - 1) / 2 >= u64::from(width)
        })
        .expect("factorials grow")
}

/// A bound, in units of 2^-width, on the error of Q(c + t) as computed.
fn error_bound(c: &BigRational, count: u32) -> u64 {
    let slope = c.ceil().to_integer().to_u64().expect("c is small") / 8 + 1; // c tau, rounded up
    // Term 0: density within 2 units, tau within 1, one rounding. Later terms: the two before them scaled by the
    // recurrence, 1 unit from each constant, 3 roundings.
    let (mut before, mut last) = (0, 4);
    let mut sum = last;
    for j in 0..u64::from(count) - 1 {
        (before, last) = (last, slope * last / (j + 2) + 1 + before / 64 + 1 + 5);
        sum += last;
    }
    // Two units of the anchor, one rounding for each Horner step, one unit of the rest of the series.
    sum + 2 + u64::from(count) + 1
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::Script;
    use super::*;
    use crate::exact::normal_tail;

    fn rational(num: i64, den: i64) -> BigRational {
        BigRational::new(num.into(), den.into())
    }

    /// Every threshold of small tables and a sample of large ones against independent enclosures.
    #[test]
    fn thresholds_lie_within_two_units() {
        for (sigma, bits, stride) in [
            (rational(3, 10), 128, 1),
            (rational(1, 1), 192, 1),
            (rational(19, 2), 128, 1),
            (rational(333, 10), 128, 3),
            (rational(1000, 1), 128, 97),
            (rational(12345, 7), 64, 101),
            (rational(9, 1), 320, 1),
        ] {
            let law = RoundedGaussian::new(&sigma, bits).unwrap();
            for n in (0..law.entries()).step_by(stride).chain([law.entries() - 1, law.entries()]) {
                let x = BigRational::new((2 * n + 1).into(), 2.into()) / &sigma;
                let (low, high) = normal_tail(&x, bits + 8);
                let tail = law.tail(n) << 8u32;
                assert!(&tail - 512 <= low && high <= tail + 512, "sigma {sigma}, n {n}");
            }
        }
    }

    /// Horner's rule on words equals Horner's rule on big integers, for terms of either sign.
    #[test]
    fn horner_on_words_equals_horner_on_integers() {
        let (c, tau) = (rational(7, 3), rational(1, 9));
        let series = Taylor::new(&Normal::new(160), &c, &tau, 160);
        let words = series.terms[0].len();
        let signed = |term: &Vec<u64>| {
            let n = term.iter().rev().fold(BigInt::zero(), |sum, &word| (sum << 64u32) + word);
            if term[words - 1] >> 63 == 1 { n - (BigInt::one() << (64 * words)) } else { n }
        };
        assert!(series.terms.iter().any(|term| signed(term).is_negative()));
        for m in [1, 5, 100, 255] {
            let plain = series.terms.iter().rev().fold(BigInt::zero(), |sum, term| ((sum + signed(term)) * m) >> 8u32);
            assert_eq!(series.fall(m, 8), plain);
        }
    }

    #[test]
    fn thresholds_fall_and_weights_sum_to_one() {
        for sigma in [rational(1, 16), rational(3, 10), rational(50, 1), rational(2000, 3)] {
            let law = RoundedGaussian::new(&sigma, 128).unwrap();
            assert!((0..law.entries()).all(|n| law.tail(n) > law.tail(n + 1) || law.tail(n) == law.tail(n + 1)));
            let reach = law.entries() as i64;
            let sum = (-reach..=reach).map(|n| law.weight(n)).fold(rational(0, 1), |sum, w| sum + w);
            assert_eq!(sum, rational(1, 1), "{sigma}");
            assert_eq!(law.weight(reach + 1), rational(0, 1));
        }
    }

    /// The variance of a rounded Gaussian is sigma^2 + 1/12 up to e^(-2 pi^2 sigma^2); its fourth moment follows.
    #[test]
    fn moments_match_theory() {
        let sigma = rational(20, 1);
        let law = RoundedGaussian::new(&sigma, 128).unwrap();
        let s2 = rational(400, 1);
        let close = rational(1, 1 << 60);
        assert!((law.variance() - (&s2 + rational(1, 12))).abs() < close);
        let fourth = rational(3, 1) * &s2 * &s2 + &s2 / BigInt::from(2) + rational(1, 80);
        assert!((law.fourth_moment() - fourth).abs() < close);
        let sum = |power: u32| {
            (-400i64..=400).map(|n| law.weight(n) * BigInt::from(n).pow(power)).fold(rational(0, 1), |sum, w| sum + w)
        };
        assert_eq!(law.variance(), sum(2));
        assert_eq!(law.fourth_moment(), sum(4));
    }

    #[test]
    fn distance_is_tiny_and_counts_the_cut_tail() {
        let law = RoundedGaussian::new(&rational(1000, 1), 128).unwrap();
        assert!(law.distance() < BigRational::new(1.into(), BigInt::from(10).pow(33)));
        // What was cut is below the two units that `distance` sets aside for it.
        let x = BigRational::new((2 * law.entries() + 1).into(), 2000.into());
        assert!(normal_tail(&x, 136).1 <= 512.into());
    }

    /// A draw that agrees with a threshold in its first word is settled by the later ones, down to the last bit.
    #[test]
    fn ties_are_decided_by_the_whole_threshold() {
        let law = RoundedGaussian::new(&rational(5, 1), 192).unwrap();
        let draw = |words: &[u64]| {
            let mut script = Script::new(words);
            let n = law.draw(&mut script);
            assert!(script.is_used_up(), "{words:?}");
            n
        };
        for n in [0, 3, 17] {
            let [a, b, c] = [0, 1, 2].map(|level| law.words[level][n]);
            let (inner, outer) = (n as i64, n as i64 + 1);
            assert_eq!(draw(&[a - 1]), outer);
            assert_eq!(draw(&[a + 1]), inner);
            assert_eq!(draw(&[a, b - 1]), outer);
            assert_eq!(draw(&[a, b + 1]), inner);
            assert_eq!(draw(&[a, b, c - 1]), outer);
            assert_eq!(draw(&[a, b, c]), inner); // equal is not below
            assert_eq!(draw(&[a | 1 << 63, b, c - 1]), -outer);
        }
        // All zeros lie below every threshold: the far end of the table.
        assert_eq!(draw(&[0, 0, 0]), law.entries() as i64);
        assert_eq!(draw(&[1 << 63, 0, 0]), -(law.entries() as i64));
    }

    #[test]
    fn bad_numbers_are_refused() {
        for (sigma, bits) in
            [(rational(0, 1), 128), (rational(-1, 1), 128), (rational(1 << 18, 1), 128), (rational(1, 1), 32)]
        {
            assert!(RoundedGaussian::new(&sigma, bits).is_err());
        }
    }
}
