//! Ridge regression on class labels, its penalty by generalised cross-validation (Golub, Heath and Wahba, 1979).
//!
//! One class against the rest, targets +1 and -1. The squared loss averages noise where the hinge of an SVM follows it: on
//! noisy sketches it is a few points better.

use super::{accuracy, classes_of, positives};
use crate::decode::eigen::eigen;
use crate::error::LibraryError;
use crate::recall::Features;
use rayon::prelude::*;

/// Most values per row: the spectrum of their covariance is computed.
pub const LARGEST: usize = 2048;

/// A fitted model.
#[derive(Debug, Clone)]
pub struct Ridge {
    classes: Vec<u32>,
    dim: usize,
    mean: Vec<f64>,
    planes: Vec<(Vec<f64>, f64)>, // weights and offset
    /// The penalty that was chosen.
    pub penalty: f64,
}

impl Ridge {
    /// Fits dense rows with their class labels; `None` where rows are sparse or longer than [`LARGEST`].
    pub fn fit(features: &Features, labels: &[u32]) -> Result<Option<Self>, LibraryError> {
        let classes = classes_of(features, labels)?;
        let (n, dim) = (features.len(), features.dim());
        let Some(values) = features.as_dense().filter(|_| dim <= LARGEST) else { return Ok(None) };
        let mut mean = vec![0.0; dim];
        values.chunks_exact(dim).for_each(|row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += f64::from(*x)));
        mean.iter_mut().for_each(|m| *m /= n as f64);
        let spectrum = eigen(&scatter(values, &mean), dim);
        let targets: Vec<Target> =
            positives(&classes).iter().map(|class| Target::new(values, labels, *class, &mean)).collect();
        // In the directions of the spectrum the classes come apart: z = V' X' y.
        let turned: Vec<Vec<f64>> = targets
            .iter()
            .map(|target| spectrum.vectors.chunks_exact(dim).map(|v| dot(v, &target.moment)).collect())
            .collect();
        let residual = |penalty: f64| -> f64 {
            let taken = |z: &[f64]| -> f64 {
                let each = z.iter().zip(&spectrum.values);
                each.map(|(z, d)| z * z * (d.max(0.0) + 2.0 * penalty) / (d.max(0.0) + penalty).powi(2)).sum()
            };
            targets.iter().zip(&turned).map(|(target, z)| target.energy - taken(z)).sum()
        };
        let freedom =
            |penalty: f64| 1.0 + spectrum.values.iter().map(|d| d.max(0.0) / (d.max(0.0) + penalty)).sum::<f64>();
        let score = |penalty: &f64| residual(*penalty) / (1.0 - freedom(*penalty) / n as f64).powi(2);
        let unit = spectrum.values.iter().sum::<f64>().max(f64::MIN_POSITIVE) / dim as f64;
        let grid = (-16..=16).map(|half| unit * 10f64.powf(f64::from(half) / 4.0));
        // Beyond n degrees of freedom the score says nothing.
        let penalty = grid
            .filter(|penalty| freedom(*penalty) < n as f64)
            .min_by(|a, b| score(a).total_cmp(&score(b)))
            .unwrap_or(unit * 1e4);
        let plane = |(target, z): (&Target, &Vec<f64>)| {
            let mut w = vec![0.0; dim];
            for (v, (z, d)) in spectrum.vectors.chunks_exact(dim).zip(z.iter().zip(&spectrum.values)) {
                let part = z / (d.max(0.0) + penalty);
                w.iter_mut().zip(v).for_each(|(w, v)| *w += part * v);
            }
            (w, target.mean)
        };
        let planes = targets.iter().zip(&turned).map(plane).collect();
        Ok(Some(Self { classes, dim, mean, planes, penalty }))
    }

    /// The class of each row.
    pub fn predict(&self, features: &Features) -> Vec<u32> {
        let values = features.as_dense().expect("rows like those it was fitted on");
        let one = |row: &[f32]| {
            let score = |(w, offset): &(Vec<f64>, f64)| -> f64 {
                let each = row.iter().zip(&self.mean).zip(w);
                offset + each.map(|((x, m), w)| (f64::from(*x) - m) * w).sum::<f64>()
            };
            let scores: Vec<f64> = self.planes.iter().map(score).collect();
            match scores[..] {
                [score] => self.classes[usize::from(score > 0.0)],
                _ => {
                    let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
                    self.classes[best.unwrap_or(0)]
                }
            }
        };
        values.par_chunks_exact(self.dim).map(one).collect()
    }
}

