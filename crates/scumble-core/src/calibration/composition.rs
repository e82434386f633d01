//! What several releases of the same row, or several bits of one release, cost together.

use super::gaussian::{delta_gaussian, ln_delta_gaussian};
use super::numeric::{Wide, largest, smallest};
use super::{SLACK, check_delta, check_epsilon, check_positive, check_size};
use crate::error::ParameterError;

/// Delta at `epsilon` of k mechanisms that are each `epsilon0`-private (Kairouz, Oh and Viswanath; optimal):
/// `sum over l of C(k,l) p^(k-l) (1-p)^l [1 - e^(epsilon - (k-2l) epsilon0)]_+`, `p = e^epsilon0/(1 + e^epsilon0)`.
pub fn kov_delta(k: u64, epsilon0: f64, epsilon: f64) -> f64 {
    kov_wide(k, epsilon0, epsilon).value()
}

/// Natural logarithm of [`kov_delta`]; minus infinity where delta is 0.
pub fn ln_kov_delta(k: u64, epsilon0: f64, epsilon: f64) -> f64 {
    kov_wide(k, epsilon0, epsilon).ln()
}

fn kov_wide(k: u64, epsilon0: f64, epsilon: f64) -> Wide {
    let odds = libm::exp(-epsilon0);
    let mut term = Wide::power(1.0 / (1.0 + odds), k);
    let mut sum = Wide::new(0.0);
    for l in 0..=k / 2 {
        // One rounding only: the loss may exceed epsilon by as little as delta.
        let excess = libm::fma((k - 2 * l) as f64, epsilon0, -epsilon);
        if excess <= 0.0 {
            break;
        }
        sum = sum.plus(term.times(-libm::expm1(-excess)));
        term = term.times((k - l) as f64 / (l + 1) as f64 * odds);
    }
    sum
}

/// Largest `epsilon0` such that k mechanisms that are each `epsilon0`-private are (epsilon, delta)-private together.
///
/// Rounded down, but never below `epsilon/k`, which needs no delta at all. With `delta = 0` it is `epsilon/k`.
pub fn kov_epsilon0(k: u64, epsilon: f64, delta: f64) -> Result<f64, ParameterError> {
    check_size("k", k)?;
    check_epsilon(epsilon)?;
    let share = divide_down(epsilon, k);
    if delta == 0.0 {
        return Ok(share);
    }
    check_delta(delta)?;
    let target = libm::log(delta);
    let root = largest(share, |epsilon0| ln_kov_delta(k, epsilon0, epsilon) <= target);
    Ok((root * (1.0 - SLACK)).max(share))
}

/// The largest double x with `k x <= epsilon` exactly.
fn divide_down(epsilon: f64, k: u64) -> f64 {
    let quotient = epsilon / k as f64;
    if libm::fma(quotient, k as f64, -epsilon) > 0.0 { quotient.next_down() } else { quotient }
}

/// Delta at `epsilon` of a mu-Gaussian-private mechanism. Gaussian releases compose to `mu = sqrt(sum mu_i²)`.
pub fn gdp_delta(mu: f64, epsilon: f64) -> f64 {
    delta_gaussian(epsilon, mu)
}

/// Smallest epsilon at which a mu-Gaussian-private mechanism is (epsilon, delta)-private; rounded up, 0 if none is needed.
pub fn gdp_epsilon(mu: f64, delta: f64) -> Result<f64, ParameterError> {
    check_positive("mu", mu)?;
    check_delta(delta)?;
    let target = libm::log(delta);
    Ok(least_epsilon(|epsilon| ln_delta_gaussian(epsilon, mu) <= target))
}

/// Delta at `epsilon` of a rho-zCDP mechanism (Canonne, Kamath and Steinke):
/// the least over a > 1 of `e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1)`.
pub fn zcdp_delta(rho: f64, epsilon: f64) -> f64 {
    libm::exp(ln_zcdp_delta(rho, epsilon))
}

