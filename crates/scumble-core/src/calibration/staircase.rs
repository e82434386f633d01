//! Shape and moments of staircase noise (Geng and Viswanath): discrete on grid steps, and the continuous limit.
//!
//! With `b = e^-epsilon`, sensitivity D and `|n| = qD + i`: `P(n) = P(0) b^q` on the high step (i < r) and
//! `P(0) b^(q+1)` on the low step. Continuous: high step of width gamma D. All sums below have positive terms.

use super::Ratio;

/// `sum over q >= 0 of q^j b^q` for j = 0..=4.
fn power_series(b: Ratio) -> [f64; 5] {
    let (v, s) = (b.value(), 1.0 / b.gap());
    let s2 = s * s;
    [
        s,
        v * s2,
        v * (1.0 + v) * s2 * s,
        v * (1.0 + v * (4.0 + v)) * s2 * s2,
        v * (1.0 + v * (11.0 + v * (11.0 + v))) * s2 * s2 * s,
    ]
}

/// `sum over 0 <= i < n of i^j` for j = 0..=4.
fn power_sums(n: f64) -> [f64; 5] {
    let m = n - 1.0;
    let first = 0.5 * n * m;
    [n, first, first * (2.0 * n - 1.0) / 3.0, first * first, first * (2.0 * n - 1.0) * (3.0 * n * m - 1.0) / 15.0]
}

/// `integral over 0 <= x < t of x^j` for j = 0..=4.
fn power_integrals(t: f64) -> [f64; 5] {
    [t, t * t / 2.0, t * t * t / 3.0, t.powi(4) / 4.0, t.powi(5) / 5.0]
}

/// `2 sum over q of b^q (high + b (all - high))` of `(qD + x)^m`, from the power sums over one period.
fn moment(m: usize, b: Ratio, period: f64, high: [f64; 5], all: [f64; 5]) -> f64 {
    const BINOMIAL: [[f64; 5]; 5] = [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0, 0.0],
        [1.0, 2.0, 1.0, 0.0, 0.0],
        [1.0, 3.0, 3.0, 1.0, 0.0],
        [1.0, 4.0, 6.0, 4.0, 1.0],
    ];
    let series = power_series(b);
    let within = |j: usize| high[j] + b.value() * (all[j] - high[j]);
    2.0 * (0..=m).map(|j| BINOMIAL[m][j] * period.powi((m - j) as i32) * series[m - j] * within(j)).sum::<f64>()
}

/// `P(0) = (1 - b)/(2r + 2b(D - r) - (1 - b))` of the discrete law with r high steps of D.
pub fn p0(b: Ratio, sensitivity_steps: u64, r: u64) -> f64 {
    let (d, r) = (sensitivity_steps as f64, r as f64);
    b.gap() / (2.0 * r + 2.0 * b.value() * (d - r) - b.gap())
}

/// Variance of the discrete law, in squared grid steps.
pub fn variance(b: Ratio, sensitivity_steps: u64, r: u64) -> f64 {
    discrete_moment(2, b, sensitivity_steps, r)
}

/// Fourth moment of the discrete law, in fourth powers of grid steps.
pub fn fourth_moment(b: Ratio, sensitivity_steps: u64, r: u64) -> f64 {
    discrete_moment(4, b, sensitivity_steps, r)
}

fn discrete_moment(m: usize, b: Ratio, sensitivity_steps: u64, r: u64) -> f64 {
    let d = sensitivity_steps as f64;
    p0(b, sensitivity_steps, r) * moment(m, b, d, power_sums(r as f64), power_sums(d))
}

/// The number of high steps r in 1..=D with the least variance.
pub fn optimal_r(b: Ratio, sensitivity_steps: u64) -> u64 {
    let at = |r: u64| variance(b, sensitivity_steps, r);
    // The variance falls and then rises in r; the continuous optimum is within a step or two of the discrete one.
    let mut r = ((optimal_gamma(b) * sensitivity_steps as f64) as u64).clamp(1, sensitivity_steps);
    while r < sensitivity_steps && at(r + 1) < at(r) {
        r += 1;
    }
    while r > 1 && at(r - 1) < at(r) {
        r -= 1;
    }
    r
}

/// Width of the high step with the least variance, as a share of D: `gamma = ((b(1+b)/2)^(1/3) - b)/(1 - b)`.
///
/// Equal to the published `-b/(1-b) + (b - 2b² + 2b⁴ - b⁵)^(1/3)/(2^(1/3)(1-b)²)`, without its cancellation.
pub fn optimal_gamma(b: Ratio) -> f64 {
    // ((1+b)/(2b²))^(1/3) - 1 through expm1, since it tends to 0 with epsilon.
    let growth = (2.0 * b.exponent() + libm::log1p(-0.5 * b.gap())) / 3.0;
    let top = if growth < 1.0 {
        b.value() * libm::expm1(growth)
    } else {
        libm::cbrt(0.5 * b.value() * (1.0 + b.value())) - b.value()
    };
    top / b.gap()
}

