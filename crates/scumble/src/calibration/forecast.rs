//! What a release will be good for, from public numbers, before any budget is spent.
//!
//! Two forecasts: the variance of an inner product (exact, [`Sketch`]) and the recall of a cosine search (a model,
//! [`forecast_recall`]). [`best_k`] and [`best_k_for_recall`] choose the sketch size by evaluating them, because no
//! closed form holds: the best k grows like norm²/s2 and raw (k = p) wins at large epsilon.

use super::numeric::{integrate, largest, normal_density, upper_tail};
use super::variance::{Sketch, oporp_factor};
use super::{Ratio, check_epsilon, check_positive, check_size, gaussian, laplace, staircase};
use crate::error::ParameterError;

/// Law of the noise, in its continuous limit (a grid of 64 steps per beta is within 1e-4 of it).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Optimal Gaussian noise at this delta.
    Gaussian {
        /// Probability outside the epsilon guarantee.
        delta: f64,
    },
    /// Laplace noise, pure.
    Laplace,
    /// Staircase noise of least variance, pure, for one touched coordinate.
    Staircase,
}

impl Law {
    /// Variance and fourth moment for a sensitivity of 1.
    pub fn moments(self, epsilon: f64) -> Result<(f64, f64), ParameterError> {
        check_epsilon(epsilon)?;
        Ok(match self {
            Self::Gaussian { delta } => {
                let s2 = gaussian::sigma_optimal(epsilon, delta, 1.0)?.powi(2);
                (s2, 3.0 * s2 * s2)
            }
            Self::Laplace => {
                (laplace::continuous_variance(epsilon, 1.0), laplace::continuous_fourth_moment(epsilon, 1.0))
            }
            Self::Staircase => {
                let b = Ratio::from_exponent(epsilon);
                let gamma = staircase::optimal_gamma(b);
                (staircase::continuous_variance(b, gamma, 1.0), staircase::continuous_fourth_moment(b, gamma, 1.0))
            }
        })
    }
}

/// How p attributes become k values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projection {
    /// OPORP: one bin per attribute. With k = p it is raw data up to order and sign.
    Oporp,
    /// Dense Rademacher, where one attribute moves all k values.
    Dense,
}

/// The public numbers of a planned release, all but k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    dim: u64,
    projection: Projection,
    law: Law,
    s2: f64,
    m4: f64,
}

impl Design {
    /// Fixes dimension, projection, noise law, epsilon and beta.
    pub fn new(dim: u64, projection: Projection, law: Law, epsilon: f64, beta: f64) -> Result<Self, ParameterError> {
        check_size("dim", dim)?;
        check_positive("beta", beta)?;
        if projection == Projection::Dense && law == Law::Staircase {
            return Err(ParameterError::not_private(
                "staircase noise protects one touched value, and a dense projection touches all of them",
                "Laplace or Gaussian noise, or OPORP",
            ));
        }
        let (s2, m4) = law.moments(epsilon)?;
        Ok(Self { dim, projection, law, s2: s2 * beta.powi(2), m4: m4 * beta.powi(4) })
    }

    /// The release with k values, 1 <= k <= dim.
    pub fn sketch(&self, k: u64) -> Sketch {
        let size = k as f64;
        // Dense values are scaled by 1/sqrt(k), so Delta2 = beta and Delta1 = sqrt(k) beta; OPORP has beta for both.
        let stretch2 = if self.projection == Projection::Dense && self.law == Law::Laplace { size } else { 1.0 };
        let c = match self.projection {
            Projection::Oporp => oporp_factor(self.dim, k),
            Projection::Dense => 1.0 / size,
        };
        Sketch { k: size, s2: self.s2 * stretch2, m4: self.m4 * stretch2 * stretch2, c, excess: -2.0 }
    }
}

/// What is publicly known or assumed about the rows: squared norms and cosines between rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Population {
    /// Typical squared norm A of a row.
    pub squared_norm: f64,
    /// Standard deviation of the squared norms over their mean.
    pub norm_spread: f64,
    /// Mean cosine of two rows.
    pub similarity: f64,
    /// Standard deviation of the cosine of two rows.
    pub similarity_spread: f64,
}

