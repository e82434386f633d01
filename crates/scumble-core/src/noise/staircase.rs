//! Discrete staircase: P(n) proportional to b^level(n), level(n) = floor((|n| + B - r) / B), b = Rb / 2^64.
//!
//! Geng and Viswanath's law on the integers. Symbols: `B` sensitivity in grid steps · `r` width of the first half-step
//! (1 <= r <= B), where P(n) = P(0) for |n| < r and falls by b at |n| = r, r + B, r + 2B, ...
//! Holds for: one coordinate moving by at most B (not for several: the law is not l1-safe). Any B consecutive values of
//! |n| hold one fall, so a shift by at most B changes the level by at most 1, and 1/b <= e^epsilon carries the proof.
//! Rb is rounded up: more noise.

use super::SecretRng;
use super::geometric::{Geometric, fraction_of_word, positive, ratio_above};
use super::symmetric::{Enclosed, Tail, word_of};
use super::words::{Words, count_above, with_sign};
use crate::error::{NoiseError, ParameterError};
use crate::exact::WorstRatio;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Pow};

/// Discrete staircase noise.
#[derive(Debug, Clone)]
pub struct Staircase {
    geometric: Geometric, // b
    sensitivity: u64,     // B
    width: u64,           // r
    /// First word of the chance that an offset lies in the first r of its period.
    chance_of_high: [u64; 1],
}

impl Staircase {
    /// The law of least variance for sensitivity B (grid steps of one coordinate) and epsilon. Reads no private data.
    pub fn least_variance(sensitivity: u64, epsilon: &BigRational) -> Result<Self, ParameterError> {
        positive(sensitivity, epsilon)?;
        let ratio = ratio_above(epsilon)?;
        let law = Self::from_steps(ratio, sensitivity, best_width(ratio, sensitivity))?;
        assert!(law.worst_ratio(sensitivity).at_most_exp(epsilon), "Rb was rounded up");
        Ok(law)
    }

    /// The law with b = Rb / 2^64, period B and first half-step r, as written in a certificate.
    pub fn from_steps(ratio: u64, sensitivity: u64, width: u64) -> Result<Self, ParameterError> {
        if sensitivity >= 1 << 62 || width == 0 || width > sensitivity {
            return Err(NoiseError::StaircaseWidth { sensitivity, width }.into());
        }
        let geometric = Geometric::new(ratio)?;
        let chance_of_high = [if width == sensitivity { u64::MAX } else { high_word(ratio, sensitivity, width, 0) }];
        Ok(Self { geometric, sensitivity, width, chance_of_high })
    }

    /// Rb, where b = Rb / 2^64.
    pub fn ratio(&self) -> u64 {
        self.geometric.ratio()
    }

    /// B, the period of the steps.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// r, the width of the first half-step.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// How often P has fallen by b at n.
    fn level(&self, n: i64) -> u64 {
        (n.unsigned_abs() + self.sensitivity - self.width) / self.sensitivity
    }

    /// The largest ratio between neighbours at this sensitivity: b^-1 up to B, b^-2 up to 2B, and so on.
    pub fn worst_ratio(&self, sensitivity: u64) -> WorstRatio {
        let falls = sensitivity.div_ceil(self.sensitivity);
        WorstRatio { num: BigUint::one() << 64u32, den: self.ratio().into(), power: falls }
    }

    /// P(n).
    pub fn weight(&self, n: i64) -> BigRational {
        let (_, total) = moment(self.ratio(), self.sensitivity, self.width, 0);
        let rest = (BigInt::one() << 64u32) - self.ratio();
        Pow::pow(&fraction_of_word(self.ratio()), self.level(n)) * BigRational::new(rest, total)
    }

    /// E n^2.
    pub fn variance(&self) -> BigRational {
        self.even_moment(2)
    }

    /// E n^4.
    pub fn fourth_moment(&self) -> BigRational {
        self.even_moment(4)
    }

    fn even_moment(&self, k: usize) -> BigRational {
        let (moment, total) = moment(self.ratio(), self.sensitivity, self.width, k);
        BigRational::new(moment * 2, total)
    }

    /// |n| = q B + i with q geometric and i in the high or the low part; minus zero is drawn again as a whole.
    #[inline]
    pub(super) fn draw<W: Words>(&self, words: &mut W) -> i64 {
        loop {
            let magnitude = self.draw_magnitude(words);
            if let Some(n) = with_sign(magnitude, words) {
                return n;
            }
        }
    }

