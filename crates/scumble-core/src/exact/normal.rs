//! The normal law between two integers: tail, density, and the exact delta of the Gaussian mechanism.

use super::exp::{Enclosure, exp_floor};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Bits carried beyond those asked for. A series adds a few hundred rounding errors at most.
const GUARD: u32 = 32;

/// The standard normal law at a fixed number of bits. Bounds come as a pair of integers over 2^bits.
#[derive(Debug, Clone)]
pub struct Normal {
    bits: u32,
    /// Below and above 2^(bits + GUARD) / sqrt(2 pi).
    peak: (BigUint, BigUint),
}

impl Normal {
    /// Prepares the constants for `bits` fractional bits.
    pub fn new(bits: u32) -> Self {
        let width = bits + GUARD;
        let (pi_low, pi_high) = pi(width);
        // 1/sqrt(2 pi) = sqrt(1 / (2 pi)): with pi = p / 2^width the root of 2^(3 width - 1) / p has width bits.
        let one = BigUint::one() << (3 * width - 1);
        Self { bits, peak: ((&one / pi_high).sqrt(), (one / pi_low + 1u32).sqrt() + 1u32) }
    }

    /// Bounds on the density at x.
    pub fn density(&self, x: &BigRational) -> (BigInt, BigInt) {
        if self.is_far(x) {
            return (BigInt::zero(), BigInt::one());
        }
        let (low, high) = self.bell(x).scaled((&self.peak.0, &self.peak.1), -i64::from(GUARD));
        (low.into(), high.into())
    }

    /// Bounds on Q(x) = P(Z > x), at most two units apart.
    pub fn tail(&self, x: &BigRational) -> (BigInt, BigInt) {
        if x.is_negative() {
            let one = BigInt::one() << self.bits;
            let (low, high) = self.tail(&-x);
            return (&one - high, one - low);
        }
        if self.is_far(x) {
            return (BigInt::zero(), BigInt::one());
        }
        // Q(x) = 1/2 - density(x) (x + x^3/3 + x^5/(3·5) + ...): all terms positive, nothing cancels in the sum.
        let (sum_low, sum_high) = self.odd_series(x);
        let factor = (&self.peak.0 * sum_low, &self.peak.1 * sum_high);
        let drop = i64::from(self.bits + 2 * GUARD); // of the 2 (bits + GUARD) bits of the product, bits remain
        let (low, high) = self.bell(x).scaled((&factor.0, &factor.1), -drop);
        let half = BigInt::one() << (self.bits - 1);
        (&half - BigInt::from(high), half - BigInt::from(low))
    }

    /// So far out that tail and density are below one unit: both are at most e^(-x^2/2) / 2 < 2^-bits.
    fn is_far(&self, x: &BigRational) -> bool {
        x * x >= BigRational::from_integer((2 * self.bits).into())
    }

    /// e^(-x^2/2).
    fn bell(&self, x: &BigRational) -> Enclosure {
        Enclosure::exp(&(-(x * x) / BigInt::from(2)), self.bits + GUARD)
    }

    /// Bounds on x + x^3/3 + x^5/(3·5) + ... over 2^(bits + GUARD), for x >= 0.
    fn odd_series(&self, x: &BigRational) -> (BigUint, BigUint) {
        let width = self.bits + GUARD;
        let fixed = |r: &BigRational| ((r.numer().magnitude() << width) / r.denom().magnitude(), BigUint::one());
        let (mut low, step) = fixed(x);
        let mut high = &low + &step;
        let (square_low, step) = fixed(&(x * x));
        let square_high = &square_low + step;
        // From this odd number on each term is at most half the one before, so the rest is below the last term.
        let falling = 2 * (x * x).ceil().to_integer().to_u32().expect("far values were answered before");

        let (mut sum_low, mut sum_high) = (low.clone(), high.clone());
        let mut odd = 3u32;
        while odd <= falling + 2 || high > BigUint::from(2u32) {
            low = ((low * &square_low) >> width) / odd;
            high = (((high * &square_high) >> width) + 1u32) / odd + 1u32;
            sum_low += &low;
            sum_high += &high;
            odd += 2;
        }
        (sum_low, sum_high + high)
    }
}

