//! What to expect of a mechanism before any budget is spent.
//!
//! Every released coordinate `y` is treated as a noisy linear reading of its projected value `x`: what matters for a
//! ranking is the correlation `rho` of the two over rows, and a reading with correlation rho is worth `x` plus noise of
//! variance `v (1/rho^2 - 1)`, v the variance of x. Noise, flips, symbols, clips and encodings thus go through one formula.
//! The recall then follows from two normal scores, the true one and the noisy one, and how often both are in the top.

use super::typical::Typical;
use crate::estimate::variance::Sketch;
use crate::release::{Encoder, Encoding};
use scumble_core::error::DataError;
use scumble_core::mechanism::{Mechanism, MechanismId, Perturbation, Side};
use scumble_core::noise::SecretRng;
use scumble_core::vectors::QuantisedRow;
use serde::Serialize;

/// Recall is forecast for the true top 50 ...
pub const TOP: f64 = 50.0;
/// ... of this many rows.
pub const ROWS: f64 = 20_000.0;

/// Public numbers about one choice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// The mechanism.
    pub mechanism: MechanismId,
    /// Size of the sketch.
    pub k: usize,
    /// Repetitions of OPORP.
    pub repeats: usize,
    /// Public clip of the sketch, if any.
    pub sketch_clip: Option<f64>,
    /// How a row is written.
    pub encoding: String,
    /// Bytes that a row takes.
    pub bytes_per_row: usize,
    /// Standard deviation of the noise on one released value; `None` for bits and symbols.
    pub noise_deviation: Option<f64>,
    /// Typical deviation of a projected value before the noise.
    pub signal_deviation: f64,
    /// Flip probabilities; `None` for values.
    pub flips: Option<Flips>,
    /// Correlation of a released coordinate with the projected value.
    pub correlation: f64,
    /// Standard errors of the estimators for two typical rows; `None` where the release cannot tell.
    pub standard_errors: StandardErrors,
    /// What candidates are ranked by: the recall that rows drawn from the assumed law would have. Real rows differ from
    /// it, so this is never shown as a forecast for them; [`Measured`](super::Measured) is.
    #[serde(skip)]
    pub(crate) recall: Recall,
}

/// How often a bit is flipped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Flips {
    /// Next to the border, the most that a bit with a sign is flipped.
    pub at_the_border: f64,
    /// Mean over typical rows.
    pub mean: f64,
}

/// Standard errors for two rows of the typical norm and cosine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Default)]
pub struct StandardErrors {
    /// Of `u.v`.
    pub inner_product: Option<f64>,
    /// Of `|u|^2`.
    pub squared_norm: Option<f64>,
    /// Of `|u-v|^2`.
    pub squared_distance: Option<f64>,
    /// Of the cosine.
    pub cosine: Option<f64>,
    /// Of the angle, in radians.
    pub angle: Option<f64>,
}

/// Forecast shares of the true neighbours that are found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Recall {
    /// Rows and queries released.
    pub private: f64,
    /// Rows released, the searcher's own query exact.
    pub exact_query: f64,
    /// The same sketch without any privacy.
    pub without_privacy: f64,
}

impl Forecast {
    /// The forecast for rows like the typical ones.
    pub(super) fn new(mechanism: &Mechanism, encoder: &Encoder, typical: &Typical) -> Result<Self, DataError> {
        let channel = Channel::measure(mechanism, encoder, typical)?;
        let k = mechanism.k() as f64;
        let norm2 = k * channel.variance; // |u|^2 as the sketch sees it
        let law = |s2: f64, m4: f64| Sketch {
            k,
            s2,
            m4,
            c: mechanism.projection().variance_factor(),
            excess: mechanism.projection().fourth_moment() - 3.0,
        };
        let (cosine, spread) = typical.cosine;
        let share = |variance: f64| both_in_the_top(TOP / ROWS, spread / (spread * spread + variance).sqrt());
        let error = |sketch: Sketch, exact: bool| {
            let g = cosine * norm2;
            let variance = match exact {
                true => sketch.inner_product_exact_query(norm2, norm2, g, 0.0),
                false => sketch.inner_product(norm2, norm2, g, 0.0),
            };
            let uneven = if sketch.s2 > 0.0 { cosine * cosine * channel.uneven } else { 0.0 };
            variance / norm2.powi(2).max(f64::MIN_POSITIVE) + uneven
        };
        // Collisions are linear in a row: what all rows share moves every score alike and ranks nothing.
        let ranking = |s2: f64| Sketch { c: mechanism.projection().variance_factor() * (1.0 - cosine), ..law(s2, 0.0) };
        let worth = ranking(channel.noise_worth);
        let recall = Recall {
            private: share(error(worth, false)),
            exact_query: share(error(worth, true)),
            without_privacy: share(error(ranking(0.0), false)),
        };
        let noise = mechanism.noise_moments();
        let standard_errors = match noise {
            Some(noise) if unbiased(mechanism, encoder) => {
                let rounding = encoder.rounding_variance();
                let (s2, m4) = (noise.variance + rounding, noise.fourth + 6.0 * noise.variance * rounding);
                of_values(law(s2, m4), norm2, cosine)
            }
            _ => of_bits(mechanism, cosine),
        };
        let parameters = mechanism.parameters();
        Ok(Self {
            mechanism: mechanism.id(),
            k: mechanism.k(),
            repeats: parameters.repeats,
            sketch_clip: parameters.sketch_clip,
            encoding: encoder.encoding().to_string(),
            bytes_per_row: encoder.bytes_per_row(),
            noise_deviation: noise.map(|noise| noise.variance.sqrt()),
            signal_deviation: channel.variance.sqrt(),
            flips: channel.flips,
            correlation: channel.correlation,
            standard_errors,
            recall,
        })
    }

