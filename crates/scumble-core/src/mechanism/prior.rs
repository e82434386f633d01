//! A public guess of how the bins of OPORP are distributed. It decides utility only, never privacy.
//!
//! A share `z = (1 - density)^(p/bins)` of bins is empty; the rest have mean 0, deviation `s = norm/sqrt(bins (1 - z))`
//! (for a public partition that of its sample) and are Gaussian if over one attribute in twenty is set, else Laplace.

use super::Parameters;
use crate::projection::Partition;
use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// See the module's documentation. Values are in data units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Share of bins that are exactly 0.
    pub empty: f64,
    /// Deviation of the others.
    pub scale: f64,
    /// Gaussian shape, or Laplace.
    pub gaussian: bool,
}

impl Prior {
    /// The prior of one bin, from the norm and the density that the parameters name or imply.
    pub fn new(parameters: &Parameters) -> Self {
        let density = parameters.density.unwrap_or(1.0).clamp(1e-12, 1.0);
        let bins = (parameters.k / parameters.repeats) as f64;
        let empty = libm::exp(libm::log1p(-density) * (parameters.dim as f64 / bins)).min(1.0 - 1e-9);
        let guess = || parameters.norm_guess().powi(2) * parameters.coherence() / bins;
        let energy = parameters.bins.as_ref().and_then(Partition::energy).unwrap_or_else(guess);
        let scale = (energy / (1.0 - empty)).sqrt();
        Self { empty, scale, gaussian: density > 0.05 }
    }

    /// E[x^2].
    pub fn variance(&self) -> f64 {
        (1.0 - self.empty) * self.scale * self.scale
    }

    /// Probability and first moment of x <= at, among the bins that are not empty.
    fn below(&self, at: f64) -> (f64, f64) {
        if self.gaussian {
            let t = at / self.scale;
            let density = libm::exp(-0.5 * t * t) / (2.0 * PI).sqrt();
            return (0.5 * libm::erfc(-t * FRAC_1_SQRT_2), -self.scale * density);
        }
        let width = self.scale / SQRT_2;
        let half = 0.5 * libm::exp(-at.abs() / width);
        (if at < 0.0 { half } else { 1.0 - half }, -(at.abs() + width) * half)
    }

    /// Probability and first moment of every class between ascending borders.
    pub fn classes(&self, borders: &[f64]) -> Vec<(f64, f64)> {
        let mut before = (0.0, 0.0);
        let ends = borders.iter().map(|&border| self.below(border)).chain([(1.0, 0.0)]);
        let filled = 1.0 - self.empty;
        let mut classes: Vec<_> = ends
            .map(|end| {
                let class = (filled * (end.0 - before.0), filled * (end.1 - before.1));
                before = end;
                class
            })
            .collect();
        let zero = borders.iter().filter(|&&border| border < 0.0).count();
        classes[zero].0 += self.empty;
        classes
    }

    /// The value below which this share of the non-empty bins is found, |share - 1/2| < 1/2, by bisection.
    pub fn quantile(&self, share: f64) -> f64 {
        let (mut low, mut high) = (-20.0 * self.scale, 20.0 * self.scale);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.below(middle).0 < share { low = middle } else { high = middle }
        }
        high
    }
}

/// What a table of symbol laws makes of a prior.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    /// The mean of x given each symbol: the symbol's value.
    pub means: Vec<f64>,
    /// Squared correlation of x and the symbol's value: the share of the bin's energy that survives.
    pub kept: f64,
    /// Mean variance of the symbol's value given x: the noise in it.
    pub spread: f64,
}

impl Posterior {
    /// `law[class][symbol]`, in any unit that is the same for all rows; classes as from [`Prior::classes`].
    pub fn new(prior: &Prior, classes: &[(f64, f64)], law: &[Vec<f64>]) -> Self {
        let symbols = law.first().map_or(0, Vec::len);
        let column = |y: usize| {
            classes
                .iter()
                .zip(law)
                .fold((0.0, 0.0), |(p, m), ((mass, moment), row)| (p + mass * row[y], m + moment * row[y]))
        };
        let total: f64 = law.first().map_or(1.0, |row| row.iter().sum());
        let columns: Vec<(f64, f64)> = (0..symbols).map(column).collect();
        let means: Vec<f64> = columns.iter().map(|(p, m)| if *p > 0.0 { m / p } else { 0.0 }).collect();
        let energy: f64 = columns.iter().zip(&means).map(|((_, m), mean)| m * mean).sum();
        let given = |((mass, _), row): (&(f64, f64), &Vec<f64>)| {
            let mean = |power: i32| row.iter().zip(&means).map(|(p, m)| p / total * m.powi(power)).sum::<f64>();
            mass * (mean(2) - mean(1).powi(2))
        };
        let spread = classes.iter().zip(law).map(given).sum();
        Self { kept: energy / total / prior.variance(), spread, means }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prior(gaussian: bool) -> Prior {
        Prior { empty: 0.3, scale: 2.0, gaussian }
    }

    #[test]
    fn classes_are_a_law_with_the_stated_moments() {
        for prior in [prior(true), prior(false)] {
            let borders: Vec<f64> = (-4000..4000).map(|i| (f64::from(i) + 0.5) * 0.01).collect();
            let classes = prior.classes(&borders);
            assert!((classes.iter().map(|c| c.0).sum::<f64>() - 1.0).abs() < 1e-12);
            let second: f64 = classes.iter().enumerate().map(|(i, c)| c.1 * (i as f64 - 4000.0) * 0.01).sum();
            assert!((second - prior.variance()).abs() < 1e-3, "{second}");
            assert!(classes[4000].0 > 0.3);
            assert!((prior.below(prior.quantile(0.9)).0 - 0.9).abs() < 1e-12);
        }
    }

    #[test]
    fn without_noise_everything_is_kept_and_with_pure_noise_nothing() {
        let prior = prior(true);
        let borders: Vec<f64> = (-400..400).map(|i| (f64::from(i) + 0.5) * 0.05).collect();
        let classes = prior.classes(&borders);
        let n = classes.len();
        let exact: Vec<Vec<f64>> = (0..n).map(|c| (0..n).map(|y| f64::from(u8::from(c == y))).collect()).collect();
        assert!((Posterior::new(&prior, &classes, &exact).kept - 1.0).abs() < 1e-3);
        let noise = vec![vec![0.25; 4]; n];
        let posterior = Posterior::new(&prior, &classes, &noise);
        assert!(posterior.kept.abs() < 1e-12 && posterior.means.iter().all(|m| m.abs() < 1e-12));
    }
}
