//! Formulas from the paper and its field that no mechanism calls. They are compared with the oracles, and with ours.

use super::gaussian::ln_delta_gaussian;
use super::numeric::{Wide, integrate, largest, within};
use super::sensitivity::ln_rows;
use super::{check_epsilon, check_positive, check_size};
use crate::error::{CalibrationError, ParameterError};
use std::f64::consts::{FRAC_PI_2, LN_2, PI};

/// Epsilon of k mechanisms that are each `epsilon0`-private, at the price of `delta_prime`:
/// `sqrt(2k ln(1/delta')) epsilon0 + k epsilon0 (e^epsilon0 - 1)/(e^epsilon0 + 1)` (Dwork, Rothblum and Vadhan).
///
/// [`kov_delta`](super::composition::kov_delta) is never worse; this is the closed form for comparison.
pub fn advanced_composition(k: u64, epsilon0: f64, delta_prime: f64) -> f64 {
    let k = k as f64;
    (-2.0 * k * libm::log(delta_prime)).sqrt() * epsilon0 + k * epsilon0 * libm::tanh(0.5 * epsilon0)
}

/// `sum over n of e^(-n²/(2 sigma2))`, directly or in its dual form, whichever converges at once.
pub(super) fn theta(sigma2: f64) -> f64 {
    if sigma2 > 1.0 {
        let dual = |n: f64| libm::exp(-2.0 * PI * PI * sigma2 * n * n);
        (2.0 * PI * sigma2).sqrt() * (1.0 + 2.0 * (dual(1.0) + dual(2.0)))
    } else {
        1.0 + 2.0 * (1..=12).rev().map(|n| libm::exp(-0.5 * f64::from(n * n) / sigma2)).sum::<f64>()
    }
}

/// Exact delta of the integer discrete Gaussian of parameter `sigma2` for an integer shift of `sensitivity_steps`
/// (Canonne, Kamath and Steinke, Theorem 7): `Pr[Y > t] - e^epsilon Pr[Y > t + D]`, `t = epsilon sigma2/D - D/2`.
///
/// For comparison only: the mechanisms use the rounded Gaussian, whose delta is [`delta_gaussian`](super::gaussian::delta_gaussian) on any grid.
/// Not monotone in sigma on coarse grids. The sum has about 20 sigma terms.
pub fn discrete_gaussian_delta(epsilon: f64, sensitivity_steps: u64, sigma2: f64) -> Result<f64, ParameterError> {
    check_epsilon(epsilon)?;
    check_size("sensitivity in grid steps", sensitivity_steps)?;
    check_positive("sigma2", sigma2)?;
    if sigma2 > 1e12 {
        return Err(CalibrationError::Sigma2.into());
    }
    let shift = sensitivity_steps as f64;
    let threshold = epsilon * sigma2 / shift - 0.5 * shift;
    // P(y) - e^epsilon P(y + D) = P(y) (1 - e^(epsilon - D(2y + D)/(2 sigma2))), 0 at y = t and positive above.
    let term = |y: f64| {
        let loss = shift * (y - threshold) / sigma2;
        if loss > 0.0 { -libm::expm1(-loss) * libm::exp(-0.5 * y * y / sigma2) } else { 0.0 }
    };
    let start = libm::floor(threshold);
    let peak = start.max(0.0);
    let last = libm::ceil(peak + 90.0 * sigma2 / (peak + (peak * peak + 90.0 * sigma2).sqrt())) + 1.0;
    let first = start.max(-libm::ceil((90.0 * sigma2).sqrt()));
    let steps = (last - first) as u64;
    let sum: f64 = (0..=steps).rev().map(|i| term(first + i as f64)).sum();
    Ok(sum / theta(sigma2))
}

/// Delta at `epsilon` for ONE fixed pair at distance `beta` under `W^T u / sqrt(k) + N(0, sigma²)`, W Gaussian and
/// independent of the data: `E over t ~ chi²_k of delta_gaussian(epsilon, beta sqrt(t/k) / sigma)`.
///
/// Not a guarantee for every pair at once when the adversary picks the pair after seeing W: for comparison.
pub fn fixed_pair_delta(k: u64, epsilon: f64, sigma: f64, beta: f64) -> Result<f64, ParameterError> {
    check_size("k", k)?;
    check_epsilon(epsilon)?;
    check_positive("sigma", sigma)?;
    check_positive("beta", beta)?;
    let k = k as f64;
    let unit = beta / (sigma * k.sqrt());
    // Log density of y = sqrt(t) plus log delta. Both are concave, the first with curvature at least 1.
    let constant = (1.0 - 0.5 * k) * std::f64::consts::LN_2 - libm::lgamma(0.5 * k);
    let log = |y: f64| constant + (k - 1.0) * libm::log(y) - 0.5 * y * y + ln_delta_gaussian(epsilon, unit * y);
    let peak = largest(k.sqrt(), |y| log(y * (1.0 + 1e-4)) >= log(y));
    let top = log(peak);
    let (low, high) = ((peak - 11.0).max(peak * 1e-9), peak + 11.0);
    Ok(libm::exp(top) * integrate(low, high, 32, |y| libm::exp(log(y) - top)))
}

/// l1 sensitivity exceeds `beta (sqrt(2k/pi) + sqrt(2 ln(p/delta)))` with probability at most delta.
///
/// Concentration of a Lipschitz function of Gaussians; sharper than [`delta1_bound`](super::sensitivity::delta1_bound) for large k.
pub fn delta1_lipschitz(p: u64, k: u64, delta: f64, beta: f64) -> Result<f64, ParameterError> {
    let l = ln_rows(p, k, delta, beta)?;
    Ok(beta * ((2.0 * k as f64 / PI).sqrt() + (2.0 * l).sqrt()))
}

