//! High-probability bounds on the sensitivity of a Gaussian projection: for planning only.
//!
//! A mechanism uses the realised sensitivity of its own matrix. These bounds say what to expect before one is drawn;
//! each fails with probability at most `delta` over the draw, so none of them can support a pure guarantee.

use std::f64::consts::LN_2;

use super::{check_delta, check_positive, check_size};
use crate::error::ParameterError;

pub(super) fn ln_rows(p: u64, k: u64, delta: f64, beta: f64) -> Result<f64, ParameterError> {
    check_size("p", p)?;
    check_size("k", k)?;
    check_delta(delta)?;
    check_positive("beta", beta)?;
    Ok(libm::log(p as f64) - libm::log(delta))
}

/// l2 sensitivity exceeds `beta sqrt(1 + 2 sqrt(L) + 2L)`, `L = ln(p/delta)/k`, with probability at most delta
/// (\[LL23\] Lemma 3.3).
pub fn delta2_bound(p: u64, k: u64, delta: f64, beta: f64) -> Result<f64, ParameterError> {
    let l = ln_rows(p, k, delta, beta)? / k as f64;
    Ok(beta * (1.0 + 2.0 * l.sqrt() + 2.0 * l).sqrt())
}

/// l1 sensitivity exceeds `beta sqrt(2k ln 2 + 2 ln(p/delta))` with probability at most delta (\[LL23\] Lemma 3.7).
pub fn delta1_bound(p: u64, k: u64, delta: f64, beta: f64) -> Result<f64, ParameterError> {
    let l = ln_rows(p, k, delta, beta)?;
    Ok(beta * (2.0 * k as f64 * LN_2 + 2.0 * l).sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::comparison::*;
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn bounds_are_not_below_what_one_row_has_on_average() {
        for k in [16u64, 256, 4096] {
            let mean = (2.0 * k as f64 / PI).sqrt();
            assert!(delta2_bound(100, k, 1e-6, 1.0).unwrap() > 1.0);
            assert!(delta1_bound(100, k, 1e-6, 1.0).unwrap() > mean);
            assert!(delta1_lipschitz(100, k, 1e-6, 1.0).unwrap() > mean);
        }
        assert!(delta1_lipschitz(784, 4096, 1e-6, 1.0).unwrap() < delta1_bound(784, 4096, 1e-6, 1.0).unwrap());
        assert!(delta2_bound(0, 1, 0.1, 1.0).is_err() && delta1_bound(1, 1, 0.1, -1.0).is_err());
    }
}