    /// q B + i, with 0 as likely as it is on one side.
    #[inline]
    fn draw_magnitude<W: Words>(&self, words: &mut W) -> u64 {
        let periods = self.geometric.draw(words);
        let offset = if self.draw_high(words) {
            words.below(self.width)
        } else {
            self.width + words.below(self.sensitivity - self.width)
        };
        periods.saturating_mul(self.sensitivity).saturating_add(offset)
    }

    /// An offset weighs 1 in the high part and b in the low part.
    #[inline]
    fn draw_high<W: Words>(&self, words: &mut W) -> bool {
        if self.width == self.sensitivity {
            return true;
        }
        let draw = words.next_u64();
        let word = |_, level| Some(high_word(self.ratio(), self.sensitivity, self.width, level));
        count_above(&self.chance_of_high, draw, words, word) == 1
    }
}

/// With n + 1 = m B + i and b = Rb / U, U = 2^64: P(N > n) = b^m (C (U - Rb) + Rb S) / (U (2 S - U + Rb)), where
/// S = r U + (B - r) Rb weighs a period from its first offset on, and C what is left of it from offset i on.
impl Tail for Staircase {
    fn thresholds(&self, last: u64, most: usize) -> Option<Vec<u64>> {
        // A table holds whole periods.
        let period = usize::try_from(self.sensitivity).ok().filter(|period| *period <= most)?;
        let den = self.tail_denominator();
        let mut tails: Vec<Enclosed> = Vec::new(); // those of the last period, by offset
        let mut thresholds = Vec::new();
        loop {
            let n = thresholds.len();
            let offset = (n + 1) % period;
            // A period later the tail has fallen by b.
            let tail = if n >= period {
                tails[n % period].times(self.ratio())
            } else if offset == 0 {
                Enclosed::new(&self.tail_numerator(0), &den).times(self.ratio())
            } else {
                Enclosed::new(&self.tail_numerator(offset as u64), &den)
            };
            let first = tail.first_word().unwrap_or_else(|| self.exact_word(n, 0));
            thresholds.push(first);
            // After whole periods the law starts afresh.
            if first < last && offset == 0 {
                return Some(thresholds);
            }
            if thresholds.len() >= most {
                return None;
            }
            if n < period { tails.push(tail) } else { tails[n % period] = tail }
        }
    }

    fn word(&self, n: usize, level: usize) -> Option<u64> {
        Some(self.exact_word(n, level))
    }

    fn beyond(&self, n: usize, rng: &mut SecretRng) -> u64 {
        (n as u64).saturating_add(self.draw_magnitude(rng))
    }
}

impl Staircase {
    /// C (U - Rb) + Rb S.
    fn tail_numerator(&self, offset: u64) -> BigUint {
        let (unit, ratio) = (BigUint::one() << 64u32, BigUint::from(self.ratio()));
        let (high, low) = match offset < self.width {
            true => (self.width - offset, self.sensitivity - self.width),
            false => (0, self.sensitivity - offset),
        };
        let left = &unit * high + &ratio * low;
        let period = &unit * self.width + &ratio * (self.sensitivity - self.width);
        left * (unit - &ratio) + ratio * period
    }

    /// U (2 S - U + Rb).
    fn tail_denominator(&self) -> BigUint {
        let (unit, ratio) = (BigUint::one() << 64u32, BigUint::from(self.ratio()));
        let period = &unit * self.width + &ratio * (self.sensitivity - self.width);
        (period * 2u32 + ratio - &unit) << 64u32
    }

    fn exact_word(&self, n: usize, level: usize) -> u64 {
        let (periods, offset) = ((n as u64 + 1) / self.sensitivity, (n as u64 + 1) % self.sensitivity);
        let num = self.tail_numerator(offset) * Pow::pow(&BigUint::from(self.ratio()), periods);
        word_of(&num, &(self.tail_denominator() << (64 * periods)), level)
    }
}

/// Word `level` of the binary expansion of r / (r + (B - r) b).
fn high_word(ratio: u64, period: u64, high: u64, level: usize) -> u64 {
    let num = BigUint::from(high) << 64u32;
    let den = &num + BigUint::from(ratio) * (period - high);
    let digits = (num << (64 * (level + 1))) / den;
    digits.iter_u64_digits().next().unwrap_or(0)
}

