//! Scale of the Gaussian noise and the exact delta that it buys.
//!
//! Symbols: `mu = sensitivity / sigma` · `x1 = epsilon/mu - mu/2`, `x2 = epsilon/mu + mu/2` · Q the normal upper tail.
//! `delta = Q(x1) - e^epsilon Q(x2)` (\[LL23\] Theorem 3.5, after Balle and Wang). Because `phi(x1) = e^epsilon phi(x2)`,
//! this is `phi(x1) (R(x1) - R(x2))` with the Mills ratio R, and
//! `R(x1) - R(x2) = ∫ e^(-x1 t - t²/2) (1 - e^(-mu t)) dt` over t > 0: positive terms only.

use super::numeric::{LN_SQRT_2PI, largest, mills, normal_density, tail_integral, upper_tail};
use super::{SLACK, check_delta, check_epsilon, check_positive};
use crate::error::ParameterError;

/// Smallest sigma for which Gaussian noise on a query of this l2 sensitivity is (epsilon, delta)-private.
///
/// \[LL23\] Theorem 3.5, exact in both directions. Rounded up, so that the exact delta at the returned double is at
/// most `delta`.
///
/// ```
/// let sigma = scumble_core::calibration::gaussian::sigma_optimal(1.0, 1e-6, 1.0)?;
/// assert!((sigma - 4.2247).abs() < 1e-4);
/// # Ok::<(), scumble_core::error::ParameterError>(())
/// ```
pub fn sigma_optimal(epsilon: f64, delta: f64, sensitivity: f64) -> Result<f64, ParameterError> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    check_positive("sensitivity", sensitivity)?;
    let target = libm::log(delta);
    let mu = largest(1.0, |mu| ln_delta_gaussian(epsilon, mu) <= target);
    finite_scale("sigma", sensitivity / mu * (1.0 + SLACK))
}

/// Sigma of DP-RP-G, `Delta sqrt(2(ln(1/delta) + epsilon)) / epsilon` (\[LL23\] Theorem 3.1, after Kenthapadi et al.).
///
/// Valid, and always larger than [`sigma_optimal`]: for comparison with the paper.
pub fn sigma_kenthapadi(epsilon: f64, delta: f64, sensitivity: f64) -> Result<f64, ParameterError> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    check_positive("sensitivity", sensitivity)?;
    finite_scale("sigma", sensitivity * (2.0 * (epsilon - libm::log(delta))).sqrt() / epsilon * (1.0 + SLACK))
}

/// Sigma of the analytic DP-RP-G for a Gaussian p x k matrix (\[LL23\] Theorem 3.4), with `L = ln(2p/delta)/k`:
/// `beta sqrt(1 + 2 sqrt(L) + 2L) sqrt(2(ln(2/delta) + epsilon)) / epsilon`.
///
/// Half of delta pays for the draw of the matrix, so the guarantee is over matrix and noise together.
pub fn sigma_analytic(epsilon: f64, delta: f64, p: u64, k: u64, beta: f64) -> Result<f64, ParameterError> {
    check_delta(delta)?;
    let sensitivity = super::sensitivity::delta2_bound(p, k, 0.5 * delta, beta)?;
    sigma_kenthapadi(epsilon, 0.5 * delta, sensitivity)
}

fn finite_scale(name: &'static str, value: f64) -> Result<f64, ParameterError> {
    check_positive(name, value).map(|()| value)
}

/// Exact delta at `epsilon >= 0` of Gaussian noise with `mu = sensitivity / sigma > 0`; 0 below the range of f64.
pub fn delta_gaussian(epsilon: f64, mu: f64) -> f64 {
    libm::exp(ln_delta_gaussian(epsilon, mu))
}

/// Natural logarithm of [`delta_gaussian`], exact in tails far below the range of f64.
pub fn ln_delta_gaussian(epsilon: f64, mu: f64) -> f64 {
    let x1 = epsilon / mu - 0.5 * mu;
    let x2 = epsilon / mu + 0.5 * mu;
    if x1 <= -1.0 {
        // Then mu >= 2 and the first tail is most of the mass: nothing cancels.
        return libm::log(upper_tail(x1) - normal_density(x1) * mills(x2));
    }
    let difference = if mu > 2.0 + x1 {
        // Here R(x2) is at most about half of R(x1).
        mills(x1) - mills(x2)
    } else {
        tail_integral(x1, |t| -libm::expm1(-mu * t))
    };
    libm::log(difference) - LN_SQRT_2PI - 0.5 * x1 * x1
}

/// Variance of `round(sigma Z)` in grid steps: `sigma² + 1/12`, and the exact sum on grids as coarse as sigma.
pub(crate) fn rounded_variance(sigma: f64) -> f64 {
    if sigma > 2.0 { sigma * sigma + 1.0 / 12.0 } else { rounded_moment(sigma, 2) }
}