/// Tail of a sum of n half-normals (\[LL23\] Lemma 3.6): `Pr(sum >= threshold) <= probability`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfNormalBound {
    /// The paper's `sqrt(2 n² ln 2 + 2 n t)`.
    pub threshold: f64,
    /// The threshold `n sqrt(2/pi) + sqrt(2 n t)` of Lipschitz concentration, valid with the same probability.
    pub lipschitz: f64,
    /// `e^-t`.
    pub probability: f64,
}

/// Flip probability of the sign of `x + Laplace(beta/epsilon)`, `e^(-epsilon |x|/beta)/2`.
pub fn flip_laplace(x_over_beta: f64, epsilon: f64) -> f64 {
    0.5 * libm::exp(-epsilon * x_over_beta.abs())
}

/// The bounds of [`HalfNormalBound`] for n terms at t > 0.
pub fn half_normal_bound(n: u64, t: f64) -> HalfNormalBound {
    let n = n as f64;
    HalfNormalBound {
        threshold: (2.0 * n * (n * LN_2 + t)).sqrt(),
        lipschitz: n * (2.0 / PI).sqrt() + (2.0 * n * t).sqrt(),
        probability: libm::exp(-t),
    }
}

/// `E[|X| given |X| > |Y|]` (\[LL23\] Lemma 4.2, part 2), in a form without cancellation for small r or rho near 1.
pub fn lemma42_expectation(r: f64, rho: f64, sigma_x: f64) -> f64 {
    // (r-rho)/s1 + (r+rho)/s2 with s1², s2² = 1 + r² ∓ 2 r rho equals 2 r T/((s1 + s2) s1 s2),
    // T = (1 + r² - 2 rho²) + s1 s2.
    let rest = (1.0 - rho) * (1.0 + rho);
    let w = (1.0 - r) * (1.0 + r);
    let product = (w * w + 4.0 * r * r * rest).sqrt(); // s1 s2
    let sum = (2.0 * (1.0 + r * r + product)).sqrt(); // s1 + s2
    let t = 2.0 * rest + if w > 0.0 { 4.0 * r * r * rest / (product + w) } else { product - w };
    sigma_x * FRAC_PI_2.sqrt() * 2.0 * r * t / (sum * product) / (PI * lemma42_probability(r, rho))
}

/// `Pr(|X| > |Y|)` for centred normals with `r = sigma_x/sigma_y` and correlation rho (\[LL23\] Lemma 4.2, part 1).
///
/// The paper's `(atan((r-rho)/s) + atan((r+rho)/s))/pi`, `s = sqrt(1 - rho²)`, as one arctangent.
pub fn lemma42_probability(r: f64, rho: f64) -> f64 {
    let s = ((1.0 - rho) * (1.0 + rho)).sqrt();
    libm::atan2(2.0 * r * s, (1.0 - r) * (1.0 + r)) / PI
}

/// The least n with `Pr(Bin(k, f) > n) <= delta`: what the Chernoff step of [`n_plus`](super::signs::n_plus) approximates.
///
/// With `f = P_+(r, p)` this is NOT a bound, and neither is [`n_plus`](super::signs::n_plus).
pub fn n_plus_binomial(f: f64, k: u64, delta: f64) -> u64 {
    if f >= 1.0 {
        return k;
    }
    let target = libm::log(delta);
    let odds = (1.0 - f) / f;
    let (mut term, mut tail) = (Wide::power(f, k), Wide::new(0.0));
    // Downward from n = k, where the tail is empty.
    for n in (1..=k).rev() {
        tail = tail.plus(term);
        if tail.ln() > target {
            return n;
        }
        term = term.times(n as f64 / (k - n + 1) as f64 * odds);
    }
    0
}

/// The chance that a sign changes when only ONE of the two norms is known to be at least m: `asin(beta/m)/pi`, and 1 for beta >= m.
///
/// Past beta = m the neighbour may be on the other side of the origin, and nothing is bounded.
pub fn sign_change_probability_gaussian_one_norm(beta: f64, m: f64) -> f64 {
    if beta > m { 1.0 } else { libm::asin(beta / m) / PI }
}

/// The normal approximation for Rademacher weights plus its Berry-Esseen error, `min(1, 2Phi(beta/m) - 1 + 2 · 0.56 C/m)`, C the largest |u_i|.
///
/// Too wide to be useful at practical norms. It shows why Rademacher sign projections take N_+ = k.
pub fn sign_change_safe_rademacher(beta: f64, m: f64, c: f64) -> f64 {
    (within(beta / m) + 1.12 * c / m).min(1.0)
}

/// k times the variance of the angle estimated from k randomized-response bits (\[LL23\] Theorem 4.6), exact for
/// every k and Gaussian W: `theta(pi - theta) + 2 pi² h + 4 pi² h²`, `h = e^x/(e^x - 1)² = 1/(4 sinh²(x/2))`.
pub fn v_rr(theta: f64, epsilon_prime: f64) -> f64 {
    let sinh = libm::sinh(0.5 * epsilon_prime);
    let h = 0.25 / (sinh * sinh);
    theta * (PI - theta) + 2.0 * PI * PI * h * (1.0 + 2.0 * h)
}
