//! The k-fold composition of one private bit, in exact integers.

use super::exp_floor;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Zero};

/// Upper bound on the delta at `epsilon` of k bits whose worst odds ratio is `n/d` each (Kairouz, Oh, Viswanath):
/// `sum_l C(k,l) [n^{k-l} d^l - e^epsilon n^l d^{k-l}]_+ / (n+d)^k`, with e^epsilon rounded down.
///
/// # Panics
/// If `d` is zero or above `n`.
pub fn composed_delta_upper(n: &BigUint, d: &BigUint, k: u64, epsilon: &BigRational) -> BigRational {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::composition::kov_delta;
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
}
