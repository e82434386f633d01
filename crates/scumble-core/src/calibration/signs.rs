//! Sign projections: how many signs a neighbour can change, how often a bit must be flipped, what an angle costs.
//!
//! Symbols of \[LL23\] section 4: `r = beta/m`, m the least norm · `q` the chance that one sign differs between two
//! neighbours · `epsilon'` (`epsilon_prime`) the budget of one bit.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::numeric::{Wide, integrate, largest, normal_density, within};
use super::{SLACK, check_delta, check_epsilon, check_positive, check_size};
use crate::error::{CalibrationError, ParameterError};

/// `P_+(r, p) = ∫ 2p [2Phi(t) - 1]^(p-1) [2Phi(rt) - 1] phi(t) dt` over t > 0 (\[LL23\] Lemma 4.3).
///
/// NOT a bound on the chance that a sign can change: the lemma (independence is the worst case) is false, p = 2 and
/// u = (1,1)/sqrt 2 at r = 1 gives 3/4 against its 2/3. For comparison with the paper only.
pub fn p_plus(r: f64, p: u64) -> f64 {
    let p = p as f64;
    // ln[2Phi(t) - 1] through log1p where 2Phi(t) - 1 is near 1, so that the power p - 1 keeps its digits.
    let ln_within = |t: f64| if t > 0.5 { libm::log1p(-libm::erfc(t * FRAC_1_SQRT_2)) } else { libm::log(within(t)) };
    // Beyond t = 12 + sqrt(2 ln p) the density of the maximum is below e^-72.
    let end = 12.0 + (2.0 * libm::log(p)).sqrt();
    integrate(0.0, end, 80, |t| 2.0 * p * libm::exp((p - 1.0) * ln_within(t)) * within(r * t) * normal_density(t))
}

/// The paper's `N_+ = min{Fk + (L + sqrt(L² + 8FkL))/2, k}` with `F = P_+(r, p)`, `L = ln(1/delta)`
/// (\[LL23\] Proposition 4.5); k for r > 1.
///
/// NOT a bound on the number of signs a neighbour can change, because F is not one (see [`p_plus`]). Its epsilon' is
/// `epsilon / N_+`; a private mechanism uses [`tight_epsilon_prime`] for a fixed pair, or N_+ = k.
pub fn n_plus(r: f64, p: u64, k: u64, delta: f64) -> Result<f64, ParameterError> {
    check_positive("r = beta/m", r)?;
    check_size("p", p)?;
    check_size("k", k)?;
    check_delta(delta)?;
    let size = k as f64;
    if r > 1.0 {
        return Ok(size);
    }
    let (mean, l) = (p_plus(r, p) * size, -libm::log(delta));
    Ok((mean + 0.5 * (l + (l * (l + 8.0 * mean)).sqrt())).min(size))
}

/// Chance that one Gaussian projection separates the signs of two neighbours whose norms are BOTH at least m:
/// at most `2 asin(beta/2m)/pi`, attained.
pub fn sign_change_probability_gaussian(beta: f64, m: f64) -> f64 {
    2.0 * libm::asin((0.5 * beta / m).min(1.0)) / PI
}

/// Normal approximation `2Phi(beta/m) - 1` for Rademacher projections. NOT a bound: on sparse data it is up to 100
/// times too small.
pub fn sign_change_approximation_rademacher(beta: f64, m: f64) -> f64 {
    within(beta / m)
}

/// Delta at `epsilon` of k bits under randomized response with `epsilon_prime` each, when every bit differs
/// between the neighbours with probability q, independently: `E over s ~ Bin(k, q)` of the delta of s bits.
///
/// It is `sum over d > epsilon/epsilon' of P(D = d) (1 - e^(epsilon - d epsilon'))`, D the sum of k independent
/// steps: +1 with probability `q e^epsilon'/(1 + e^epsilon')`, -1 with `q/(1 + e^epsilon')`, else 0.
pub fn tight_delta(k: u64, q: f64, epsilon_prime: f64, epsilon: f64) -> f64 {
    tight_wide(k, q, epsilon_prime, epsilon).value()
}

/// Natural logarithm of [`tight_delta`]; minus infinity where delta is 0.
pub(crate) fn ln_tight_delta(k: u64, q: f64, epsilon_prime: f64, epsilon: f64) -> f64 {
    tight_wide(k, q, epsilon_prime, epsilon).ln()
}

