//! The angle between two rows of bounded norm, as a proven upper bound.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

const BITS: u32 = 192;

/// Upper bound on `2 asin(beta/2m)/pi`: the chance that a Gaussian projection separates the signs of two rows at distance
/// `beta` whose norms are both at least `m`.
///
/// # Panics
/// If m is zero or below beta.
pub(crate) fn sign_change_upper(beta: u64, m: u64) -> BigRational {
    assert!(m > 0 && beta <= m, "a norm of at least beta");
    let two_over_pi = BigRational::new(2_000_000_000_000_000_000i64.into(), 3_141_592_653_589_793_238i64.into());
    asin_upper(beta, 2 * u128::from(m)) * two_over_pi
}

/// asin(num/den) for a ratio x of at most 1/2: `sum of C(2i,i) x^(2i+1) / (4^i (2i+1))`. Each term is below x^2 times the
/// one before, so what is left after the last is below a third of it.
fn asin_upper(num: u64, den: u128) -> BigRational {
    let (num, den) = (BigInt::from(num), BigInt::from(den));
    // c x^(2i+1) with c = C(2i,i)/4^i, over 2^BITS, rounded up.
    let mut power: BigInt = (&num << BITS) / &den + 1;
    let mut sum = BigInt::zero();
    for i in 0u32.. {
        let term: BigInt = &power / (2 * i + 1) + 1;
        if term <= BigInt::from(2) {
            sum += 2 * term;
            break;
        }
        sum += term;
        power = power * &num * &num * (2 * i + 1) / (&den * &den * (2 * i + 2)) + 1;
    }
    BigRational::new(sum, BigInt::one() << BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::ToPrimitive;

    #[test]
    fn bounds_are_above_and_close() {
        for (beta, m) in [(1u64, 1u64), (1, 2), (3, 10), (255, 2550), (1, 1 << 53), (32, 134)] {
            let exact = sign_change_upper(beta, m);
            let float = 2.0 * libm::asin(beta as f64 / (2.0 * m as f64)) / std::f64::consts::PI;
            assert!((exact.to_f64().unwrap() / float - 1.0).abs() < 1e-14, "{beta} {m}");
        }
        // asin(1/2) = pi/6: the bound is above a third by no more than the digits of pi that it leaves out.
        let (third, found) = (BigRational::new(1.into(), 3.into()), sign_change_upper(7, 7));
        assert!(found > third && found < &third + BigRational::new(1.into(), BigInt::from(10u64.pow(18))));
    }
}
