//! e^x between two integers, and the comparisons that carry a pure guarantee.

use crate::error::{NoiseError, ParameterError};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// A positive real between `low · 2^exponent` and `high · 2^exponent`.
#[derive(Debug, Clone)]
pub(super) struct Enclosure {
    low: BigUint,
    high: BigUint,
    exponent: i64,
}

impl Enclosure {
    /// Encloses e^x with a relative width below 2^-bits.
    pub(super) fn exp(x: &BigRational, bits: u32) -> Self {
        if x.is_negative() { Self::exp_of_positive(&-x, bits + 2).reciprocal() } else { Self::exp_of_positive(x, bits) }
    }

    /// Taylor's series at r = x / 2^halvings < 2^-8, then one squaring for each halving.
    fn exp_of_positive(x: &BigRational, bits: u32) -> Self {
        let halvings = x.to_integer().bits() + 8;
        // A squaring doubles the relative error; 24 bits cover the one or two units lost by each term and each squaring.
        let width = u64::from(bits) + halvings + 24;
        let numer = x.numer().magnitude() << width;
        let (r_low, r_high) = around(numer / (x.denom().magnitude() << halvings));

        let one = BigUint::one() << width;
        let (mut term_low, mut term_high) = (one.clone(), one.clone());
        let (mut low, mut high) = (one.clone(), one);
        let mut n = 1u32;
        while term_high > BigUint::from(2u32) {
            term_low = ((term_low * &r_low) >> width) / n;
            term_high = (((term_high * &r_high) >> width) + 1u32) / n + 1u32;
            low += &term_low;
            high += &term_high;
            n += 1;
        }
        high += term_high; // the rest is below r + r^2 + ... < 1 times the last term

        let mut power = Self { low, high, exponent: -(width as i64) };
        for _ in 0..halvings {
            power = power.squared(width);
        }
        power
    }

    fn squared(self, width: u64) -> Self {
        let (low, high) = (&self.low * &self.low, &self.high * &self.high);
        let drop = high.bits().saturating_sub(width + 1);
        Self { low: low >> drop, high: (high >> drop) + 1u32, exponent: 2 * self.exponent + drop as i64 }
    }

    fn reciprocal(self) -> Self {
        let shift = 2 * self.high.bits();
        let one = BigUint::one() << shift;
        Self { low: &one / &self.high, high: one / &self.low + 1u32, exponent: -(shift as i64) - self.exponent }
    }

    /// Integers below and above the value times `2^bits` times `factor` (a pair of bounds).
    pub(super) fn scaled(&self, factor: (&BigUint, &BigUint), bits: i64) -> (BigUint, BigUint) {
        let shift = self.exponent + bits;
        (shifted(&self.low * factor.0, shift), shifted(&self.high * factor.1, shift) + 1u32)
    }

    /// The whole part of low and of high times 2^bits.
    fn floors(&self, bits: u32) -> (BigUint, BigUint) {
        let shift = self.exponent + i64::from(bits);
        (shifted(self.low.clone(), shift), shifted(self.high.clone(), shift))
    }
}

fn around(floor: BigUint) -> (BigUint, BigUint) {
    let above = &floor + 1u32;
    (floor, above)
}

/// floor(n · 2^shift).
fn shifted(n: BigUint, shift: i64) -> BigUint {
    if shift < 0 { n >> shift.unsigned_abs() } else { n << shift.unsigned_abs() }
}

/// The largest integer n with n / 2^bits <= e^x.
pub fn exp_floor(x: &BigRational, bits: u32) -> BigInt {
    if x.is_zero() {
        return BigInt::one() << bits; // the only rational at which e^x is rational: elsewhere the loop below ends
    }
    if *x < BigRational::from_integer(-BigInt::from(bits)) {
        return BigInt::zero(); // e^x < 2^x < 2^-bits
    }
    let whole = x.to_integer().to_u32().unwrap_or(0); // e^x < 2^(3 (whole + 1) / 2) for x > 0
    let mut precision = bits + whole + whole / 2 + 16;
    loop {
        let (low, high) = Enclosure::exp(x, precision).floors(bits);
        if low == high {
            return low.into();
        }
        precision *= 2;
    }
}

/// The smallest integer n with n / 2^bits >= e^x.
pub(crate) fn exp_ceil(x: &BigRational, bits: u32) -> BigInt {
    if x.is_zero() { BigInt::one() << bits } else { exp_floor(x, bits) + 1 }
}