/// Natural logarithm of [`zcdp_delta`].
pub fn ln_zcdp_delta(rho: f64, epsilon: f64) -> f64 {
    // With s = a - 1 the slope in a is rho(2s + 1) - epsilon + ln(s/(s + 1)), which rises: one minimum.
    let slope = |s: f64| rho * (2.0 * s + 1.0) - epsilon - libm::log1p(1.0 / s);
    let s = largest((0.5 * epsilon / rho).max(1e-9), |s| slope(s) <= 0.0);
    s * ((s + 1.0) * rho - epsilon) - s * libm::log1p(1.0 / s) - libm::log1p(s)
}

/// Smallest epsilon at which a rho-zCDP mechanism is (epsilon, delta)-private by [`zcdp_delta`]; rounded up.
pub fn zcdp_epsilon(rho: f64, delta: f64) -> Result<f64, ParameterError> {
    check_positive("rho", rho)?;
    check_delta(delta)?;
    let target = libm::log(delta);
    Ok(least_epsilon(|epsilon| ln_zcdp_delta(rho, epsilon) <= target))
}

fn least_epsilon(enough: impl Fn(f64) -> bool) -> f64 {
    if enough(0.0) { 0.0 } else { smallest(1.0, enough) * (1.0 + SLACK) }
}

/// rho of an `epsilon`-private mechanism: `epsilon tanh(epsilon/2)`, at most the usual `epsilon²/2`; rounded up.
///
/// Proof. Every epsilon-private pair is a post-processing of randomized response, whose Rényi divergence satisfies
/// `(a-1) D_a = ln cosh((a - 1/2) epsilon) - ln cosh(epsilon/2)`. Since `ln cosh sqrt(y)` is concave in y, the
/// right side is at most its slope at `y = epsilon²/4`, which is `tanh(epsilon/2)/epsilon`, times
/// `(a - 1/2)² epsilon² - epsilon²/4 = a(a-1) epsilon²`. So `D_a <= a epsilon tanh(epsilon/2)`, with equality as a -> 1.
pub fn pure_to_zcdp(epsilon: f64) -> f64 {
    epsilon * libm::tanh(0.5 * epsilon) * (1.0 + SLACK)
}

/// rho of a mu-Gaussian-private mechanism, `mu²/2`; rounded up.
pub fn gaussian_to_zcdp(mu: f64) -> f64 {
    0.5 * mu * mu * (1.0 + SLACK)
}

