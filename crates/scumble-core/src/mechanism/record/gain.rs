//! How much of a record survives in released bits of unit `record`, and what may be estimated from them.
//!
//! Write `x` for the projected record (k coordinates), `x^ = x/|x|`, `y` in {-1,1}^k for the release and `q` for an
//! exact query under the same public projection. With probability `share` the release is a member of the record's cap,
//! else a uniform vertex that tells nothing; which of the two is not known. For a projection that spreads a record like
//! a random rotation, the mean of `y` can only point along `x`, and `|y|^2 = k` always, so that over rotation and cap
//! `E<y,q> = mean <x^,q>` and `Var<y,q> = along <x^,q>^2 + across (|q|^2 - <x^,q>^2)`, `across = (k - E<y,x^>^2)/(k-1)`.
//!
//! Identifiable: the ranking of records by `<y,q>`, always; `<x^,q>` on average; an interval for one pair only where
//! uniform vertices are rarer than the interval may miss. The norm of a record is not in the release, so `<x,q>` itself
//! is known only for records of known norm (unit vectors). Angles between two releases are not offered.

/// Moments of `<y,x^>` for a record that the projection spreads like a Gaussian vector. Public.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// How often the release is a member of the cap.
    pub share: f64,
    /// `E<y,x^>` within the cap: at most `sqrt(2k/pi)`, all that signs can keep.
    pub mean: f64,
    /// Variance of `<y,x^>` within the cap.
    pub along: f64,
    /// Variance of `<y,v>` within the cap for a unit vector v at right angles to x.
    pub across: f64,
    k: f64,
}

impl Gain {
    /// From the first two moments of `<y,x^>` within the cap.
    pub(crate) fn new(k: usize, share: f64, mean: f64, second: f64) -> Self {
        let k = k as f64;
        let across = if k > 1.0 { ((k - second) / (k - 1.0)).max(0.0) } else { 0.0 };
        Self { share, mean, along: (second - mean * mean).max(0.0), across, k }
    }

    /// `E<y,x^>` over all draws.
    pub(crate) fn overall(&self) -> f64 {
        self.share * self.mean
    }

    /// Unbiased estimate of `<x^,q>` from the score `<y,q>` and `|q|^2`, with its variance. For means over many records.
    pub fn inner_product(&self, score: f64, squared_norm: f64) -> (f64, f64) {
        let overall = self.overall();
        let value = score / overall;
        let aligned = (value * value).min(squared_norm);
        let along = self.share * (self.along + self.mean * self.mean) + (1.0 - self.share) - overall * overall;
        let across = self.share * self.across + 1.0 - self.share;
        let variance = (along * aligned + across * (squared_norm - aligned)) / (overall * overall);
        (value, variance + squared_norm / self.k) // the last term is the projection's own error, at most
    }

    /// An interval for `<x^,q>` of one record that misses with probability at most `miss`, or `None` where uniform
    /// vertices alone are that frequent: then the release gives a ranking but no value.
    pub fn interval(&self, score: f64, squared_norm: f64, miss: f64) -> Option<(f64, f64)> {
        // Every uniform vertex may miss; members of the cap have what is left.
        let left = (miss - (1.0 - self.share)) / self.share;
        if left <= 0.0 {
            return None;
        }
        let variance = squared_norm * (self.along.max(self.across) / (self.mean * self.mean) + 1.0 / self.k);
        let half = two_sided_quantile(left) * variance.sqrt();
        let value = score / self.mean; // not capped at |q|: the projection may have shortened the query
        Some((value - half, value + half))
    }
}

/// z with `P(|Z| > z) = tail`, by bisection: for a report, not for privacy.
pub fn two_sided_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if libm::erfc(middle * std::f64::consts::FRAC_1_SQRT_2) > tail { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use crate::mechanism::record::{privcube::Privcube, privcube::weights, signcap::Signcap};
    use crate::noise::SecretRng;

    #[test]
    fn quantiles_are_the_known_ones() {
        for (tail, z) in [(0.05, 1.959_963_984_540_054), (0.01, 2.575_829_303_548_901), (0.5, 0.674_489_750_196_081_7)]
        {
            assert!((two_sided_quantile(tail) - z).abs() < 1e-12);
        }
    }

    #[test]
    fn no_interval_where_uniform_vertices_are_frequent() {
        let gain = Privcube::new(64, &rational(5.0)).unwrap().gain();
        assert!(gain.share < 0.95 && gain.interval(1.0, 1.0, 0.05).is_none());
    }

    /// A vector that a rotation could give: sums of twelve uniforms are Gaussian enough.
    fn gaussian(k: usize, rng: &mut SecretRng) -> Vec<i64> {
        (0..k).map(|_| (0..12).map(|_| i64::from(rng.below_u32(1 << 16))).sum::<i64>() - 6 * (1 << 16)).collect()
    }

    /// Mean error over mean truth, the same in standard errors, and how often the 95% interval holds the truth.
    fn errors(gain: Gain, k: usize, n: u32, mut release: impl FnMut(&[i64], &mut [u8])) -> (f64, f64, Option<f64>) {
        let mut rng = SecretRng::for_tests(7);
        let (mut error, mut truths, mut variances, mut inside) = (0.0, 0.0, 0.0, Some(0));
        for _ in 0..n {
            let (x, other) = (gaussian(k, &mut rng), gaussian(k, &mut rng));
            let q: Vec<f64> = x.iter().zip(&other).map(|(&x, &o)| (x + o) as f64).collect();
            let norm = x.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt();
            let truth = x.iter().zip(&q).map(|(&x, q)| x as f64 * q).sum::<f64>() / norm;
            let mut out = vec![0; k / 8];
            release(&x, &mut out);
            let sign = |i: usize| if out[i / 8] >> (7 - i % 8) & 1 == 1 { 1.0 } else { -1.0 };
            let (score, square) = ((0..k).map(|i| sign(i) * q[i]).sum(), q.iter().map(|q| q * q).sum());
            let (value, variance) = gain.inner_product(score, square);
            error += value - truth;
            truths += truth;
            variances += variance;
            let interval = gain.interval(score, square, 0.05);
            inside = inside.zip(interval).map(|(n, (low, high))| n + u32::from(low <= truth && truth <= high));
        }
        (error / truths, error / variances.sqrt(), inside.map(|held| f64::from(held) / f64::from(n)))
    }

    #[test]
    fn estimates_have_their_stated_errors() {
        let (k, n) = (64, 3000);
        for (epsilon, has_interval) in [(8.0, false), (24.0, true)] {
            let (cube, cap) =
                (Privcube::new(k, &rational(epsilon)).unwrap(), Signcap::new(k, &rational(epsilon)).unwrap());
            let (mut noise, mut w) = (SecretRng::for_tests(9), vec![0; k]);
            let by_cube = errors(cube.gain(), k, n, |x, out| {
                weights(x, &mut w);
                cube.release(&w, out, &mut noise);
            });
            let by_cap = errors(cap.gain(), k, n, |x, out| cap.release(x, out, &mut noise));
            for (relative, standard, coverage) in [by_cube, by_cap] {
                // The typical record stands for all, which costs up to 2%; noise 5 standard errors on top.
                assert!(relative.abs() < 0.02 || standard.abs() < 5.0, "{epsilon} {relative} {standard}");
                assert!(relative.abs() < 0.06, "{epsilon} {relative}");
                assert_eq!(coverage.is_some(), has_interval, "{epsilon}");
                // 95% less 5 standard deviations of 3000 trials.
                assert!(coverage.is_none_or(|held| held > 0.93), "{epsilon} {coverage:?}");
            }
        }
    }
}