fn tight_wide(k: u64, q: f64, epsilon_prime: f64, epsilon: f64) -> Wide {
    let odds = libm::exp(-epsilon_prime);
    let up = q / (1.0 + odds);
    let (stay, down) = ((1.0 - q) / up, odds); // as multiples of `up`
    // Coefficients c_n = P(D = k - n) of (up + stay z + down z²)^k obey
    // n c_n = stay (k-n+1) c_(n-1) + down (2k-n+2) c_(n-2); no term is negative down to D = 0.
    let (mut before, mut current) = (Wide::new(0.0), Wide::power(up, k));
    let mut sum = Wide::new(0.0);
    for n in 0..k {
        let excess = libm::fma((k - n) as f64, epsilon_prime, -epsilon);
        if excess <= 0.0 {
            break;
        }
        sum = sum.plus(current.times(-libm::expm1(-excess)));
        let next = n + 1;
        let along = stay * (k - next + 1) as f64 / next as f64;
        let across = down * (2 * k - next + 2) as f64 / next as f64;
        (before, current) = (current, current.times(along).plus(before.times(across)));
    }
    sum
}

/// The flip probability of [`tight_epsilon_prime`] never goes below about e^-64, too small for our coins to resolve.
const MAX_EPSILON_PRIME: f64 = 64.0;

/// Largest `epsilon'` per bit for which k sign bits are (epsilon, delta)-private, for one fixed pair of neighbours
/// and a Gaussian matrix drawn independently of the data; q from [`sign_change_probability_gaussian`].
///
/// Rounded down; at least `epsilon/k` and at most 64 (reached when a changed sign is rarer than delta).
pub fn tight_epsilon_prime(k: u64, q: f64, epsilon: f64, delta: f64) -> Result<f64, ParameterError> {
    check_size("k", k)?;
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    if !(q > 0.0 && q <= 1.0) {
        return Err(CalibrationError::SignChange { q }.into());
    }
    let target = libm::log(delta);
    let share = super::composition::kov_epsilon0(k, epsilon, 0.0)?;
    let enough = |epsilon_prime: f64| {
        epsilon_prime <= MAX_EPSILON_PRIME && ln_tight_delta(k, q, epsilon_prime, epsilon) <= target
    };
    Ok((largest(share.min(MAX_EPSILON_PRIME), enough) * (1.0 - SLACK)).max(share))
}

/// Probability `1/(1 + e^x)` of a flip with log odds x.
fn flip(x: f64) -> f64 {
    let odds = libm::exp(-x);
    odds / (1.0 + odds)
}

/// Flip probability of plain randomized response, `1/(1 + e^epsilon)`, and 1/2 at x = 0 (the paper's fair coin).
pub fn flip_rr(x_over_beta: f64, epsilon: f64) -> f64 {
    if x_over_beta == 0.0 { 0.5 } else { flip(epsilon) }
}

/// Flip probability of the paper's smooth rule, `1/(1 + e^(L epsilon))`, `L = ceil(|x|/beta)`.
pub fn flip_smooth(x_over_beta: f64, epsilon: f64) -> f64 {
    flip(libm::ceil(x_over_beta.abs()) * epsilon)
}

/// Flip probability of our ceil rule, `e^(-(L-1) epsilon)/(1 + e^epsilon)`, `L = ceil(|x|/beta)`; 1/2 at x = 0.
pub fn flip_ceil(x_over_beta: f64, epsilon: f64) -> f64 {
    let l = libm::ceil(x_over_beta.abs());
    if l == 0.0 { 0.5 } else { libm::exp((1.0 - l) * epsilon) * flip(epsilon) }
}