/// The r of least variance. With V(r) = N(r) / D(r), D grows by a constant and N by growing amounts, so V falls and
/// then rises: the first r at which it does not fall is the best.
fn best_width(ratio: u64, period: u64) -> u64 {
    let falls = |r| {
        let [(here, total), (next, next_total)] = [r, r + 1].map(|r| moment(ratio, period, r, 2));
        next * total < here * next_total
    };
    let (mut low, mut high) = (1, period);
    while low < high {
        let middle = low + (high - low) / 2;
        if falls(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The sum of m^k b^level(m) over m >= 0, and of b^level(n) over all n, each times (U - Rb)^(k+1), k <= 4.
///
/// m = q B + i: the sum over q is a geometric moment, U A_n / (U - Rb)^(n+1) with A_n Euler's polynomial in Rb and U,
/// and the sum over the offsets i is O_j / U. So the k-th moment is the sum of C(k,n) B^n A_n O_(k-n) / (U - Rb)^(n+1).
fn moment(ratio: u64, period: u64, high: u64, k: usize) -> (BigInt, BigInt) {
    const BINOMIAL: [[u32; 5]; 5] =
        [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 2, 1, 0, 0], [1, 3, 3, 1, 0], [1, 4, 6, 4, 1]];
    const EULERIAN: [&[u32]; 5] = [&[1], &[0, 1], &[0, 1, 1], &[0, 1, 4, 1], &[0, 1, 11, 11, 1]];
    let (ratio, unit) = (BigInt::from(ratio), BigInt::one() << 64u32);
    let rest = &unit - &ratio; // U - Rb
    // Offsets from r on weigh b.
    let offsets = |j: usize| {
        let (first, all) = (power_sum(high, j), power_sum(period, j));
        &first * &unit + &ratio * (all - first)
    };
    let eulerian = |n: usize| {
        let terms = EULERIAN[n].iter().enumerate();
        terms.map(|(i, &c)| ratio.clone().pow(i as u32) * unit.clone().pow((n - i) as u32) * c).sum::<BigInt>()
    };
    let term = |n: usize| {
        let (power, rest) = (BigInt::from(period).pow(n as u32), rest.clone().pow((k - n) as u32));
        power * eulerian(n) * offsets(k - n) * rest * BINOMIAL[k][n]
    };
    // Both sides, 0 counted once.
    let total = (offsets(0) * 2 - &rest) * rest.clone().pow(k as u32);
    ((0..=k).map(term).sum(), total)
}

/// The sum of i^j over i < m.
fn power_sum(m: u64, j: usize) -> BigInt {
    let m = BigInt::from(m);
    let pairs: BigInt = &m * (&m - 1) / 2;
    match j {
        0 => m,
        1 => pairs,
        2 => pairs * (2 * m - 1) / 3,
        3 => &pairs * &pairs,
        4 => pairs * (2 * &m - 1) * (3 * &m * &m - 3 * m - 1) / 15,
        _ => unreachable!("moments up to the fourth"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::Script;
    use super::*;
    use crate::exact::at_most_exp;
    use num_traits::Signed;

    fn rational(num: i64, den: i64) -> BigRational {
        BigRational::new(num.into(), den.into())
    }

    #[test]
    fn power_sums_equal_plain_sums() {
        for m in 1..12u64 {
            for j in 0..5 {
                assert_eq!(power_sum(m, j), (0..m).map(|i| BigInt::from(i.pow(j as u32))).sum(), "{m} {j}");
            }
        }
    }

    #[test]
    fn moments_equal_plain_sums() {
        let law = Staircase::from_steps(1 << 58, 5, 2).unwrap();
        let (mut mass, mut second, mut fourth) = (rational(0, 1), rational(0, 1), rational(0, 1));
        for n in -80i64..=80 {
            let w = law.weight(n);
            second += &w * BigInt::from(n * n);
            fourth += &w * BigInt::from(n.pow(4));
            mass += w;
        }
        let close = rational(1, 1_000_000_000_000_000);
        assert!((mass - rational(1, 1)).abs() < close);
        assert!((law.variance() - second).abs() < close && (law.fourth_moment() - fourth).abs() < close);
    }

    /// The search stops at the least of all variances.
    #[test]
    fn best_width_is_the_best_of_all() {
        for (period, epsilon) in
            [(1, rational(1, 1)), (16, rational(1, 2)), (37, rational(3, 1)), (64, rational(10, 1))]
        {
            let law = Staircase::least_variance(period, &epsilon).unwrap();
            let variance = |r: u64| Staircase::from_steps(law.ratio(), period, r).unwrap().variance();
            let best = (1..=period).min_by_key(|&r| variance(r)).unwrap();
            assert_eq!(law.width(), best, "{period} {epsilon}");
        }
    }

    /// Exhaustive over a window: a shift by at most B changes the level by at most 1, and some shift by B does.
    #[test]
    fn a_shift_by_the_sensitivity_costs_one_level() {
        for period in 1..=12u64 {
            for high in 1..=period {
                let law = Staircase::from_steps(1 << 60, period, high).unwrap();
                let b = period as i64;
                let cost = |m: i64| (-3 * b..=3 * b).map(|n| law.level(n).abs_diff(law.level(n + m))).max().unwrap();
                assert!((-b..=b).all(|m| cost(m) <= 1), "{period} {high}");
                assert_eq!(cost(b), 1);
                // Planted fault "beta off by one": it costs two levels wherever a side has room for both falls.
                assert_eq!(cost(b + 1), 2);
                assert_eq!(law.worst_ratio(period + 1).power, 2);
            }
        }
    }

    #[test]
    fn rounding_is_toward_more_noise_and_checked() {
        for epsilon in [rational(1, 10), rational(1, 1), rational(5, 1), rational(20, 1)] {
            let law = Staircase::least_variance(64, &epsilon).unwrap();
            assert!(law.worst_ratio(64).at_most_exp(&epsilon));
            // Planted fault "rounding down".
            let rounded_down = Staircase::from_steps(law.ratio() - 1, 64, law.width()).unwrap();
            assert!(!rounded_down.worst_ratio(64).at_most_exp(&epsilon));
            // Planted fault "noise scale x 0.95": 61 steps instead of 64.
            let narrow = Staircase::from_steps(law.ratio(), 61, law.width().min(61)).unwrap();
            assert!(!narrow.worst_ratio(64).at_most_exp(&epsilon));
        }
    }

    /// The chance of the high part, to the last bit of three words, and a tie with it.
    #[test]
    fn a_tie_extends_and_decides_exactly() {
        let ratio = 0x0123_4567_89AB_CDEF;
        let law = Staircase::from_steps(ratio, 10, 4).unwrap();
        let [w0, w1, w2] = [0, 1, 2].map(|level| high_word(ratio, 10, 4, level));
        let exact = rational(4, 1) / (rational(4, 1) + fraction_of_word(ratio) * BigInt::from(6));
        let words = (BigInt::from(w0) << 128u32) + (BigInt::from(w1) << 64u32) + w2;
        assert_eq!((exact * (BigInt::one() << 192u32)).floor().to_integer(), words);

        let (stop, plus) = (u64::MAX, 0);
        let draw = |middle: &[u64]| {
            let mut words = vec![stop];
            words.extend(middle);
            words.extend([(1 << 63) + 1, plus]); // the middle of the offsets, not rejected
            let mut script = Script::new(&words);
            let n = law.draw(&mut script);
            assert!(script.is_used_up());
            n
        };
        let (in_high, in_low) = (2, 7);
        assert_eq!(draw(&[w0 - 1]), in_high);
        assert_eq!(draw(&[w0 + 1]), in_low);
        assert_eq!(draw(&[w0, w1 - 1]), in_high);
        assert_eq!(draw(&[w0, w1 + 1]), in_low);
        assert_eq!(draw(&[w0, w1, w2 - 1]), in_high);
        assert_eq!(draw(&[w0, w1, w2 + 1]), in_low);
    }

    #[test]
    fn bad_steps_are_refused() {
        assert!(Staircase::from_steps(1 << 60, 4, 0).is_err());
        assert!(Staircase::from_steps(1 << 60, 4, 5).is_err());
        assert!(Staircase::from_steps(1 << 60, 1 << 62, 1).is_err());
        assert!(Staircase::least_variance(0, &rational(1, 1)).is_err());
    }

    /// 1/b <= e^epsilon, decided by the same comparison that carries the guarantee.
    #[test]
    fn one_fall_costs_at_most_epsilon() {
        let epsilon = rational(7, 2);
        let law = Staircase::least_variance(100, &epsilon).unwrap();
        assert!(at_most_exp(&(BigUint::one() << 64u32), &law.ratio().into(), &epsilon));
    }
}
