//! The few numerical tools the calibration needs: quadrature, the normal tail, wide floats, bisection.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// ln sqrt(2 pi).
pub(super) const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_8;

/// Exponent at which a tail is cut relative to its peak: e^-45 is below half a unit in the last place of f64.
const TAIL: f64 = 45.0;

/// Positive nodes and weights of the 16-point Gauss-Legendre rule on [-1, 1].
const GAUSS_LEGENDRE: [(f64, f64); 8] = [
    (0.9894009349916499, 0.027152459411754096),
    (0.9445750230732326, 0.062253523938647894),
    (0.8656312023878318, 0.09515851168249279),
    (0.755404408355003, 0.12462897125553388),
    (0.6178762444026438, 0.14959598881657674),
    (0.45801677765722737, 0.16915651939500254),
    (0.2816035507792589, 0.18260341504492358),
    (0.09501250983763744, 0.1894506104550685),
];

/// Integral of a smooth function over [a, b] by the 16-point rule on equal panels.
pub(super) fn integrate(a: f64, b: f64, panels: u32, f: impl Fn(f64) -> f64) -> f64 {
    let half = (b - a) / (2.0 * f64::from(panels));
    let panel = |i: u32| {
        let middle = a + half * f64::from(2 * i + 1);
        GAUSS_LEGENDRE.iter().map(|&(x, w)| w * (f(middle - half * x) + f(middle + half * x))).sum::<f64>()
    };
    half * (0..panels).map(panel).sum::<f64>()
}

/// Where `e^(-x t - t²/2)` has fallen to e^-45.
fn tail_end(x: f64) -> f64 {
    2.0 * TAIL / (x + (x * x + 2.0 * TAIL).sqrt())
}

/// Integral of `e^(-x t - t²/2) f(t)` over t > 0 for x >= -2 and a smooth, slowly varying f.
///
/// With f = 1 it is the Mills ratio Q(x)/phi(x); every term is positive, so no digits cancel in a tail.
pub(super) fn tail_integral(x: f64, f: impl Fn(f64) -> f64) -> f64 {
    integrate(0.0, tail_end(x), 8, |t| libm::exp(-t * (x + 0.5 * t)) * f(t))
}

/// Mills ratio Q(x)/phi(x) of the normal law, Q the upper tail; x >= -2.
pub(super) fn mills(x: f64) -> f64 {
    tail_integral(x, |_| 1.0)
}

/// Density of the standard normal law.
pub(super) fn normal_density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x) / (2.0 * PI).sqrt()
}

/// Pr(Z > x) of the standard normal law.
pub(super) fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// Pr(|Z| <= x) of the standard normal law.
pub(super) fn within(x: f64) -> f64 {
    libm::erf(x * FRAC_1_SQRT_2)
}

/// A non-negative number `mantissa · 2^exponent` whose exponent may lie far outside the range of f64.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    mantissa: f64,
    exponent: i64,
}

impl Wide {
    pub(super) fn new(x: f64) -> Self {
        let (mantissa, exponent) = libm::frexp(x);
        Self { mantissa, exponent: i64::from(exponent) }
    }

    /// `x^n` by squaring.
    pub(super) fn power(x: f64, mut n: u64) -> Self {
        let (mut result, mut square) = (Self::new(1.0), Self::new(x));
        while n > 0 {
            if n & 1 == 1 {
                result = result.product(square);
            }
            square = square.product(square);
            n >>= 1;
        }
        result
    }

    fn product(self, other: Self) -> Self {
        let x = Self::new(self.mantissa * other.mantissa);
        Self { exponent: x.exponent + self.exponent + other.exponent, ..x }
    }

    pub(super) fn times(self, x: f64) -> Self {
        self.product(Self::new(x))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let (big, small) = if other.mantissa == 0.0 || (self.mantissa != 0.0 && self.exponent >= other.exponent) {
            (self, other)
        } else {
            (other, self)
        };
        let shift = (small.exponent - big.exponent).max(-2000) as i32;
        let sum = Self::new(big.mantissa + libm::ldexp(small.mantissa, shift));
        Self { exponent: big.exponent + sum.exponent, ..sum }
    }

