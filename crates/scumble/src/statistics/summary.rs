//! One pass over the rows for means and counts, one for covariances: estimates with their variances, before any interval.
//!
//! A figure is a mean of one number per row. For the population its variance is that of the numbers over n; for the rows
//! themselves it is the mean of what the noise alone adds, which the noise's moments and the debiased figures give.

use super::reading::{self, Classes, Values};
use super::{Options, Target};
use crate::decode::moments;
use crate::error::StatisticsError;
use crate::release::{Encoding, Release};
use crate::search::{ExactQueries, dot};
use rayon::prelude::*;

/// An estimate, before any interval.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Number {
    pub value: f64,
    pub variance: f64,
    /// The most that the false reports move it.
    pub moved: f64,
    /// The most that the rounding of released values to single floats moves it.
    pub rounding: f64,
}

impl Number {
    fn minus(self, other: Self) -> Self {
        Self {
            value: self.value - other.value,
            variance: self.variance + other.variance,
            moved: self.moved.max(other.moved),
            rounding: self.rounding + other.rounding,
        }
    }
}

/// Estimates of one kind, or why there are none.
pub(super) type Numbers = Result<Vec<Number>, String>;

/// All estimates of one release, or of the difference of two.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    /// A number per coordinate.
    pub mean: Numbers,
    /// One number.
    pub sketch_squared_norm: Numbers,
    /// A number per pair `a <= b`, in [`pairs`]' order; `a < b` for signs.
    pub covariance: Numbers,
    /// The same for the second moments.
    pub second: Numbers,
    /// True if the covariance is that of signs.
    pub signs: bool,
    /// A number per coordinate and class; for bits the plus side alone.
    pub share: Numbers,
    /// Classes told per coordinate.
    pub classes: usize,
    /// A number per centroid.
    pub centroid: Option<Vec<Number>>,
}

/// Coordinates beyond which all pairs are too many.
const MOST_PAIRED: usize = 2048;

/// All pairs of coordinates, with themselves or without.
pub(super) fn pairs(k: usize, signs: bool) -> impl Iterator<Item = (usize, usize)> {
    (0..k).flat_map(move |a| (a + usize::from(signs)..k).map(move |b| (a, b)))
}

impl Summary {
    pub(super) fn of(release: &Release, options: &Options<'_>) -> Result<Self, StatisticsError> {
        let n = release.len() as f64;
        if release.len() < 2 {
            return Err(StatisticsError::FewRows);
        }
        let share_false = options.false_reports.unwrap_or(0) as f64 / n;
        if share_false > 1.0 {
            return Err(StatisticsError::FalseReports);
        }
        let pass = Pass { release, target: options.target, share_false };
        let values = reading::values(release);
        let of_values = values.as_ref().map_err(Clone::clone).map(|values| pass.values(*values));
        let [mean, sketch_squared_norm, covariance, second] = match of_values {
            Ok(found) => found,
            Err(why) => std::array::from_fn(|_| Err(why.clone())),
        };
        let classes = reading::classes(release);
        let told =
            classes.as_ref().map_or(1, |classes| if classes.scores.len() == 2 { 1 } else { classes.scores.len() });
        let share = classes.map(|classes| pass.shares(&classes));
        let centroid = options.centroids.map(|centroids| pass.nearest(centroids)).transpose()?;
        let signs = values.is_ok_and(|values| values.signs);
        Ok(Self { mean, sketch_squared_norm, covariance, second, signs, share, classes: told, centroid })
    }

    pub(super) fn minus(self, other: Self) -> Self {
        let minus = |a: Numbers, b: Numbers| {
            let (a, b) = (a?, b?);
            Ok(a.into_iter().zip(b).map(|(a, b)| a.minus(b)).collect())
        };
        Self {
            mean: minus(self.mean, other.mean),
            sketch_squared_norm: minus(self.sketch_squared_norm, other.sketch_squared_norm),
            covariance: minus(self.covariance, other.covariance),
            second: minus(self.second, other.second),
            share: minus(self.share, other.share),
            centroid: self
                .centroid
                .zip(other.centroid)
                .map(|(a, b)| a.into_iter().zip(b).map(|(a, b)| a.minus(b)).collect()),
            ..self
        }
    }
}