    /// Share of the recall of the same sketch without privacy that is kept.
    pub fn kept(&self) -> f64 {
        self.recall.private / self.recall.without_privacy.max(f64::MIN_POSITIVE)
    }
}

/// True when values estimate without bias: not clipped, not reduced to a sign.
fn unbiased(mechanism: &Mechanism, encoder: &Encoder) -> bool {
    let clipped = match mechanism.perturbation() {
        Perturbation::Noise { clip, radius, .. } => clip.is_some() || radius.is_some(),
        Perturbation::NoisySign { .. }
        | Perturbation::Flips { .. }
        | Perturbation::Cap(_)
        | Perturbation::Symbols { .. }
        | Perturbation::Individual { .. } => false,
    };
    !clipped && encoder.encoding() != Encoding::B1
}

fn of_values(sketch: Sketch, a: f64, cosine: f64) -> StandardErrors {
    let g = cosine * a;
    let inner = sketch.inner_product_upper(a, a, g);
    let norm = sketch.squared_norm_upper(a);
    // Delta method with equal norms: d cos = (dg - cosine (dA + dB)/2) / A; covariances 2 (s2 + c A) g and 2 c g^2.
    let covariance = 2.0 * (sketch.s2 + sketch.c * a) * g;
    let both = 2.0 * sketch.c * g * g;
    let cosine_variance =
        (inner + cosine * cosine * (norm + both) / 2.0 - 2.0 * cosine * covariance) / (a * a).max(f64::MIN_POSITIVE);
    let deviation = cosine_variance.max(0.0).sqrt();
    StandardErrors {
        inner_product: Some(inner.sqrt()),
        squared_norm: Some(norm.sqrt()),
        squared_distance: Some(sketch.squared_distance_upper(2.0 * a * (1.0 - cosine)).sqrt()),
        cosine: Some(deviation),
        angle: Some(deviation / (1.0 - cosine * cosine).max(1e-12).sqrt()),
    }
}

/// Randomized response on signs of a Gaussian projection reveals the angle; other bits reveal none of these.
fn of_bits(mechanism: &Mechanism, cosine: f64) -> StandardErrors {
    let Perturbation::Flips { table, .. } = mechanism.perturbation() else { return StandardErrors::default() };
    if mechanism.id() != MechanismId::DpSignrpRr {
        return StandardErrors::default();
    }
    let keep = (1.0 - 2.0 * probability(table.threshold(1))).powi(2);
    let agree = 0.5 + (0.5 - cosine.acos() / std::f64::consts::PI) * keep;
    let variance = agree * (1.0 - agree) / mechanism.k() as f64;
    StandardErrors { angle: Some(std::f64::consts::PI * variance.sqrt() / keep), ..StandardErrors::default() }
}

fn probability(threshold: u64) -> f64 {
    threshold as f64 / 2f64.powi(64)
}

/// How a released coordinate follows its projected value.
struct Channel {
    /// v: second moment of a projected value.
    variance: f64,
    /// rho, within a coordinate over rows.
    correlation: f64,
    /// The noise variance that a value of this correlation would carry.
    noise_worth: f64,
    /// Relative variance of rho over rows: a row that keeps more than another gets higher scores for nothing.
    uneven: f64,
    flips: Option<Flips>,
}