/// Fourth moment of `round(sigma Z)`: `3 sigma⁴ + sigma²/2 + 1/80`, and the exact sum on coarse grids.
pub(crate) fn rounded_fourth_moment(sigma: f64) -> f64 {
    let s2 = sigma * sigma;
    if sigma > 2.0 { 3.0 * s2 * s2 + 0.5 * s2 + 1.0 / 80.0 } else { rounded_moment(sigma, 4) }
}

/// `E|N|^m = sum over n >= 1 of (n^m - (n-1)^m) Pr(|N| >= n)`, and |N| >= n when |sigma Z| > n - 1/2.
fn rounded_moment(sigma: f64, m: i32) -> f64 {
    let step = |n: i32| f64::from(n).powi(m) - f64::from(n - 1).powi(m);
    (1..=40).rev().map(|n| step(n) * 2.0 * upper_tail((f64::from(n) - 0.5) / sigma)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::comparison::*;
    use super::super::numeric::within;
    use super::*;

    #[test]
    fn delta_equals_the_textbook_difference_where_that_is_accurate() {
        for (epsilon, mu) in [(0.0, 1.0), (1.0, 1.0), (0.5, 3.0), (2.0, 1.5), (1.0, 4.0), (0.1, 0.4), (3.0, 9.0)] {
            let (x1, x2) = (epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0);
            let plain = upper_tail(x1) - libm::exp(epsilon) * upper_tail(x2);
            assert!((delta_gaussian(epsilon, mu) / plain - 1.0).abs() < 1e-13, "{epsilon} {mu}");
        }
    }

    #[test]
    fn delta_rises_with_mu_and_falls_with_epsilon_across_the_branches() {
        let grid: Vec<f64> = (-60..=60).map(|i| libm::exp(f64::from(i) * 0.1)).collect();
        for &a in &grid {
            for pair in grid.windows(2) {
                assert!(ln_delta_gaussian(a, pair[0]) <= ln_delta_gaussian(a, pair[1]), "{a} {pair:?}");
                assert!(ln_delta_gaussian(pair[0], a) >= ln_delta_gaussian(pair[1], a), "{a} {pair:?}");
            }
        }
    }

    #[test]
    fn sigma_falls_as_epsilon_or_delta_grows_and_stays_below_the_papers() {
        for delta in [1e-15, 1e-9, 1e-3, 0.3] {
            let mut last = f64::INFINITY;
            for i in 0..60 {
                let epsilon = 1e-3 * libm::pow(10.0, f64::from(i) / 12.0);
                let sigma = sigma_optimal(epsilon, delta, 1.0).unwrap();
                assert!(sigma < last && sigma < sigma_kenthapadi(epsilon, delta, 1.0).unwrap());
                assert!(sigma > sigma_optimal(epsilon, delta * 1.1, 1.0).unwrap());
                assert!(delta_gaussian(epsilon, 1.0 / sigma) <= delta);
                last = sigma;
            }
        }
    }

    #[test]
    fn the_classical_scale_is_already_wrong_at_epsilon_10() {
        let classical = (2.0 * libm::log(1.25 / 1e-6)).sqrt() / 10.0;
        assert!(delta_gaussian(10.0, 1.0 / classical) > 1e-6);
    }

    #[test]
    fn the_discrete_gaussian_tends_to_the_continuous_one() {
        let exact = delta_gaussian(1.0, 1000.0 / 4.2e3);
        let fine = discrete_gaussian_delta(1.0, 1000, 4.2e3 * 4.2e3).unwrap();
        assert!((fine / exact - 1.0).abs() < 1e-4, "{fine} {exact}");
        let (a, b) = (theta(1.0), theta(1.0 + 1e-15));
        assert!((a / b - 1.0).abs() < 1e-14);
    }

    #[test]
    fn the_rounded_law_has_sheppards_moments() {
        let law = |sigma: f64, n: i32| {
            let edge = (f64::from(n) - 0.5) / sigma;
            0.5 * (within(edge + 1.0 / sigma) - within(edge))
        };
        for sigma in [0.3, 1.0, 1.9, 2.1, 3.0] {
            let moment = |m: i32| (-60..=60).map(|n: i32| f64::from(n).powi(m) * law(sigma, n)).sum::<f64>();
            assert!((rounded_variance(sigma) / moment(2) - 1.0).abs() < 1e-12, "{sigma}");
            assert!((rounded_fourth_moment(sigma) / moment(4) - 1.0).abs() < 1e-11, "{sigma}");
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(sigma_optimal(0.0, 1e-6, 1.0).is_err() && sigma_optimal(1.0, 1.0, 1.0).is_err());
        assert!(sigma_optimal(1.0, 1e-6, f64::NAN).is_err() && sigma_analytic(1.0, 1e-6, 0, 1, 1.0).is_err());
        assert!(discrete_gaussian_delta(1.0, 0, 1.0).is_err() && fixed_pair_delta(0, 1.0, 1.0, 1.0).is_err());
    }
}
