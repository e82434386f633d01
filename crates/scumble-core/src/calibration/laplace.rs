//! Moments of Laplace noise: the discrete law `P(n) ∝ a^|n|` on grid steps, and its continuous limit.

use super::Ratio;

/// Ratio `a = e^(-epsilon/B)` of the discrete law for a sensitivity of B grid steps.
pub fn ratio(epsilon: f64, sensitivity_steps: u64) -> Ratio {
    Ratio::from_exponent(epsilon / sensitivity_steps as f64)
}

/// `P(0) = (1 - a)/(1 + a)`.
pub fn p0(a: Ratio) -> f64 {
    a.gap() / (1.0 + a.value())
}

/// Variance `2a/(1 - a)²`, in squared grid steps.
pub fn variance(a: Ratio) -> f64 {
    2.0 * a.value() / (a.gap() * a.gap())
}

/// Fourth moment `2a(1 + 10a + a²)/(1 - a)⁴`, in fourth powers of grid steps.
pub fn fourth_moment(a: Ratio) -> f64 {
    let (v, gap2) = (a.value(), a.gap() * a.gap());
    2.0 * v * (1.0 + v * (10.0 + v)) / (gap2 * gap2)
}

/// Density at 0 of continuous Laplace noise, `epsilon/(2 Delta)`.
pub fn continuous_peak(epsilon: f64, sensitivity: f64) -> f64 {
    epsilon / (2.0 * sensitivity)
}

/// Variance of continuous Laplace noise, `2 (Delta/epsilon)²`.
pub fn continuous_variance(epsilon: f64, sensitivity: f64) -> f64 {
    let scale = sensitivity / epsilon;
    2.0 * scale * scale
}

/// Fourth moment of continuous Laplace noise, `24 (Delta/epsilon)⁴`.
#[cfg(test)]
pub(crate) fn continuous_fourth_moment(epsilon: f64, sensitivity: f64) -> f64 {
    let v = continuous_variance(epsilon, sensitivity);
    6.0 * v * v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_equal_the_sums_over_the_law() {
        for (epsilon, steps) in [(0.5, 1), (1.0, 4), (5.0, 3), (10.0, 64)] {
            let a = ratio(epsilon, steps);
            let law = |n: i32| p0(a) * libm::pow(a.value(), f64::from(n));
            let moment = |m: i32| 2.0 * (1..4000).rev().map(|n: i32| f64::from(n).powi(m) * law(n)).sum::<f64>();
            assert!((p0(a) + moment(0) - 1.0).abs() < 1e-12);
            assert!((variance(a) / moment(2) - 1.0).abs() < 1e-12);
            assert!((fourth_moment(a) / moment(4) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn an_integer_ratio_gives_the_same_moments() {
        let exact = ratio(1.0, 1024);
        let numerator = (exact.value() * libm::ldexp(1.0, 64)) as u64;
        assert!((variance(Ratio::from_integer(numerator)) / variance(exact) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn fine_grids_tend_to_the_continuous_law() {
        let (epsilon, steps) = (2.0, 1u64 << 20);
        let (a, unit) = (ratio(epsilon, steps), steps as f64);
        assert!((variance(a) / (unit * unit) / continuous_variance(epsilon, 1.0) - 1.0).abs() < 1e-11);
        assert!((fourth_moment(a) / unit.powi(4) / continuous_fourth_moment(epsilon, 1.0) - 1.0).abs() < 1e-11);
        assert!((p0(a) * unit / continuous_peak(epsilon, 1.0) - 1.0).abs() < 1e-11);
        assert_eq!(continuous_fourth_moment(epsilon, 1.0), 24.0 / 16.0);
    }
}