impl Channel {
    fn measure(mechanism: &Mechanism, encoder: &Encoder, typical: &Typical) -> Result<Self, DataError> {
        let rows = typical.rows();
        let k = mechanism.k();
        let unit = mechanism.projection().sketch_unit() * mechanism.grid().step();
        let mut buffer = QuantisedRow::default();
        let (mut x, mut flips) = (vec![0i64; k], 0.0);
        let (mut energy, mut kept) = (0.0, Vec::with_capacity(rows.len()));
        let mut coordinates = vec![Sums::default(); k];
        let laws = symbol_moments(mechanism);
        for i in 0..rows.len() {
            let row = rows.quantise(i, mechanism.grid(), 0, &mut buffer)?;
            mechanism.projection().apply(row, &mut x);
            let mut readings = Vec::with_capacity(k);
            match mechanism.perturbation() {
                noise @ Perturbation::Noise { .. } if encoder.encoding() != Encoding::B1 => {
                    let mut prepared = x.clone();
                    noise.prepare(&mut prepared);
                    let s2 =
                        mechanism.noise_moments().map_or(0.0, |noise| noise.variance) + encoder.rounding_variance();
                    let value = mechanism.value_unit();
                    x.iter().zip(&prepared).for_each(|(&x, &y)| readings.push((x as f64 * unit, y as f64 * value, s2)));
                }
                Perturbation::Flips { steps, table, side } => {
                    for (j, &x) in x.iter().enumerate() {
                        let (plus, level) =
                            scumble_core::mechanism::level(x, scumble_core::mechanism::step(steps, j), *side);
                        let flip = probability(table.threshold(level));
                        flips += flip;
                        let mean = if plus { 1.0 - 2.0 * flip } else { 2.0 * flip - 1.0 };
                        readings.push((x as f64 * unit, mean, 1.0 - mean * mean));
                    }
                }
                Perturbation::Symbols { classes, .. } => {
                    for &x in &x {
                        let (mean, square) = laws[classes.of(x)];
                        readings.push((x as f64 * unit, mean, square - mean * mean));
                    }
                }
                Perturbation::Noise { .. }
                | Perturbation::NoisySign { .. }
                | Perturbation::Cap(_)
                | Perturbation::Individual { .. } => simulate(mechanism, encoder, row, &x, unit, &mut readings)?,
            }
            let mut sums = Sums::default();
            for (at, &reading) in readings.iter().enumerate() {
                sums.add(reading);
                coordinates[at % k].add(reading);
            }
            if sums.xx > 0.0 {
                energy += sums.xx / sums.count;
                kept.push(sums.about_zero().correlation());
            }
        }
        let count = kept.len().max(1) as f64;
        let mean = kept.iter().sum::<f64>() / count;
        let spread = kept.iter().map(|rho| (rho - mean).powi(2)).sum::<f64>() / count;
        // What a coordinate has in common over all rows ranks nothing: only its deviations from its own mean count.
        let moves = match rows.len() {
            0 | 1 => coordinates.iter().map(Sums::about_zero).sum::<Moves>(),
            _ => coordinates.iter().map(Sums::about_mean).sum::<Moves>(),
        };
        let flips = match mechanism.perturbation() {
            Perturbation::Flips { table, side: Side::CoinAtZero | Side::Above(_), .. } => {
                Some(Flips { at_the_border: probability(table.threshold(1)), mean: flips / (rows.len() * k) as f64 })
            }
            Perturbation::Noise { .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Cap(_)
            | Perturbation::Symbols { .. }
            | Perturbation::Individual { .. } => None,
        };
        Ok(Self {
            variance: energy / count,
            correlation: moves.correlation(),
            noise_worth: moves.noise_worth(),
            uneven: spread / mean.powi(2).max(1e-12),
            flips,
        })
    }
}

/// First and second moment of the symbol's value in each class; empty without symbols.
fn symbol_moments(mechanism: &Mechanism) -> Vec<(f64, f64)> {
    let Perturbation::Symbols { table, .. } = mechanism.perturbation() else { return Vec::new() };
    let values = mechanism.symbol_values();
    let whole = f64::from(table.bits()).exp2();
    let moment = |row: &[u64], power: i32| row.iter().zip(&values).map(|(&p, v)| p as f64 * v.powi(power)).sum::<f64>();
    table.rows().iter().map(|row| (moment(row, 1) / whole, moment(row, 2) / whole)).collect()
}

/// For perturbations without a closed form: draws the release itself.
fn simulate(
    mechanism: &Mechanism,
    encoder: &Encoder,
    row: scumble_core::vectors::PrivateRow<'_>,
    x: &[i64],
    unit: f64,
    readings: &mut Vec<(f64, f64, f64)>,
) -> Result<(), DataError> {
    let Ok(mut rng) = SecretRng::from_os() else { return Ok(()) };
    let mut released = vec![0i64; mechanism.k()];
    let (mut bytes, mut values) = (vec![0; encoder.bytes_per_row()], vec![0f32; mechanism.k()]);
    let draws = (1 << 16) / mechanism.k() / 64 + 1;
    for _ in 0..draws {
        // A promise that the made-up row breaks has no bearing on the forecast.
        if mechanism.release_row(row, &mut released, &mut rng).is_err() {
            return Ok(());
        }
        encoder.encode(&released, &mut bytes);
        encoder.decode(&bytes, &mut values);
        x.iter().zip(&values).for_each(|(&x, &y)| readings.push((x as f64 * unit, f64::from(y), 0.0)));
    }
    Ok(())
}

/// Running sums over readings: a value `x`, and the mean and variance of what is released for it.
#[derive(Default, Clone)]
struct Sums {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    noise: f64,
}

impl Sums {
    fn add(&mut self, (x, mean, variance): (f64, f64, f64)) {
        self.count += 1.0;
        self.x += x;
        self.y += mean;
        self.xx += x * x;
        self.xy += x * mean;
        self.yy += mean * mean;
        self.noise += variance;
    }