/// Guarantee for a group of g attributes: `(g epsilon, delta (e^(g epsilon) - 1)/(e^epsilon - 1))`, delta at most 1.
pub fn group(epsilon: f64, delta: f64, g: u64) -> (f64, f64) {
    let total = g as f64 * epsilon;
    let delta = if delta == 0.0 { 0.0 } else { delta * libm::expm1(total) / libm::expm1(epsilon) };
    (total, delta.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::comparison::*;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kov_equals_the_brute_hockey_stick_of_randomized_response() {
        for (k, epsilon0, epsilon) in [(1u64, 1.0, 0.5), (3, 0.4, 0.7), (5, 1.3, 2.0), (8, 0.2, 0.0)] {
            let p = 1.0 / (1.0 + libm::exp(-epsilon0));
            let brute: f64 = (0..1u32 << k)
                .map(|bits| {
                    let ones = bits.count_ones() as i32;
                    let (here, there) = (
                        p.powi(k as i32 - ones) * (1.0 - p).powi(ones),
                        p.powi(ones) * (1.0 - p).powi(k as i32 - ones),
                    );
                    (here - libm::exp(epsilon) * there).max(0.0)
                })
                .sum();
            assert!((kov_delta(k, epsilon0, epsilon) / brute - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn pure_to_zcdp_bounds_the_renyi_divergence_and_touches_it() {
        let cosh_log = |x: f64| x + libm::log1p(libm::exp(-2.0 * x)) - std::f64::consts::LN_2;
        for epsilon in [0.01, 0.5, 1.0, 4.0, 20.0] {
            let rho = pure_to_zcdp(epsilon);
            assert!(rho <= 0.5 * epsilon * epsilon * (1.0 + 1e-12));
            let divergence = |a: f64| (cosh_log((a - 0.5) * epsilon) - cosh_log(0.5 * epsilon)) / (a - 1.0);
            for a in [1.01, 1.5, 2.0, 5.0, 50.0, 1000.0] {
                assert!(divergence(a) <= a * rho, "{epsilon} {a}");
            }
            assert!((divergence(1.0 + 1e-5) / rho - 1.0).abs() < 1e-3 * (1.0 + epsilon));
        }
    }

    #[test]
    fn the_zcdp_minimum_is_a_minimum() {
        for (rho, epsilon) in [(0.01, 1.0), (0.5, 0.0), (5.0, 0.5), (0.1, 10.0)] {
            let best = ln_zcdp_delta(rho, epsilon);
            for i in 1..400 {
                let a = 1.0 + 1e-3 * libm::pow(10.0, f64::from(i) / 60.0);
                let bound = (a - 1.0) * (a * rho - epsilon) + a * libm::log1p(-1.0 / a) - libm::log(a - 1.0);
                assert!(best <= bound + 1e-12 * bound.abs().max(1.0), "{rho} {epsilon} {a}");
            }
        }
    }

    #[test]
    fn conversions_are_exact_inverses_on_the_private_side() {
        for delta in [1e-15, 1e-6, 0.1] {
            for scale in [0.01, 0.3, 1.0, 6.0] {
                let epsilon = gdp_epsilon(scale, delta).unwrap();
                assert!(gdp_delta(scale, epsilon) <= delta);
                assert!(epsilon == 0.0 || gdp_delta(scale, epsilon * (1.0 - 1e-11)) > delta);
                let epsilon = zcdp_epsilon(scale, delta).unwrap();
                assert!(zcdp_delta(scale, epsilon) <= delta);
                assert!(epsilon == 0.0 || zcdp_delta(scale, epsilon * (1.0 - 1e-11)) > delta);
            }
        }
        assert_eq!(gdp_epsilon(0.01, 0.1).unwrap(), 0.0);
        // A Gaussian is also zCDP, by the looser route.
        assert!(gdp_epsilon(0.5, 1e-6).unwrap() < zcdp_epsilon(gaussian_to_zcdp(0.5), 1e-6).unwrap());
    }

    #[test]
    fn laplace_wins_up_to_8_releases_and_gaussian_from_16() {
        // Total noise variance of t releases that are (1, 1e-6)-private together, at sensitivity 1.
        let laplace = |t: u64| 2.0 / kov_epsilon0(t, 1.0, 1e-6).unwrap().powi(2);
        let gaussian = |t: u64| t as f64 * super::super::gaussian::sigma_optimal(1.0, 1e-6, 1.0).unwrap().powi(2);
        assert!(laplace(8) < gaussian(8) && gaussian(16) < laplace(16));
    }

    #[test]
    fn groups_and_edges() {
        assert_eq!(group(1.0, 0.0, 3), (3.0, 0.0));
        assert_eq!(group(50.0, 1e-6, 100), (5000.0, 1.0));
        assert_eq!(kov_epsilon0(4, 1.0, 0.0).unwrap(), 0.25);
        assert_eq!(ln_kov_delta(4, 0.25, 1.0), f64::NEG_INFINITY);
        assert!(kov_epsilon0(0, 1.0, 0.1).is_err() && kov_epsilon0(1, 1.0, 1.0).is_err());
        assert!(gdp_epsilon(0.0, 0.1).is_err() && zcdp_epsilon(1.0, 0.0).is_err());
    }

    proptest! {
        #[test]
        fn kov_epsilon0_is_never_below_the_even_share(k in 1u64..600, ln_epsilon in -5f64..3.5, ln_delta in -34f64..-0.1) {
            let (epsilon, delta) = (libm::exp(ln_epsilon), libm::exp(ln_delta));
            let epsilon0 = kov_epsilon0(k, epsilon, delta).unwrap();
            prop_assert!(epsilon0 >= (epsilon / k as f64).next_down());
            prop_assert!(kov_delta(k, epsilon0, epsilon) <= delta * (1.0 + 1e-12));
            prop_assert!(epsilon0 <= kov_epsilon0(k, epsilon * 1.01, delta).unwrap());
            prop_assert!(epsilon0 <= kov_epsilon0(k, epsilon, (delta * 1.5).min(0.95)).unwrap());
            // Never worse than the closed form at the same epsilon0.
            prop_assert!(kov_delta(k, epsilon0, advanced_composition(k, epsilon0, delta)) <= delta);
        }
    }
}