/// e^epsilon, kept ready for many exact comparisons.
#[derive(Debug, Clone)]
pub struct Exp {
    epsilon: BigRational,
    enclosure: Enclosure,
}

impl Exp {
    /// Encloses e^epsilon closely enough for nearly every comparison of 64-bit ratios.
    pub fn new(epsilon: &BigRational) -> Self {
        Self { epsilon: epsilon.clone(), enclosure: Enclosure::exp(epsilon, 160) }
    }

    /// Is num / den <= e^epsilon? Decided exactly.
    ///
    /// # Panics
    /// If `den` is zero.
    pub fn at_least(&self, num: &BigUint, den: &BigUint) -> bool {
        assert!(!den.is_zero(), "a ratio needs a denominator");
        if self.epsilon.is_zero() {
            return num <= den;
        }
        let mut bits = 320;
        let mut refined;
        let mut enclosure = &self.enclosure;
        loop {
            let Enclosure { low, high, exponent } = enclosure;
            let (num, unit) = if *exponent < 0 {
                (num << exponent.unsigned_abs(), 0)
            } else {
                (num.clone(), exponent.unsigned_abs())
            };
            if num <= (den * low) << unit {
                return true;
            }
            if num > (den * high) << unit {
                return false;
            }
            refined = Enclosure::exp(&self.epsilon, bits);
            enclosure = &refined;
            bits *= 2; // e^epsilon is irrational, so some precision decides
        }
    }
}

/// Is num / den <= e^epsilon? Decided exactly.
pub fn at_most_exp(num: &BigUint, den: &BigUint, epsilon: &BigRational) -> bool {
    Exp::new(epsilon).at_least(num, den)
}

/// The smallest double that is not below ln(num / den).
///
/// # Panics
/// If either is zero.
pub fn ln_upper(num: &BigUint, den: &BigUint) -> f64 {
    smallest_double(ln(num, den), |y| at_most_exp(num, den, y))
}

/// ln(num / den), a few units off.
fn ln(num: &BigUint, den: &BigUint) -> f64 {
    assert!(!num.is_zero() && !den.is_zero(), "the logarithm needs a positive ratio");
    let octaves = num.bits() as i64 - den.bits() as i64;
    if octaves.abs() <= 1 {
        let excess = BigRational::new(BigInt::from(num.clone()) - BigInt::from(den.clone()), den.clone().into());
        return libm::log1p(super::to_f64(&excess));
    }
    let (num, den) =
        if octaves > 0 { (num.clone(), den << octaves as u64) } else { (num << -octaves as u64, den.clone()) };
    let rest = super::nearest(num, den).expect("between 1/2 and 2");
    octaves as f64 * std::f64::consts::LN_2 + libm::log(rest)
}

/// The smallest double for which a rising condition holds, near the estimate: the same on every machine.
fn smallest_double(estimate: f64, holds: impl Fn(&BigRational) -> bool) -> f64 {
    let mut y = estimate;
    while holds(&super::rational(y)) && holds(&super::rational(y.next_down())) {
        y = y.next_down();
    }
    while !holds(&super::rational(y)) {
        y = y.next_up();
    }
    y
}

/// The largest ratio that a law shows between neighbours, (num / den)^power: what its pure guarantee really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorstRatio {
    /// Numerator of the base, at least the denominator.
    pub num: BigUint,
    /// Denominator of the base.
    pub den: BigUint,
    /// The exponent of the base, at least 1.
    pub power: u64,
}

impl WorstRatio {
    /// The ratio of this many independent repetitions.
    pub fn repeated(self, times: u64) -> Result<Self, ParameterError> {
        match self.power.checked_mul(times) {
            Some(power) => Ok(Self { power, ..self }),
            None => Err(NoiseError::Repetitions.into()),
        }
    }

    /// Is the ratio at most e^epsilon? Decided exactly.
    pub fn at_most_exp(&self, epsilon: &BigRational) -> bool {
        at_most_exp(&self.num, &self.den, &(epsilon / BigInt::from(self.power)))
    }