/// Bounds on pi over 2^bits: Machin's 16 atan(1/5) - 4 atan(1/239).
fn pi(bits: u32) -> (BigUint, BigUint) {
    let width = bits + GUARD;
    // Fewer than `width` terms, each wrong by less than two units: 20 · 2 · width < 2^GUARD units in all.
    let middle = (atan_of_reciprocal(5, width) * 16u32 - atan_of_reciprocal(239, width) * 4u32) >> GUARD;
    (&middle - 1u32, middle + 2u32)
}

/// atan(1/n) over 2^width, each term rounded down.
fn atan_of_reciprocal(n: u32, width: u32) -> BigUint {
    let mut power = (BigUint::one() << width) / n;
    let mut sums = [BigUint::zero(), BigUint::zero()];
    let mut k = 0u32;
    while !power.is_zero() {
        sums[(k % 2) as usize] += &power / (2 * k + 1);
        power /= n * n;
        k += 1;
    }
    let [plus, minus] = sums;
    plus - minus
}

/// Bounds on Q(x) = P(Z > x) over 2^bits, at most two units apart.
#[cfg(test)]
pub(crate) fn normal_tail(x: &BigRational, bits: u32) -> (BigInt, BigInt) {
    Normal::new(bits).tail(x)
}

/// A proven upper bound, over 2^bits, on the delta of the Gaussian mechanism with mu = sensitivity / sigma:
/// Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). At most 2^(1 - bits) above the value.
///
/// # Panics
/// If mu is not positive or epsilon is negative.
pub fn gaussian_delta_upper(epsilon: &BigRational, mu: &BigRational, bits: u32) -> BigRational {
    assert!(mu.is_positive() && !epsilon.is_negative(), "mu > 0 and epsilon >= 0");
    let (centre, half) = (epsilon / mu, mu / BigInt::from(2));
    // e^epsilon magnifies the error of the second tail.
    let whole = epsilon.to_integer().to_u32().expect("epsilon fits 32 bits");
    let fine = bits + GUARD + whole + whole / 2;
    let normal = Normal::new(fine);
    let (_, first) = normal.tail(&(&centre - &half));
    let (second, _) = normal.tail(&(&centre + &half));
    let factor = exp_floor(epsilon, fine);
    let delta = (first << fine) - factor * second; // over 2^(2 fine)
    let drop = 2 * fine - bits;
    let rounded_up = -((-delta) >> drop); // >> rounds toward minus infinity
    BigRational::new(rounded_up.max(BigInt::zero()), BigInt::one() << bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use serde_json::Value;

    /// An exact decimal such as 3.5e-7.
    fn decimal(text: &str) -> BigRational {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: BigInt = format!("{whole}{fraction}").parse().unwrap();
        let power = exponent.parse::<i32>().unwrap() - fraction.len() as i32;
        BigRational::from_integer(digits) * BigRational::from_integer(10.into()).pow(power)
    }

    fn oracle(name: &str) -> Vec<Value> {
        let path = format!("{}/tests/oracle/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        json["rows"].as_array().unwrap().clone()
    }

    /// A number of the oracle; one below 1e-999 counts as 0, which saves a power of ten with millions of digits.
    fn number(row: &Value, key: &str) -> BigRational {
        let text = row[key].as_str().unwrap();
        let tiny = text.split_once("e-").is_some_and(|(_, power)| power.len() > 3);
        decimal(if tiny { "0" } else { text })
    }

    #[test]
    fn pi_is_enclosed() {
        let (low, high) = pi(200);
        assert!(&high - &low <= BigUint::from(3u32));
        // floor(pi 2^200) by mpmath
        let exact: BigUint = "5048344754617993871973410141242436836214643421488662971535368".parse().unwrap();
        assert!(low <= exact && exact < high);
    }

    /// Q(x) by mpmath, 40 digits.
    #[test]
    fn tail_known_answers() {
        for (x, q) in [
            ("0", "5.0e-1"),
            ("0.001", "4.996010577860889374154096775556730587315e-1"),
            ("0.5", "3.085375387259868963622953893916622601164e-1"),
            ("1", "1.586552539314570514147674543679620775221e-1"),
            ("2.5", "6.209665325776135166978104574192221127898e-3"),
            ("-1.25", "8.943502263331447423112272359742534451524e-1"),
            ("6", "9.865876450376981407008641323980420186698e-10"),
            ("9.75", "9.223413524939418148520226211950499431674e-23"),
            ("12", "1.776482112077678997696171001845557092393e-33"),
            ("13.3", "1.157341628369043592451418691986648271685e-40"),
            ("20", "2.753624118606233695075622780857465332807e-89"),
        ] {
            let (x, q) = (decimal(x), decimal(q));
            for bits in [64, 100, 128] {
                let (low, high) = normal_tail(&x, bits);
                assert!(&high - &low <= 2.into(), "{x} {bits}");
                let unit = BigRational::from_integer(BigInt::one() << bits);
                let slack = decimal("1e-38") * &unit; // the constants' own rounding
                let scaled = q.clone() * unit;
                assert!(BigRational::from_integer(low) <= &scaled + &slack, "{x} {bits}");
                assert!(&scaled - &slack <= BigRational::from_integer(high), "{x} {bits}");
            }
        }
    }

    #[test]
    fn density_known_answers() {
        let at = |x: &str| Normal::new(100).density(&decimal(x));
        // floor(density 2^100) by mpmath
        for (x, floor) in [
            ("0", "505719421207294732937928315906"),
            ("1", "306734334174351612493957057006"),
            ("-3.5", "1106256742183546623802215397"),
            ("8", "6404514471561268"),
        ] {
            let floor: BigInt = floor.parse().unwrap();
            let (low, high) = at(x);
            assert!(&high - &low <= 2.into() && low <= floor && floor < high, "{x}");
        }
        assert_eq!(at("100"), (0.into(), 1.into()));
    }

    #[test]
    fn delta_of_the_gaussian_mechanism_is_bounded_from_above() {
        let slack = decimal("1e-28");
        for row in oracle("gdp_delta") {
            let (mu, epsilon, delta) = (number(&row, "mu"), number(&row, "eps"), number(&row, "delta"));
            for bits in [64, 256] {
                let bound = gaussian_delta_upper(&epsilon, &mu, bits);
                let unit = BigRational::new(2.into(), BigInt::one() << bits);
                assert!(bound >= &delta * (BigRational::one() - &slack), "{row}");
                assert!(bound <= &delta * (BigRational::one() + &slack) + unit, "{row}");
            }
        }
    }

    /// The oracle's sigma, moved by one part in 10^9 either way, is on the right side of its delta.
    #[test]
    fn delta_separates_sigmas_around_the_optimum() {
        let nudge = decimal("1e-9");
        for row in oracle("gauss_sigma_opt") {
            let [epsilon, delta, sensitivity, sigma] = ["eps", "delta", "Delta", "sigma"].map(|key| number(&row, key));
            let bits = 256;
            let above = &sigma * (BigRational::one() + &nudge);
            let below = &sigma * (BigRational::one() - &nudge);
            assert!(gaussian_delta_upper(&epsilon, &(&sensitivity / above), bits) <= delta, "{row}");
            assert!(gaussian_delta_upper(&epsilon, &(&sensitivity / below), bits) > delta, "{row}");
        }
    }

    #[test]
    fn doubles_are_exact() {
        assert_eq!(rational(0.5), decimal("0.5"));
        assert_ne!(rational(0.1), decimal("0.1"));
    }
}