/// The test accuracy of a model; `None` where ridge is not fitted.
pub fn train_and_test(train: (&Features, &[u32]), test: (&Features, &[u32])) -> Result<Option<f64>, LibraryError> {
    Ok(Ridge::fit(train.0, train.1)?.map(|model| accuracy(&model.predict(test.0), test.1)))
}

/// What a class asks of a model.
struct Target {
    mean: f64,
    energy: f64,
    moment: Vec<f64>, // X' (y - mean), X centred
}

impl Target {
    fn new(values: &[f32], labels: &[u32], class: u32, mean: &[f64]) -> Self {
        let y = |label: &u32| if *label == class { 1.0 } else { -1.0 };
        let middle = labels.iter().map(y).sum::<f64>() / labels.len() as f64;
        let mut moment = vec![0.0; mean.len()];
        for (row, label) in values.chunks_exact(mean.len()).zip(labels) {
            let pull = y(label) - middle;
            moment.iter_mut().zip(row.iter().zip(mean)).for_each(|(out, (x, m))| *out += pull * (f64::from(*x) - m));
        }
        Self { mean: middle, energy: labels.len() as f64 * (1.0 - middle * middle), moment }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `X' X` of centred rows.
fn scatter(values: &[f32], mean: &[f64]) -> Vec<f64> {
    let dim = mean.len();
    let rows: Vec<Vec<f64>> =
        values.chunks_exact(dim).map(|row| row.iter().zip(mean).map(|(x, m)| f64::from(*x) - m).collect()).collect();
    let mut out = vec![0.0; dim * dim];
    out.par_chunks_mut(dim).enumerate().for_each(|(i, out)| {
        for row in &rows {
            let a = row[i];
            out.iter_mut().zip(row).for_each(|(out, b)| *out += a * b);
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recall::Fixed;

    /// Rows of three classes around their means in `dim` values, with noise.
    fn classes(n: usize, dim: usize, noise: f64, start: u64) -> (Features, Vec<u32>) {
        let mut random = Fixed::new(start);
        let labels: Vec<u32> = (0..n).map(|_| 5 + random.below(3) as u32).collect();
        let value = |label: u32, j: usize, noise: f64| f64::from(u8::from(j % 3 == label as usize - 5)) + noise;
        let mut values = Vec::new();
        for label in &labels {
            values.extend((0..dim).map(|j| value(*label, j, noise * random.normal()) as f32));
        }
        (Features::dense(values, dim), labels)
    }

    /// Noisy classes are distinguished, more noise asks for more penalty, and two classes have one plane.
    #[test]
    fn noisy_classes_are_told_apart() {
        let fitted = |noise: f64| {
            let ((train, labels), (test, truth)) = (classes(300, 60, noise, 1), classes(300, 60, noise, 2));
            let model = Ridge::fit(&train, &labels).unwrap().unwrap();
            (accuracy(&model.predict(&test), &truth), model.penalty)
        };
        let (clear, noisy) = (fitted(0.3), fitted(3.0));
        assert!(clear.0 > 0.99 && noisy.0 > 0.6, "{clear:?} {noisy:?}");
        let (train, labels) = classes(200, 9, 0.5, 3);
        let two: Vec<u32> = labels.iter().map(|label| (*label).min(6)).collect();
        assert!(train_and_test((&train, &two), (&train, &two)).unwrap().unwrap() > 0.9);
        assert!(Ridge::fit(&train, &[1; 200]).is_err());
    }

    /// The plane is that of the normal equations at the penalty that was chosen.
    #[test]
    fn the_plane_solves_the_normal_equations() {
        let (train, labels) = classes(80, 6, 1.0, 4);
        let two: Vec<u32> = labels.iter().map(|label| (*label).min(6)).collect();
        let model = Ridge::fit(&train, &two).unwrap().unwrap();
        let (w, offset) = &model.planes[0];
        let values = train.as_dense().unwrap();
        for j in 0..6 {
            let pull: f64 = values
                .chunks_exact(6)
                .zip(&two)
                .map(|(row, label)| {
                    let centred = |i: usize| f64::from(row[i]) - model.mean[i];
                    let guess = offset + (0..6).map(|i| w[i] * centred(i)).sum::<f64>();
                    centred(j) * (if *label == 6 { 1.0 } else { -1.0 } - guess)
                })
                .sum();
            assert!((pull - model.penalty * w[j]).abs() < 1e-6 * model.penalty.max(1.0), "{j} {pull}");
        }
    }
}
