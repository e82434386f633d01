//! The k-fold composition of one private bit, exact or rounded up in integers.

use super::exp_floor;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

/// Upper bound on the delta at `epsilon` of k bits whose worst odds ratio is `n/d` each (Kairouz, Oh, Viswanath):
/// `sum_l C(k,l) [n^{k-l} d^l - e^epsilon n^l d^{k-l}]_+ / (n+d)^k`, with e^epsilon rounded down.
///
/// # Panics
/// If `d` is zero or above `n`.
pub(crate) fn composed_delta_upper(n: &BigUint, d: &BigUint, k: u64, epsilon: &BigRational) -> BigRational {
    assert!(!d.is_zero() && n >= d, "odds of at least one");
    const BITS: u32 = 128;
    let e = exp_floor(epsilon, BITS).to_biguint().expect("positive");
    let exponent = u32::try_from(k).expect("k is small");
    let mut kept = n.pow(exponent); // n^{k-l} d^l
    let mut flipped = d.pow(exponent); // n^l d^{k-l}
    let mut choose = BigUint::one();
    let mut sum = BigUint::zero();
    for l in 0..=k / 2 {
        let (left, right) = (&kept << BITS, &flipped * &e);
        if left <= right {
            break; // the loss k-2l falls with l: no later term is positive
        }
        sum += (left - right) * &choose;
        choose = choose * (k - l) / (l + 1);
        kept = kept / n * d;
        flipped = flipped / d * n;
    }
    let total = (n + d).pow(exponent) << BITS;
    BigRational::new(BigInt::from(sum), BigInt::from(total))
}

/// Upper bound on the delta at `epsilon` of k bits under randomized response of odds `n/d`, when each bit differs between
/// the neighbours with probability at most `q`, independently of the others.
///
/// With D the sum of k steps, +1 with probability `up = q n/(n+d)`, -1 with `q d/(n+d)`, else 0, it is
/// `sum over j of P(D = j) [1 - e^epsilon (d/n)^j]_+`. `P(D = k-m) = up^k c_m` with
/// `m c_m = stay (k-m+1) c_(m-1) + (d/n) (2k-m+2) c_(m-2)`, `stay = (1-q)/up`: positive terms only, each rounded up. More
/// bits that differ cost more, so the bound for q holds below it too.
///
/// # Panics
/// If `d` is zero or above `n`, or `q` is not in (0, 1].
pub(crate) fn mixed_delta_upper(
    n: &BigUint,
    d: &BigUint,
    k: u64,
    q: &BigRational,
    epsilon: &BigRational,
) -> BigRational {
    assert!(!d.is_zero() && n >= d, "odds of at least one");
    assert!(q.is_positive() && *q <= BigRational::one(), "a probability above 0");
    let e = exp_floor(epsilon, FRACTION).to_biguint().expect("positive");
    let one = BigUint::one() << FRACTION;
    // (d/n)^j, rounded down, until it is 0: from there on the bracket is 1.
    let fall = |power: &BigUint| Some(power * d / n).filter(|power| !power.is_zero());
    let powers: Vec<BigUint> = std::iter::successors(Some(one.clone()), fall).take(k as usize + 1).collect();
    let bracket = |j: u64| {
        let power = powers.get(j as usize).cloned().unwrap_or_default();
        let lost = (&e * power) >> FRACTION;
        (lost < one).then(|| Up::new(&one - lost, -i64::from(FRACTION)))
    };

    let ratio = |num: &BigUint, den: &BigUint| BigRational::new(num.clone().into(), den.clone().into());
    let up = q * ratio(n, &(n + d));
    let (stay, down) = (Up::of(&((BigRational::one() - q) / &up)), Up::of(&ratio(d, n)));
    let (mut before, mut current, mut sum) = (Up::zero(), Up::new(BigUint::one(), 0), Up::zero());
    for m in 0..=k {
        let Some(bracket) = bracket(k - m) else { break }; // it falls with j: no later term is positive
        sum = sum.plus(&current.times(&bracket));
        let along = current.times(&stay).scaled(k - m, m + 1);
        let across = before.times(&down).scaled(2 * k - m + 1, m + 1);
        (before, current) = (current, along.plus(&across));
    }
    sum.times(&Up::of(&up).power(k)).to_rational()
}

/// Fraction bits of the powers of d/n, and bits of a mantissa.
const FRACTION: u32 = 256;

/// A number not below the one it stands for: mantissa of 256 bits, rounded up, times `2^exponent`.
#[derive(Clone)]
struct Up {
    mantissa: BigUint,
    exponent: i64,
}

impl Up {
    fn zero() -> Self {
        Self { mantissa: BigUint::zero(), exponent: 0 }
    }

    fn new(mantissa: BigUint, exponent: i64) -> Self {
        let extra = mantissa.bits() as i64 - i64::from(FRACTION);
        if mantissa.is_zero() {
            return Self::zero();
        }
        let kept = if extra > 0 { (mantissa >> extra) + 1u32 } else { mantissa << -extra };
        Self { mantissa: kept, exponent: exponent + extra }
    }

    fn of(x: &BigRational) -> Self {
        let (num, den) = (x.numer().magnitude(), x.denom().magnitude());
        let shift = (den.bits() + u64::from(FRACTION) + 1).saturating_sub(num.bits());
        if num.is_zero() { Self::zero() } else { Self::new((num << shift) / den + 1u32, -(shift as i64)) }
    }

    fn times(&self, other: &Self) -> Self {
        Self::new(&self.mantissa * &other.mantissa, self.exponent + other.exponent)
    }