    /// Natural logarithm; minus infinity for zero.
    pub(super) fn ln(self) -> f64 {
        libm::log(self.mantissa) + self.exponent as f64 * std::f64::consts::LN_2
    }

    /// The nearest f64, which is 0 below its range.
    pub(super) fn value(self) -> f64 {
        libm::ldexp(self.mantissa, self.exponent.clamp(-3000, 3000) as i32)
    }
}

/// The largest x (to the last digits) for which a predicate holds that is true up to some positive x and false after.
///
/// `start` is any positive guess. Works on a logarithmic scale, so roots from 1e-300 to 1e300 cost the same.
/// Returns 0 or infinity when the predicate does not change over the whole range.
pub(super) fn largest(start: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (start, start);
    let mut factor = 2.0;
    if holds(start) {
        while holds(high) {
            (low, high) = (high, high * factor);
            if high.is_infinite() {
                return high;
            }
            factor *= factor;
        }
    } else {
        while !holds(low) {
            (low, high) = (low / factor, low);
            if low == 0.0 {
                return low;
            }
            factor *= factor;
        }
    }
    while high > low * (1.0 + 2.0 * f64::EPSILON) {
        // The geometric mean halves the logarithm of the bracket; near the end it is the ordinary midpoint.
        let middle = low * (high / low).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The smallest x for which a predicate holds that is false up to some positive x and true after.
pub(super) fn smallest(start: f64, holds: impl Fn(f64) -> bool) -> f64 {
    1.0 / largest(1.0 / start, |x| holds(1.0 / x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a / b - 1.0).abs() <= tolerance, "{a} against {b}");
    }

    #[test]
    fn the_rule_is_exact_for_polynomials_of_degree_31() {
        close(integrate(0.0, 2.0, 1, |x| libm::pow(x, 31.0)), libm::pow(2.0, 32.0) / 32.0, 1e-14);
    }

    #[test]
    fn mills_ratio_agrees_with_erfc_and_with_its_asymptotic_series() {
        for x in [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, 8.0] {
            close(mills(x) * normal_density(x), upper_tail(x), 5e-15);
        }
        for x in [100.0, 5000.0] {
            let y = 1.0 / (x * x);
            close(mills(x), (1.0 - y * (1.0 - 3.0 * y * (1.0 - 5.0 * y))) / x, 1e-13);
        }
    }

    #[test]
    fn wide_floats_survive_beyond_the_range() {
        close(Wide::power(0.001, 1000).ln(), 1000.0 * libm::log(0.001), 1e-15);
        close(Wide::power(0.5, 5000).plus(Wide::power(0.5, 5001)).ln(), 1.5f64.ln() - 5000.0 * 2f64.ln(), 1e-15);
        assert_eq!(Wide::new(0.0).plus(Wide::power(0.5, 5000)).exponent, -4999);
        assert_eq!(Wide::power(0.5, 5000).plus(Wide::new(0.0)).exponent, -4999);
        assert_eq!(Wide::power(0.5, 5000).value(), 0.0);
        assert_eq!(Wide::new(3.0).times(4.0).value(), 12.0);
        assert_eq!(Wide::new(0.0).ln(), f64::NEG_INFINITY);
    }

    #[test]
    fn bisection_finds_roots_of_any_size() {
        for root in [1e-200, 3e-7, 1.0, 12.5, 1e200] {
            close(largest(1.0, |x| x <= root), root, 1e-15);
            close(smallest(1.0, |x| x >= root), root, 2e-15);
        }
        assert_eq!(largest(1.0, |_| true), f64::INFINITY);
        assert_eq!(largest(1.0, |_| false), 0.0);
    }
}