#[cfg(test)]
mod tests {
    use super::super::comparison::*;
    use super::super::composition::{kov_delta, kov_epsilon0};
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::FRAC_PI_2;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a / b - 1.0).abs() <= tolerance, "{a} against {b}");
    }

    #[test]
    fn p_plus_has_its_known_special_values() {
        for p in [1u64, 2, 7, 1000, 1_000_000, 1_000_000_000] {
            close(p_plus(1.0, p), p as f64 / (p + 1) as f64, 1e-12);
        }
        for r in [1e-6, 0.3, 1.0, 2.0] {
            close(p_plus(r, 1), 2.0 * libm::atan(r) / PI, 1e-13);
        }
    }

    #[test]
    fn lemma_4_3_is_false() {
        // p = 2, u = (1,1)/sqrt 2, r = 1: max(|w1|,|w2|) > |w1 + w2|/sqrt 2 fails only where the weights have one sign
        // and ratio above sqrt 2 - 1, half of that quadrant.
        let ratio = 2f64.sqrt() - 1.0;
        let fails = 2.0 * (PI / 2.0 - 2.0 * libm::atan(ratio)) / (2.0 * PI);
        close(1.0 - fails, 0.75, 1e-14);
        assert!(p_plus(1.0, 2) < 0.67);
    }

    #[test]
    fn binomial_quantile_is_the_least() {
        for (f, k, delta) in [(0.1f64, 20u64, 1e-3), (0.7, 30, 0.2), (1e-4, 10, 0.5), (0.999, 12, 1e-6)] {
            let law = |n: u64| {
                let choose: f64 = (1..=n).map(|i| (k - n + i) as f64 / i as f64).product();
                choose * f.powi(n as i32) * (1.0 - f).powi((k - n) as i32)
            };
            let tail = |n: u64| (n + 1..=k).map(law).sum::<f64>();
            let n = n_plus_binomial(f, k, delta);
            assert!(tail(n) <= delta && (n == 0 || tail(n - 1) > delta), "{f} {k} {n}");
        }
        assert_eq!(n_plus_binomial(1.0, 9, 0.1), 9);
    }

    #[test]
    fn tight_delta_is_the_binomial_mixture_of_compositions() {
        for (k, q, epsilon_prime, epsilon) in [(12u64, 0.3f64, 0.4, 0.9), (20, 0.05, 1.5, 2.0), (6, 1.0, 0.5, 1.0)] {
            let mixture: f64 = (0..=k)
                .map(|s| {
                    let choose: f64 = (1..=s).map(|i| (k - s + i) as f64 / i as f64).product();
                    let weight = choose * q.powi(s as i32) * (1.0 - q).powi((k - s) as i32);
                    weight * kov_delta(s, epsilon_prime, epsilon)
                })
                .sum();
            close(tight_delta(k, q, epsilon_prime, epsilon), mixture, 1e-13);
        }
    }

    #[test]
    fn tight_epsilon_prime_has_its_limits() {
        close(tight_epsilon_prime(64, 1.0, 5.0, 1e-6).unwrap(), kov_epsilon0(64, 5.0, 1e-6).unwrap(), 1e-12);
        assert_eq!(tight_epsilon_prime(10, 1e-9, 1.0, 1e-6).unwrap(), MAX_EPSILON_PRIME * (1.0 - SLACK));
        for q in [0.0, -0.1, 1.1, f64::NAN] {
            assert!(tight_epsilon_prime(10, q, 1.0, 1e-6).is_err());
        }
        assert!(n_plus(0.0, 1, 1, 0.1).is_err());
        assert_eq!(n_plus(1.5, 10, 77, 0.1).unwrap(), 77.0);
    }

    #[test]
    fn the_ceil_rule_dominates_and_both_are_private() {
        for epsilon in [0.1, 1.0, 5.0] {
            for i in 0..200 {
                let x = f64::from(i) * 0.05;
                assert!(flip_ceil(x, epsilon) <= flip_smooth(x, epsilon) * (1.0 + 1e-15));
                for rule in [flip_rr, flip_smooth, flip_ceil, flip_laplace] {
                    // A neighbour on the same side, and one across the origin.
                    let bound = libm::exp(epsilon) * (1.0 + 1e-12);
                    let (here, there) = (rule(x, epsilon), rule(x + 1.0, epsilon));
                    assert!(here <= bound * there && 1.0 - there <= bound * (1.0 - here));
                    if x <= 1.0 {
                        let across = rule(1.0 - x, epsilon);
                        assert!(1.0 - across <= bound * here && 1.0 - here <= bound * across);
                    }
                }
            }
        }
    }

    #[test]
    fn v_rr_equals_the_binomial_variance() {
        for (theta, x) in [(0.5, 1.0), (2.0, 0.1), (1.0, 5.0)] {
            let (keep, agree) = (1.0 / (1.0 + libm::exp(-x)), 1.0 - theta / PI);
            let both = keep * keep + (1.0 - keep) * (1.0 - keep); // two bits kept or two flipped
            let seen = agree * both + (1.0 - agree) * (1.0 - both);
            close(v_rr(theta, x), PI * PI * seen * (1.0 - seen) / (2.0 * keep - 1.0).powi(4), 1e-12);
        }
    }

    /// \[LL23\] Lemma 4.2, part 3, at sigma_x = 1: given X = x, Y is normal with mean rho x/r and deviation s/r.
    #[test]
    fn lemma_4_2_tail_is_below_rayleigh() {
        for (r, rho) in [(0.01, 0.0), (0.5, 0.3), (1.0, -0.9), (3.0, 0.99), (0.2, 0.999)] {
            let s = f64::sqrt((1.0 - rho) * (1.0 + rho));
            let below = |x: f64| 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
            let inside = |x: f64| below(x * (r - rho) / s) - below(-x * (r + rho) / s); // P(|Y| < x given X = x)
            let mass = |from: f64| integrate(from, 12.0, 60, |x| normal_density(x) * inside(x));
            let whole = mass(0.0);
            for t in [0.1, 0.5, 1.0, 2.0, 4.0] {
                assert!(mass(t) / whole <= libm::exp(-0.5 * t * t) * (1.0 + 1e-9), "{r} {rho} {t}");
            }
            // Planted fault: the lemma with a deviation 10% too small is false for small r.
            assert!(r > 0.01 || mass(2.0) / whole > libm::exp(-0.5 * (2.0 / 0.9f64).powi(2)));
        }
    }

    #[test]
    fn lemma_4_2_equals_the_papers_form_and_a_polar_integral() {
        for (r, rho) in [(0.5, 0.3), (0.9, -0.6), (1.0, 0.0), (3.0, 0.8), (1.5, -0.2)] {
            let s = (1.0f64 - rho * rho).sqrt();
            let angle = libm::atan((r - rho) / s) + libm::atan((r + rho) / s);
            close(lemma42_probability(r, rho), angle / PI, 1e-14);
            let root = |sign: f64| (1.0f64 + r * r + sign * 2.0 * r * rho).sqrt();
            let paper = 2.0 * FRAC_PI_2.sqrt() * ((r - rho) / root(-1.0) + (r + rho) / root(1.0)) / angle;
            close(lemma42_expectation(r, rho, 2.0), paper, 1e-13);
            // X = R cos a and Y = (rho cos a + s sin a) R / r with E[R] = sqrt(pi/2): average over the angle.
            let (steps, mut mean, mut share) = (2_000_000, 0.0, 0.0);
            for i in 0..steps {
                let a = PI * (f64::from(i) + 0.5) / f64::from(steps);
                let (x, y) = (libm::cos(a), (rho * libm::cos(a) + s * libm::sin(a)) / r);
                if x.abs() > y.abs() {
                    mean += x.abs();
                    share += 1.0;
                }
            }
            close(lemma42_probability(r, rho), share / f64::from(steps), 1e-5);
            close(lemma42_expectation(r, rho, 1.0), FRAC_PI_2.sqrt() * mean / share, 1e-5);
        }
    }

    #[test]
    fn sign_changes_have_their_edges() {
        close(sign_change_probability_gaussian(2.0, 1.0), 1.0, 1e-15);
        assert_eq!(sign_change_probability_gaussian(5.0, 1.0), 1.0);
        assert_eq!(sign_change_probability_gaussian_one_norm(1.1, 1.0), 1.0);
        assert!(sign_change_safe_rademacher(1.0, 20.0, 1.0) > sign_change_approximation_rademacher(1.0, 20.0));
        assert!(half_normal_bound(4, 1.0).threshold > 4.0 * (2.0 / PI).sqrt());
    }

    proptest! {
        #[test]
        fn tight_epsilon_prime_beats_the_papers(k in 16u64..400, m in 3f64..40.0, epsilon in 0.2f64..15.0, ln_delta in -30f64..-7.0) {
            let delta = libm::exp(ln_delta);
            let q = sign_change_probability_gaussian(1.0, m);
            let tight = tight_epsilon_prime(k, q, epsilon, delta).unwrap();
            prop_assert!(tight > epsilon / n_plus(1.0 / m, 784, k, delta).unwrap());
            prop_assert!(tight_delta(k, q, tight, epsilon) <= delta);
            prop_assert!(tight >= kov_epsilon0(k, epsilon, delta).unwrap() * (1.0 - 1e-12));
        }
    }
}