    /// Moments around zero.
    fn about_zero(&self) -> Moves {
        Moves { count: self.count, xx: self.xx, xy: self.xy, yy: self.yy + self.noise }
    }

    /// Moments around the means, with the degree of freedom that these take.
    fn about_mean(&self) -> Moves {
        let share = (self.count - 1.0) / self.count.max(1.0);
        Moves {
            count: self.count - 1.0,
            xx: self.xx - self.x * self.x / self.count,
            xy: self.xy - self.x * self.y / self.count,
            yy: self.yy - self.y * self.y / self.count + share * self.noise,
        }
    }
}

/// Second moments of (x, y), summed.
struct Moves {
    count: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl std::iter::Sum for Moves {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self { count: 0.0, xx: 0.0, xy: 0.0, yy: 0.0 }, |a, b| Self {
            count: a.count + b.count,
            xx: a.xx + b.xx,
            xy: a.xy + b.xy,
            yy: a.yy + b.yy,
        })
    }
}

impl Moves {
    fn correlation(&self) -> f64 {
        let spread = (self.xx * self.yy).sqrt();
        if spread > 0.0 { (self.xy / spread).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// y is worth x plus noise of this variance.
    fn noise_worth(&self) -> f64 {
        self.xx / self.count.max(1.0) * (1.0 / self.correlation().powi(2).clamp(1e-12, 1.0) - 1.0)
    }
}

/// `P[Z1 > z | Z2 > z]` for standard normals of correlation `r`, with `P[Z2 > z] = share`.
fn both_in_the_top(share: f64, r: f64) -> f64 {
    let above = |x: f64| 0.5 * libm::erfc(x / std::f64::consts::SQRT_2);
    let (mut lo, mut hi) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = (lo + hi) / 2.0;
        if above(middle) > share { lo = middle } else { hi = middle }
    }
    let z = (lo + hi) / 2.0;
    let rest = (1.0 - r * r).max(1e-18).sqrt();
    // Simpson's rule over the tail of Z2; eight deviations beyond z hold all of it.
    const STEPS: usize = 2000;
    let width = 8.0 / STEPS as f64;
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let sum: f64 = (0..=STEPS)
        .map(|at| {
            let x = z + at as f64 * width;
            let weight = if at == 0 || at == STEPS { 1.0 } else { [2.0, 4.0][at % 2] };
            weight * density(x) * above((z - r * x) / rest)
        })
        .sum();
    (sum * width / 3.0 / share).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overlap_of_two_tops() {
        assert!((both_in_the_top(0.0025, 0.0) - 0.0025).abs() < 1e-6); // chance
        assert!(both_in_the_top(0.0025, 0.999_999_9) > 0.99);
        // Sheppard: P[both > 0] = 1/4 + asin(r)/2pi.
        let r = 0.5f64;
        let orthant = 0.25 + r.asin() / (2.0 * std::f64::consts::PI);
        assert!((both_in_the_top(0.5, r) - orthant / 0.5).abs() < 1e-6);
        let rising: Vec<f64> = (0..10).map(|i| both_in_the_top(0.0025, f64::from(i) / 10.0)).collect();
        assert!(rising.windows(2).all(|w| w[0] < w[1]));
    }
}
