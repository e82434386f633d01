//! Fitting: moments of the release, eigenvectors, how much of each eigenvalue is signal, and the conditions.

use super::eigen::eigen;
use super::scale::Scales;
use super::{DecodeError, Decoder, Fitted, Method, Refused, Way, moments};
use crate::estimate::value_noise;
use crate::release::{Encoding, Release};
use crate::search::Bounds;
use scumble_core::mechanism::{OutputKind, Perturbation};
use scumble_core::parallel;

/// Rows per coordinate below which decoding hurts.
pub(super) const ROWS_PER_COORDINATE: usize = 10;
/// Signal over noise below which it hurts: on MNIST 1.5% loses recall of exact queries and 8% gains half as much again.
pub(super) const LEAST_SIGNAL: f64 = 0.03;
/// A direction that varies by less than this share of the one that varies most does not vary: the sums are 32-bit.
const STILL: f64 = 1e-6;
/// The eigenvectors of more coordinates take minutes.
pub(super) const MOST_COORDINATES: usize = 2048;

/// Variance of the noise in one decoded coordinate.
pub(super) fn noise(release: &Release) -> Result<f64, Refused> {
    let mechanism = release.mechanism();
    let unknown = || Refused::Law(mechanism.id().to_string());
    match (mechanism.perturbation(), mechanism.id().output()) {
        (Perturbation::Noise { .. }, _) if release.encoder().encoding() == Encoding::B1 => Err(unknown()),
        (Perturbation::Noise { .. }, _) => Ok(value_noise(release).ok_or_else(unknown)?.variance),
        (Perturbation::Symbols { .. }, _) => Ok(mechanism.posterior().ok_or_else(unknown)?.spread),
        (Perturbation::Flips { .. }, OutputKind::Bits) => {
            // Bits are decoded as -1 and 1, not as their posterior means: the same up to a shift and a factor.
            let posterior = mechanism.posterior().ok_or_else(unknown)?;
            let gap = posterior.means[1] - posterior.means[0];
            Ok(4.0 * posterior.spread / (gap * gap))
        }
        (Perturbation::Flips { .. }, OutputKind::Values | OutputKind::Symbols | OutputKind::Words)
        | (Perturbation::NoisySign { .. } | Perturbation::Cap(_) | Perturbation::Individual { .. }, _) => {
            Err(unknown())
        }
    }
}

/// The variance of the signal behind an eigenvalue of the sample, in units of the noise: 0 up to the edge of pure noise.
pub(super) fn debiased(eigenvalue: f64, aspect: f64) -> f64 {
    if eigenvalue <= (1.0 + aspect.sqrt()).powi(2) {
        return 0.0;
    }
    let t = eigenvalue + 1.0 - aspect;
    0.5 * (t + (t * t - 4.0 * eigenvalue).max(0.0).sqrt()) - 1.0
}

impl Decoder {
    /// Fits a decoder on a release, or says why that would hurt.
    pub fn fit(release: &Release, method: Method) -> Result<Self, DecodeError> {
        let way = match method {
            Method::Bounds => {
                let id = || Refused::Unbounded(release.mechanism().id().to_string());
                let values = release.encoder().encoding() != Encoding::B1; // a bit of a noisy value is not a value
                Way::Bounds(Bounds::of(release.mechanism()).filter(|_| values).ok_or_else(id)?)
            }
            Method::Wiener => Way::Fitted(Box::new(parallel::run(|| Fitted::new(release, false))?)),
            Method::Scale => Way::Fitted(Box::new(parallel::run(|| Fitted::new(release, true))?)),
        };
        Ok(Self { k: release.k(), way })
    }
}

impl Fitted {
    /// `scaled`: each row has a scale of its own.
    fn new(release: &Release, scaled: bool) -> Result<Self, DecodeError> {
        let (rows, k) = (release.len(), release.k());
        let mut noise = noise(release)?;
        if k > MOST_COORDINATES {
            return Err(Refused::Wide { k }.into());
        }
        if rows < ROWS_PER_COORDINATE * k {
            return Err(Refused::FewRows { rows, k }.into());
        }
        let centre = if scaled { vec![0.0; k] } else { mean(release) }; // a scale moves the mean with the row
        let read = |row: usize, out: &mut [f32]| {
            release.encoder().decode(release.row(row), out);
            out.iter_mut().zip(&centre).for_each(|(x, centre)| *x -= centre);
        };
        let mut covariance = moments::products(rows, k, &read);
        covariance.iter_mut().for_each(|sum| *sum /= rows as f64);
        let found = eigen(&covariance, k);
        let aspect = k as f64 / rows as f64;
        if release.mechanism().id().output() != OutputKind::Values {
            // Their noise is known only from the public prior: it is not above what the weakest direction shows.
            let weakest = found.values.last().copied().unwrap_or(0.0).max(0.0);
            noise = noise.min(weakest / (1.0 - aspect.sqrt()).powi(2));
            let strongest = found.values.first().copied().unwrap_or(0.0);
            if noise <= STILL * strongest {
                return Err(Refused::Still.into());
            }
        }
        let signal: Vec<f64> = found.values.iter().map(|l| noise * debiased(l / noise, aspect)).collect();
        let share = signal.iter().sum::<f64>() / (k as f64 * noise);
        let signal: Vec<f64> = signal.into_iter().take_while(|c| *c > 0.0).collect();
        if share < LEAST_SIGNAL || !share.is_finite() || signal.is_empty() {
            return Err(Refused::Noise { share }.into());
        }
        let rank = signal.len();
        let basis: Vec<f32> = found.vectors[..rank * k].iter().map(|&x| x as f32).collect();
        let across = (0..k * rank).map(|at| basis[at % rank * k + at / rank]).collect();
        let scales = scaled.then(|| Scales::learn(&basis, &signal, noise, rows, &read));
        Ok(Self { k, centre, basis, across, signal, scales })
    }
}

fn mean(release: &Release) -> Vec<f32> {
    let rows = release.len();
    let read = |row: usize, out: &mut [f64]| {
        let mut values = vec![0.0; out.len()];
        release.encoder().decode(release.row(row), &mut values);
        out.iter_mut().zip(values).for_each(|(out, value)| *out = value.into());
    };
    moments::sums(rows, release.k(), &read).into_iter().map(|sum| (sum / rows as f64) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The map from a spike to its eigenvalue, `(1 + c)(1 + aspect/c)`, undone; nothing at the edge and below.
    #[test]
    fn spikes_come_back() {
        for aspect in [0.01, 0.1] {
            for c in [0.4, 1.0, 7.0, 300.0] {
                let eigenvalue = (1.0 + c) * (1.0 + aspect / c);
                assert!((debiased(eigenvalue, aspect) - c).abs() < 1e-9 * c, "{aspect} {c}");
            }
            assert_eq!(debiased((1.0 + f64::sqrt(aspect)).powi(2), aspect), 0.0);
            assert_eq!(debiased(0.5, aspect), 0.0);
        }
    }
}