impl Population {
    /// Rows of this norm that otherwise look like MNIST: cosines .40 ± .133, squared norms ± 36%.
    pub fn with_norm(norm: f64) -> Self {
        Self { squared_norm: norm * norm, norm_spread: 0.36, similarity: 0.40, similarity_spread: 0.133 }
    }
}

/// A search for the nearest rows by cosine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Search {
    /// Rows searched.
    pub rows: u64,
    /// Neighbours wanted, R of recall@R.
    pub top: u64,
    /// Whether the query is projected but carries no noise.
    pub exact_query: bool,
}

/// Expected share of the true top R rows by cosine among the top R of the release: a model, not a bound.
///
/// Model. True cosines are normal with the population's mean and spread, so the neighbours start at
/// `cos = mean + z spread`, `Pr(Z > z) = R/rows`. A released row keeps the share `a = A/(A + k s2)` of its squared
/// norm, which shrinks a cosine by sqrt(a) per noisy side (`kappa`). The released cosine is normal around it with
/// the delta-method variance `c P + V/k` of a correlation of k Gaussian pairs, split into projection and noise:
/// `V = 1 - a1 a2 + kappa² (n1 a1 + n2 a2 + (m4/s2² - 1)(n1² + n2²)/4 - 2(n1 + n2))`, `n = 1 - a`, and
/// `P = (1 - kappa²)² - V` with Gaussian fourth moment; rows of unequal norm shrink unequally, which adds
/// `(kappa n2 norm_spread/2)²`. Recall is then that of two correlated normals. On MNIST (k = 256 and 784, epsilon
/// 1 to 20, 20,000 and 60,000 rows) it is within .10 of the measured recall (root mean square .04), mostly below it at small epsilon.
pub fn forecast_recall(sketch: &Sketch, population: &Population, search: &Search) -> f64 {
    if search.top >= search.rows {
        return 1.0;
    }
    let share = search.top as f64 / search.rows as f64;
    let z = normal_quantile(share);
    let cosine = (population.similarity + z * population.similarity_spread).clamp(-0.95, 0.95);

    let kept = population.squared_norm / (population.squared_norm + sketch.k * sketch.s2);
    let kept_query = if search.exact_query { 1.0 } else { kept };
    let shrink = (kept * kept_query).sqrt();
    let spread = shrink * population.similarity_spread;
    let variance = cosine_variance(sketch, cosine, kept_query, kept)
        + (0.5 * shrink * cosine * (1.0 - kept) * population.norm_spread).powi(2);

    // Pr(noisy score above its own quantile | true score above z), the noisy score being z-score plus w times noise.
    let w = variance.max(0.0).sqrt() / spread;
    let edge = z * (1.0 + w * w).sqrt();
    integrate(z, z + 12.0, 64, |t| normal_density(t) * upper_tail((edge - t) / w.max(1e-6))) / share
}

/// Delta-method variance of the cosine of two released rows that keep the shares `a1`, `a2` of their squared norm.
fn cosine_variance(sketch: &Sketch, cosine: f64, a1: f64, a2: f64) -> f64 {
    let kappa2 = cosine * cosine * a1 * a2;
    let (n1, n2) = (1.0 - a1, 1.0 - a2);
    let noise = |kurtosis: f64| {
        1.0 - a1 * a2 + kappa2 * (n1 * a1 + n2 * a2 + 0.25 * (kurtosis - 1.0) * (n1 * n1 + n2 * n2) - 2.0 * (n1 + n2))
    };
    let projection = (1.0 - kappa2).powi(2) - noise(3.0);
    let kurtosis = if sketch.s2 > 0.0 { sketch.m4 / (sketch.s2 * sketch.s2) } else { 3.0 };
    sketch.c * projection + noise(kurtosis) / sketch.k
}

/// z with `Pr(Z > z) = share`.
fn normal_quantile(share: f64) -> f64 {
    let beyond = |tail: f64| largest(1.0, |z| upper_tail(z) >= tail);
    if share < 0.5 { beyond(share) } else { -beyond(1.0 - share) }
}

/// The sketch size in 1..=dim with the least variance of an inner product of rows with squared norms `a`, `b` and
/// inner product `g`: the least of `s2(A+B) + k s2² + c(AB + g²)`. `dim` itself means raw data for OPORP.
pub fn best_k(design: &Design, a: f64, b: f64, g: f64) -> u64 {
    minimise(design.dim, |k| design.sketch(k).inner_product_upper(a, b, g))
}