/// Peak density `(1 - b)/(2D(gamma + b(1 - gamma)))` of the continuous law.
pub fn continuous_peak(b: Ratio, gamma: f64, sensitivity: f64) -> f64 {
    b.gap() / (2.0 * sensitivity * (gamma + b.value() * (1.0 - gamma)))
}

/// Variance of the continuous law with high steps of width gamma D.
///
/// At [`optimal_gamma`] it is `D² (2^(-2/3) b^(2/3) (1+b)^(2/3) + b)/(1 - b)²`.
pub fn continuous_variance(b: Ratio, gamma: f64, sensitivity: f64) -> f64 {
    continuous_moment(2, b, gamma) * sensitivity.powi(2)
}

/// Fourth moment of the continuous law with high steps of width gamma D.
#[cfg(test)]
pub(crate) fn continuous_fourth_moment(b: Ratio, gamma: f64, sensitivity: f64) -> f64 {
    continuous_moment(4, b, gamma) * sensitivity.powi(4)
}

fn continuous_moment(m: usize, b: Ratio, gamma: f64) -> f64 {
    continuous_peak(b, gamma, 1.0) * moment(m, b, 1.0, power_integrals(gamma), power_integrals(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::laplace;

    fn law(b: Ratio, d: u64, r: u64, n: u64) -> f64 {
        let step = n / d + u64::from(n % d >= r);
        p0(b, d, r) * libm::pow(b.value(), step as f64)
    }

    #[test]
    fn closed_forms_equal_the_sums_over_the_law() {
        for (epsilon, d, r) in [(0.5, 1, 1), (1.0, 4, 2), (5.0, 16, 3), (0.3, 7, 7), (2.0, 9, 1)] {
            let b = Ratio::from_exponent(epsilon);
            let sum = |m: i32| 2.0 * (1..d * 400).rev().map(|n| (n as f64).powi(m) * law(b, d, r, n)).sum::<f64>();
            assert!((p0(b, d, r) + sum(0) - 1.0).abs() < 1e-13);
            assert!((variance(b, d, r) / sum(2) - 1.0).abs() < 1e-13);
            assert!((fourth_moment(b, d, r) / sum(4) - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn r_is_the_best_of_all() {
        for i in 0..40 {
            let b = Ratio::from_exponent(0.01 * libm::pow(10.0, f64::from(i) * 0.09));
            for d in [1, 2, 3, 5, 16, 64, 100] {
                let found = variance(b, d, optimal_r(b, d));
                let best = (1..=d).map(|r| variance(b, d, r)).fold(f64::INFINITY, f64::min);
                assert!(found <= best * (1.0 + 1e-14), "{b:?} {d}");
            }
        }
    }

    #[test]
    fn one_step_of_sensitivity_is_discrete_laplace() {
        let b = Ratio::from_exponent(0.7);
        assert!((variance(b, 1, 1) / laplace::variance(b) - 1.0).abs() < 1e-14);
        assert!((fourth_moment(b, 1, 1) / laplace::fourth_moment(b) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn fine_grids_tend_to_the_continuous_law() {
        let (b, d) = (Ratio::from_exponent(3.0), 1u64 << 20);
        let (gamma, unit) = (optimal_gamma(b), d as f64);
        let r = optimal_r(b, d);
        assert!((r as f64 / unit - gamma).abs() < 2e-6);
        assert!((variance(b, d, r) / unit.powi(2) / continuous_variance(b, gamma, 1.0) - 1.0).abs() < 1e-10);
        assert!((fourth_moment(b, d, r) / unit.powi(4) / continuous_fourth_moment(b, gamma, 1.0) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn the_two_forms_of_gamma_and_variance_agree() {
        for epsilon in [0.5, 1.0, 1.9, 2.1, 5.0, 20.0] {
            let ratio = Ratio::from_exponent(epsilon);
            let (b, gamma) = (ratio.value(), optimal_gamma(ratio));
            let root = libm::cbrt(b - 2.0 * b * b + 2.0 * b.powi(4) - b.powi(5));
            let published = -b / (1.0 - b) + root / (2f64.cbrt() * (1.0 - b).powi(2));
            assert!((gamma / published - 1.0).abs() < 1e-12);
            let least = (libm::pow(0.5 * b * (1.0 + b), 2.0 / 3.0) + b) / (1.0 - b).powi(2);
            assert!((continuous_variance(ratio, gamma, 2.0) / (4.0 * least) - 1.0).abs() < 1e-13);
        }
    }
}