    /// The checked epsilon: the smallest double that is not below the ratio's logarithm, for a certificate. It never
    /// exceeds a double at which [`WorstRatio::at_most_exp`] holds.
    pub fn epsilon(&self) -> f64 {
        smallest_double(ln(&self.num, &self.den) * self.power as f64, |y| self.at_most_exp(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;

    fn ratio(num: i64, den: i64) -> BigRational {
        BigRational::new(num.into(), den.into())
    }

    fn big(n: u64) -> BigUint {
        n.into()
    }

    /// floor(e^x 2^bits) by mpmath with 400 digits.
    #[test]
    fn exp_floor_known_answers() {
        for (x, bits, floor) in [
            (ratio(1, 1), 64, "50143449209799256682"),
            (ratio(-1, 1), 64, "6786177901268885274"),
            (ratio(-1, 1000), 64, "18428306549934190034"),
            (ratio(1, 3), 128, "474902299312565460838580510675219416384"),
            (ratio(-20, 1), 64, "38021573369"),
            (ratio(-100, 1), 64, "0"),
            (ratio(-100, 1), 160, "54368"),
            (ratio(700, 1), 0, EXP_700),
            (ratio(-1, 1 << 40), 64, "18446744073692774400"),
        ] {
            assert_eq!(exp_floor(&x, bits), floor.parse().unwrap(), "e^({x}) at {bits} bits");
            assert_eq!(exp_ceil(&x, bits), floor.parse::<BigInt>().unwrap() + 1, "e^({x}) at {bits} bits");
        }
    }

    const EXP_700: &str = "10142320547350045094553295952312676152046795722430733487805362812493517025075236830454816031618297136953899163768858065865979600395888785678282243008887402599998988678389656623693619501668117889366505232839133350791146179734135738674857067797623379884901489612849999201100199130430066930357357609994944589";

    #[test]
    fn exp_of_zero_is_one() {
        assert_eq!(exp_floor(&BigRational::zero(), 70), BigInt::one() << 70);
        assert_eq!(exp_ceil(&BigRational::zero(), 70), BigInt::one() << 70);
        assert!(at_most_exp(&big(5), &big(5), &BigRational::zero()));
        assert!(!at_most_exp(&big(6), &big(5), &BigRational::zero()));
    }

    #[test]
    fn exp_floor_and_comparison_agree() {
        for numer in [-2500, -999, -31, -1, 1, 2, 17, 777, 3000] {
            let x = ratio(numer, 100);
            for bits in [8, 64, 200] {
                let floor = exp_floor(&x, bits);
                let den = BigUint::one() << bits;
                assert!(at_most_exp(floor.magnitude(), &den, &x), "{x} {bits}");
                assert!(!at_most_exp((floor + 1u32).magnitude(), &den, &x), "{x} {bits}");
            }
        }
    }

    /// The comparison must refine beyond its first enclosure: neighbours 600 bits apart are distinguished.
    #[test]
    fn comparison_refines_until_decided() {
        let x = ratio(1, 7);
        let floor = exp_floor(&x, 600);
        let den = BigUint::one() << 600u32;
        assert!(at_most_exp(floor.magnitude(), &den, &x));
        assert!(!at_most_exp((floor + 1u32).magnitude(), &den, &x));
    }

    #[test]
    fn ln_upper_is_the_smallest_double_above() {
        for (num, den, digits) in [
            (3u64, 1u64, 1.098_612_288_668_109_7_f64),
            (1_000_000_000_000_000_001, 1_000_000_000_000_000_000, 1e-18),
            (10_000_000_000_000_000_000, 1, 43.749_116_766_886_87),
            (1, 3, -1.098_612_288_668_109_7),
        ] {
            let y = ln_upper(&big(num), &big(den));
            assert!((y / digits - 1.0).abs() < 1e-12, "{y} {digits}");
            assert!(at_most_exp(&big(num), &big(den), &rational(y)));
            assert!(!at_most_exp(&big(num), &big(den), &rational(y.next_down())));
        }
        assert_eq!(ln_upper(&big(7), &big(7)), 0.0);
    }

    #[test]
    fn worst_ratio_bounds_its_power() {
        let worst = WorstRatio { num: big(1001), den: big(1000), power: 1000 };
        let epsilon = worst.epsilon();
        assert!(worst.at_most_exp(&rational(epsilon)));
        assert!(!worst.at_most_exp(&rational(epsilon.next_down())));
        assert_eq!(WorstRatio { power: 10, ..worst }.repeated(100).unwrap().epsilon(), epsilon);
        assert!((epsilon - 1000.0 * 0.000_999_500_333_083_533_2).abs() < 1e-12);
    }
}