/// The sketch size in 1..=dim with the highest [`forecast_recall`].
pub fn best_k_for_recall(design: &Design, population: &Population, search: &Search) -> u64 {
    minimise(design.dim, |k| -forecast_recall(&design.sketch(k), population, search))
}

/// The least point of a function of 1..=dim with one valley: exact up to 64, within about 1/4096 beyond.
fn minimise(dim: u64, cost: impl Fn(u64) -> f64) -> u64 {
    let scan = |from: u64, to: u64, resolution: u64| {
        let next = |&k: &u64| (k < to).then(|| (k + (k / resolution).max(1)).min(to));
        let candidates = std::iter::successors(Some(from), next).map(|k| (k, cost(k)));
        candidates.reduce(|best, new| if new.1 < best.1 { new } else { best }).map_or(from, |(k, _)| k)
    };
    let coarse = scan(1, dim, 64);
    let width = coarse / 32 + 1;
    scan(coarse.saturating_sub(width).max(1), (coarse + width).min(dim), 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUSSIAN: Law = Law::Gaussian { delta: 1e-6 };

    fn mnist(law: Law, epsilon: f64) -> Design {
        Design::new(784, Projection::Oporp, law, epsilon, 1.0).unwrap()
    }

    #[test]
    #[allow(clippy::approx_constant)] // digits of a table
    fn the_table_of_standard_deviations() {
        for (epsilon, table) in [
            (0.1, [36.305, 14.142, 14.139]),
            (1.0, [4.2247, 1.4142, 1.3850]),
            (2.0, [2.2305, 0.70711, 0.65018]),
            (5.0, [0.98005, 0.28284, 0.17237]),
            (10.0, [0.54109, 0.14142, 0.029107]),
            (20.0, [0.30908, 0.070711, 0.0010111]),
        ] {
            for (law, expected) in [GAUSSIAN, Law::Laplace, Law::Staircase].into_iter().zip(table) {
                let (s2, m4) = law.moments(epsilon).unwrap();
                assert!((s2.sqrt() / expected - 1.0).abs() < 5e-5, "{law:?} {epsilon}");
                assert!(m4 >= s2 * s2);
            }
        }
    }

    #[test]
    fn pure_laws_win_at_every_epsilon_above_4e_minus_5() {
        for epsilon in [1e-4, 1e-2, 1.0, 50.0] {
            let [gaussian, laplace, stairs] =
                [GAUSSIAN, Law::Laplace, Law::Staircase].map(|law| law.moments(epsilon).unwrap().0);
            assert!(stairs <= laplace && laplace < gaussian, "{epsilon}");
        }
        assert!(GAUSSIAN.moments(2e-6).unwrap().0 < Law::Laplace.moments(2e-6).unwrap().0);
    }

    #[test]
    fn best_k_is_the_best_of_all() {
        for law in [Law::Staircase, Law::Laplace, GAUSSIAN] {
            for epsilon in [0.3, 1.0, 3.0, 10.0] {
                for projection in [Projection::Oporp, Projection::Dense] {
                    let Ok(design) = Design::new(784, projection, law, epsilon, 1.0) else { continue };
                    let cost = |k: u64| design.sketch(k).inner_product_upper(88.0, 88.0, 60.0);
                    let best = (1..=784).map(cost).fold(f64::INFINITY, f64::min);
                    assert!(cost(best_k(&design, 88.0, 88.0, 60.0)) <= best * (1.0 + 1e-12));
                }
            }
        }
    }

    #[test]
    fn best_k_grows_with_norm_and_epsilon_and_ends_raw() {
        let k = |epsilon, a: f64| best_k(&mnist(Law::Staircase, epsilon), a, a, 0.7 * a);
        assert!(k(1.0, 20.0) < k(1.0, 88.0) && k(1.0, 88.0) < k(2.0, 88.0));
        assert_eq!(k(20.0, 88.0), 784);
        let search = Search { rows: 60_000, top: 50, exact_query: false };
        let recall = |epsilon| best_k_for_recall(&mnist(Law::Staircase, epsilon), &Population::with_norm(9.4), &search);
        // MECHANISMS: k = 32 beats 256 at epsilon 1, 256 beats raw at 3 and 5, raw beats 256 at 10.
        assert!(recall(1.0) < 100 && recall(3.0) < 784 && recall(10.0) == 784);
    }

    #[test]
    fn best_k_is_quick_at_16_million_attributes() {
        let design = Design::new(1 << 24, Projection::Oporp, Law::Staircase, 12.0, 1.0).unwrap();
        let k = best_k(&design, 400.0, 400.0, 100.0) as f64;
        let (s2, _) = Law::Staircase.moments(12.0).unwrap();
        // Far below p, c is 1/k and the optimum is sqrt(AB + g²)/s2.
        assert!((k * s2 / (400.0f64 * 400.0 + 100.0 * 100.0).sqrt() - 1.0).abs() < 0.06, "{k}");
    }

    #[test]
    fn recall_follows_the_measured_tables() {
        let none = Sketch { k: 256.0, s2: 0.0, m4: 0.0, c: oporp_factor(784, 256), excess: -2.0 };
        let epsilons = [1.0, 2.0, 3.0, 5.0, 10.0, 20.0];
        #[rustfmt::skip]
        let tables: [(u64, u64, bool, Law, &[f64]); 10] = [
            (20_000, 784, false, GAUSSIAN, &[0.004, 0.005, 0.013, 0.041, 0.22, 0.47]),
            (20_000, 256, false, GAUSSIAN, &[0.003, 0.011, 0.028, 0.094, 0.315, 0.57]),
            (20_000, 256, false, Law::Laplace, &[0.032, 0.196, 0.396, 0.598, 0.749, 0.793]),
            (20_000, 256, false, Law::Staircase, &[0.028, 0.233, 0.477, 0.703, 0.804, 0.804]),
            (20_000, 256, true, Law::Staircase, &[0.164, 0.376, 0.558, 0.736, 0.801, 0.804]),
            (60_000, 256, false, GAUSSIAN, &[0.001, 0.004, 0.010, 0.055, 0.253]),
            (60_000, 256, false, Law::Laplace, &[0.015, 0.141, 0.311, 0.532, 0.718]),
            (60_000, 256, false, Law::Staircase, &[0.016, 0.176, 0.396, 0.666, 0.786]),
            (60_000, 256, true, Law::Staircase, &[0.107, 0.296, 0.484, 0.693, 0.786]),
            (60_000, 784, false, Law::Staircase, &[f64::NAN, f64::NAN, 0.279, 0.643, 0.948]),
        ];
        let population = Population::with_norm(9.41);
        let mut squares = Vec::new();
        for (rows, k, exact_query, law, measured) in tables {
            let search = Search { rows, top: 50, exact_query };
            for (&epsilon, &real) in epsilons.iter().zip(measured).filter(|(_, real)| !real.is_nan()) {
                let forecast = forecast_recall(&mnist(law, epsilon).sketch(k), &population, &search);
                assert!((forecast - real).abs() <= 0.10, "{law:?} {epsilon} {k} {rows}: {forecast} against {real}");
                squares.push((forecast - real).powi(2));
            }
        }
        assert!((squares.iter().sum::<f64>() / squares.len() as f64).sqrt() < 0.045);
        let search = Search { rows: 20_000, top: 50, exact_query: false };
        assert!((forecast_recall(&none, &population, &search) - 0.804).abs() < 0.03);
    }

    #[test]
    fn recall_has_its_limits() {
        let population = Population::with_norm(9.4);
        let search = Search { rows: 1000, top: 10, exact_query: false };
        let recall = |epsilon, k| forecast_recall(&mnist(Law::Staircase, epsilon).sketch(k), &population, &search);
        assert!((recall(1e-3, 64) - 0.01).abs() < 1e-3); // noise only: a random guess
        assert!(recall(60.0, 784) > 0.999); // raw and almost no noise
        let all = Search { top: 1000, ..search };
        assert_eq!(forecast_recall(&mnist(Law::Laplace, 1.0).sketch(64), &population, &all), 1.0);
        assert!(Design::new(8, Projection::Dense, Law::Staircase, 1.0, 1.0).unwrap_err().is_refusal());
        assert!((normal_quantile(0.025) - 1.959963984540054).abs() < 1e-12);
        assert!((normal_quantile(0.975) + 1.959963984540054).abs() < 1e-12);
    }
}