/// A row in 64 bits.
fn widened(read: &impl Fn(usize, &mut [f32]), row: usize, out: &mut [f64]) {
    let mut values = vec![0.0; out.len()];
    read(row, &mut values);
    out.iter_mut().zip(values).for_each(|(out, value)| *out = value.into());
}

struct Pass<'a> {
    release: &'a Release,
    target: Target,
    share_false: f64,
}

impl Pass<'_> {
    fn n(&self) -> f64 {
        self.release.len() as f64
    }

    /// Means, squared norm, covariance, second moments.
    fn values(&self, values: Values) -> [Numbers; 4] {
        let (release, k, n) = (self.release, self.release.k(), self.n());
        let factor = values.factor as f32;
        let read = |row: usize, out: &mut [f32]| {
            release.encoder().decode(release.row(row), out);
            out.iter_mut().for_each(|x| *x *= factor);
        };
        let totals = moments::sums(release.len(), k, &|row: usize, out: &mut [f64]| widened(&read, row, out));
        let mean: Vec<f64> = totals.iter().map(|total| total / n).collect();
        let centre: Vec<f32> = mean.iter().map(|&mean| mean as f32).collect();
        let centred = |row: usize, out: &mut [f32]| {
            read(row, out);
            out.iter_mut().zip(&centre).for_each(|(x, centre)| *x -= centre);
        };
        let norms = self.squared_norm(values, &read);
        if k > MOST_PAIRED {
            let why = format!("{k} coordinates have too many pairs: at most {MOST_PAIRED} are compared");
            let squares = moments::sums(release.len(), k, &|row: usize, out: &mut [f64]| {
                widened(&centred, row, out);
                out.iter_mut().for_each(|x| *x *= *x);
            });
            let variance: Vec<f64> = squares.iter().map(|sum| sum / (n - 1.0)).collect();
            return [Ok(self.means(values, &mean, &variance)), norms, Err(why.clone()), Err(why)];
        }
        let products = moments::products(release.len(), k, &centred);
        let fourth = match self.target {
            Target::Rows => Vec::new(),
            Target::Population => moments::products(release.len(), k, &|row: usize, out: &mut [f32]| {
                centred(row, out);
                out.iter_mut().for_each(|x| *x *= *x);
            }),
        };
        let variance: Vec<f64> = (0..k).map(|j| products[j * k + j] / (n - 1.0)).collect();
        let means = self.means(values, &mean, &variance);
        let s2 = values.noise.variance;
        let entry = |(a, b): (usize, usize)| {
            let product = products[a * k + b];
            let noisy = product / (n - 1.0);
            let value = noisy - if a == b { s2 } else { 0.0 };
            let noise = match a == b {
                true => 4.0 * s2 * value.max(0.0) + values.noise.fourth - s2 * s2,
                false => (s2 * (variance[a] + variance[b] - 2.0 * s2)).max(0.0) + s2 * s2,
            };
            let [of_a, of_b] = [a, b].map(|j| (variance[j] - s2).max(0.0));
            let signal = of_a * of_b / ((of_a + s2) * (of_b + s2));
            let normal = of_a * of_b + value * value;
            let per_row = self.products(noise, normal, signal, || fourth[a * k + b] / n - (product / n).powi(2));
            let moved = self.covariance_moved(values, mean[a], mean[b]);
            Number { value, variance: per_row / n, moved, rounding: 0.0 }
        };
        let covariance: Vec<Number> = pairs(k, values.signs).map(entry).collect();
        let second = pairs(k, values.signs).zip(&covariance).map(|((a, b), number)| Number {
            value: number.value + mean[a] * mean[b],
            variance: number.variance
                + mean[a].powi(2) * means[b].variance
                + mean[b].powi(2) * means[a].variance
                + 2.0 * mean[a] * mean[b] * number.value / n,
            moved: 0.0,
            rounding: 0.0,
        });
        let second = second.collect();
        [Ok(means), norms, Ok(covariance), Ok(second)]
    }

    fn means(&self, values: Values, mean: &[f64], variance: &[f64]) -> Vec<Number> {
        let per_row = |variance: f64| self.at_least(values.noise.variance, || variance);
        let moved = self.moved(2.0 * values.largest);
        mean.iter()
            .zip(variance)
            .map(|(&value, &variance)| Number {
                value,
                variance: per_row(variance) / self.n(),
                moved,
                rounding: self.rounding() * (value * value + variance).sqrt(),
            })
            .collect()
    }

    /// `|y|^2 - k s2`, on average.
    fn squared_norm(&self, values: Values, read: &(impl Fn(usize, &mut [f32]) + Sync)) -> Numbers {
        if values.signs {
            return Err("signs have no length: every row of k signs has the squared length k".into());
        }
        let (k, n, s2) = (self.release.k() as f64, self.n(), values.noise.variance);
        let lengths = |row: usize, out: &mut [f64]| {
            let mut x = vec![0.0; self.release.k()];
            read(row, &mut x);
            let length = x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() - k * s2;
            (out[0], out[1]) = (length, length * length);
        };
        let sums = moments::sums(self.release.len(), 2, &lengths);
        let value = sums[0] / n;
        let noise = 4.0 * s2 * value.max(0.0) + k * (values.noise.fourth - s2 * s2);
        let length = value.max(0.0);
        let (normal, signal) = (2.0 * length * length / k, (length / (length + k * s2)).powi(2));
        let sample = || (sums[1] / n - value * value) * n / (n - 1.0);
        // Lengths of a population can vary far more than those of a normal law: then the sample is taken at its word.
        let per_row = self.at_least(self.products(noise, normal, signal, sample), sample);
        let (moved, rounding) = (self.moved(k * values.largest.powi(2)), 2.0 * self.rounding() * (value + k * s2));
        Ok(vec![Number { value, variance: per_row / n, moved, rounding }])
    }

    /// The most that rounding moves a released value, as a share of it: half a unit in the last place of a single
    /// float. Equal rows are all rounded alike, so more rows do not average it away. Rounding to codes is in the noise.
    fn rounding(&self) -> f64 {
        if self.release.encoder().encoding() == Encoding::F32 { 0.5 * f64::from(f32::EPSILON) } else { 0.0 }
    }

    /// The variance of one row's number: what noise alone gives, or what the sample shows, which is never less.
    fn at_least(&self, noise: f64, sample: impl Fn() -> f64) -> f64 {
        match self.target {
            Target::Population => sample().max(noise),
            Target::Rows => noise,
        }
    }

    /// The same for products: beyond the noise's part, what the sample shows as far as it is `signal`, for noise makes its
    /// fourth moments useless, and what a `normal` signal would have as far as it is not.
    fn products(&self, noise: f64, normal: f64, signal: f64, sample: impl Fn() -> f64) -> f64 {
        match self.target {
            Target::Population => noise + signal * (sample() - noise).max(0.0) + (1.0 - signal) * normal,
            Target::Rows => noise,
        }
    }

    /// The most that a mean of numbers with this span moves.
    fn moved(&self, span: f64) -> f64 {
        if self.share_false == 0.0 { 0.0 } else { self.share_false * span }
    }

    /// With values within h of 0 and a share f replaced: `E ab` moves by at most 2fh², `E a` by at most 2fh.
    fn covariance_moved(&self, values: Values, a: f64, b: f64) -> f64 {
        let (f, h) = (self.share_false, values.largest);
        if f == 0.0 { 0.0 } else { 2.0 * f * h * h + 2.0 * f * h * (a.abs() + b.abs() + 2.0 * f * h) }
    }

    /// Shares of each class, coordinate by coordinate.
    fn shares(&self, classes: &Classes) -> Vec<Number> {
        let (release, k, symbols) = (self.release, self.release.k(), classes.scores.len());
        let count = |mut counts: Vec<u64>, row: usize| {
            let mut codes = vec![0; k];
            release.encoder().codes(release.row(row), &mut codes);
            codes.iter().enumerate().for_each(|(j, &code)| counts[j * symbols + (code as usize).min(symbols - 1)] += 1);
            counts
        };
        let none = || vec![0u64; k * symbols];
        let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let counts = (0..release.len()).into_par_iter().with_min_len(1 << 12).fold(none, count).reduce(none, add);
        let first = if symbols == 2 { 1 } else { 0 }; // of two classes one tells all
        counts
            .chunks_exact(symbols)
            .flat_map(|counts| classes.scores[first..].iter().map(|scores| self.share(classes, scores, counts)))
            .collect()
    }

    fn share(&self, classes: &Classes, scores: &[f64], counts: &[u64]) -> Number {
        let n = self.n();
        let mean = |power: i32| scores.iter().zip(counts).map(|(s, &c)| s.powi(power) * c as f64).sum::<f64>() / n;
        let value = mean(1);
        // Of a row, E[score] is 1 or 0, its own square; a zero counts half, and then the population's variance is safe.
        let explained = if self.target == Target::Rows && !classes.halves { value } else { value * value };
        let span = scores.iter().fold(f64::MIN, |a, &b| a.max(b)) - scores.iter().fold(f64::MAX, |a, &b| a.min(b));
        Number { value, variance: (mean(2) - explained).max(0.0) / n, moved: self.moved(span), rounding: 0.0 }
    }

    /// Shares of the released rows by the nearest centroid.
    fn nearest(&self, centroids: &ExactQueries) -> Result<Vec<Number>, StatisticsError> {
        let (release, n) = (self.release, self.n());
        if centroids.is_empty() || centroids.row(0).len() != release.k() {
            return Err(StatisticsError::Centroids);
        }
        let points: Vec<&[f32]> = (0..centroids.len()).map(|c| centroids.row(c)).collect();
        // Values by distance; bits and symbols have no length to compare, so by angle.
        let by_distance = match release.encoder().encoding() {
            Encoding::F32 | Encoding::I16 | Encoding::B8 | Encoding::B4 => true,
            Encoding::B1 | Encoding::Symbols { .. } | Encoding::Word { .. } => false,
        };
        let sizes: Vec<f32> = points.iter().map(|point| dot(point, point)).collect();
        let score = |row: &[f32], c: usize| match by_distance {
            true => dot(row, points[c]) - 0.5 * sizes[c],
            false => dot(row, points[c]) / sizes[c].sqrt().max(f32::MIN_POSITIVE),
        };
        let count = |mut counts: Vec<u64>, row: usize| {
            let row = release.values(row);
            let scores: Vec<f32> = (0..points.len()).map(|c| score(&row, c)).collect();
            let best = (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
            counts[best.expect("a centroid")] += 1;
            counts
        };
        let none = || vec![0u64; points.len()];
        let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(b).map(|(a, b)| a + b).collect();
        let counts = (0..release.len()).into_par_iter().with_min_len(1 << 10).fold(none, count).reduce(none, add);
        // Two more of each kind keep the interval honest near 0 and 1 (Agresti and Coull).
        let near = |count: f64| (count + 2.0) / (n + 4.0);
        let number = |&count: &u64| {
            let count = count as f64;
            let variance = near(count) * (1.0 - near(count)) / (n + 4.0);
            Number { value: count / n, variance, moved: self.share_false, rounding: 0.0 }
        };
        Ok(counts.iter().map(number).collect())
    }
}