    fn scaled(&self, num: u64, den: u64) -> Self {
        let above = u32::from(!self.mantissa.is_zero());
        Self::new(&self.mantissa * num / den + above, self.exponent)
    }

    fn plus(&self, other: &Self) -> Self {
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        if small.mantissa.is_zero() || large.mantissa.is_zero() {
            return if small.mantissa.is_zero() { large.clone() } else { small.clone() };
        }
        let gap = large.exponent - small.exponent;
        if gap > 2 * i64::from(FRACTION) {
            return Self::new(&large.mantissa + 1u32, large.exponent); // the other is below one unit of this
        }
        Self::new((&large.mantissa << gap) + &small.mantissa, small.exponent)
    }

    fn power(&self, k: u64) -> Self {
        let mut product = Self::new(BigUint::one(), 0);
        for bit in (0..u64::BITS - k.leading_zeros()).rev() {
            product = product.times(&product);
            if k >> bit & 1 == 1 {
                product = product.times(self);
            }
        }
        product
    }

    fn to_rational(&self) -> BigRational {
        let mantissa = BigInt::from(self.mantissa.clone());
        match self.exponent {
            exponent @ 0.. => BigRational::from_integer(mantissa << exponent),
            // Far below any delta: a short denominator will do.
            exponent => BigRational::new(mantissa, BigInt::one() << exponent.unsigned_abs().min(1 << 14)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::composition::kov_delta;
    use crate::calibration::signs::{tight_delta, tight_epsilon_prime};
    use crate::exact::{exp_ceil, rational};
    use num_traits::ToPrimitive;

    #[test]
    fn agrees_with_the_float_formula_and_errs_upward() {
        for (k, epsilon0, epsilon) in [(1u64, 1.0, 0.5), (2, 1.0, 1.0), (8, 0.5, 2.0), (64, 0.1, 2.0), (512, 0.1, 20.0)]
        {
            let n = exp_ceil(&rational(epsilon0), 60).to_biguint().unwrap();
            let d = BigUint::one() << 60;
            let exact = composed_delta_upper(&n, &d, k, &rational(epsilon)).to_f64().unwrap();
            let float = kov_delta(k, epsilon0, epsilon);
            assert!((exact / float - 1.0).abs() < 1e-9, "{k} {epsilon0} {epsilon}: {exact} {float}");
        }
    }

    #[test]
    fn nothing_is_left_above_the_basic_composition() {
        let (n, d) = (BigUint::from(3u8), BigUint::from(1u8)); // odds 3 < e^1.1
        assert!(composed_delta_upper(&n, &d, 10, &rational(11.0)).is_zero());
        assert!(!composed_delta_upper(&n, &d, 10, &rational(10.9)).is_zero());
    }

    fn odds(epsilon_prime: f64) -> (BigUint, BigUint) {
        (exp_ceil(&rational(epsilon_prime), 60).to_biguint().unwrap(), BigUint::one() << 60)
    }

    #[test]
    fn the_mixture_is_that_of_its_definition_and_errs_upward() {
        for (k, q, epsilon_prime, epsilon) in
            [(1u64, 0.25, 1.0, 0.5), (6, 0.5, 0.7, 1.0), (12, 0.0625, 1.5, 2.0), (5, 1.0, 0.5, 1.0)]
        {
            let ((n, d), q) = (odds(epsilon_prime), rational(q));
            let rest = BigRational::one() - &q;
            let mut choose = BigRational::one();
            let mut mixture = BigRational::zero();
            for s in 0..=k {
                let weight = q.pow(s as i32) * rest.pow((k - s) as i32) * &choose;
                mixture += weight * composed_delta_upper(&n, &d, s, &rational(epsilon));
                choose = choose * BigInt::from(k - s) / BigInt::from(s + 1);
            }
            let found = mixed_delta_upper(&n, &d, k, &q, &rational(epsilon));
            let unit = BigRational::new(BigInt::one(), BigInt::one() << 100);
            // The composition rounds e^epsilon down to 128 bits, the mixture to 256.
            assert!((&found - &mixture).abs() <= &mixture * unit, "{k} {q}");
            let finer = &found * (BigRational::one() + BigRational::new(BigInt::one(), BigInt::one() << 120));
            assert!(finer >= mixture);
        }
    }

    #[test]
    fn the_mixture_agrees_with_floats_and_grows_with_q() {
        for (k, q, epsilon_prime, epsilon) in
            [(64u64, 0.0637, 0.4, 5.0), (512, 0.01, 1.0, 10.0), (4096, 0.002, 0.3, 1.0)]
        {
            let (n, d) = odds(epsilon_prime);
            let exact = |q: f64| mixed_delta_upper(&n, &d, k, &rational(q), &rational(epsilon));
            let (found, float) = (exact(q).to_f64().unwrap(), tight_delta(k, q, epsilon_prime, epsilon));
            assert!((found / float - 1.0).abs() < 1e-9, "{k}: {found} {float}");
            assert!(exact(q * 1.001) > exact(q));
        }
    }

    /// The solver's epsilon' is within delta; a millionth more is not.
    #[test]
    fn a_larger_epsilon_prime_is_found() {
        let (k, q, epsilon, delta) = (256, 0.03, 4.0, 1e-6);
        let solved = tight_epsilon_prime(k, q, epsilon, delta).unwrap();
        for (factor, within) in [(1.0, true), (1.000_001, false)] {
            let (n, d) = odds(solved * factor);
            assert_eq!(mixed_delta_upper(&n, &d, k, &rational(q), &rational(epsilon)) <= rational(delta), within);
        }
    }
}
