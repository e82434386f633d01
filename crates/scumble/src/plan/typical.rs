//! Rows to forecast with: made up from public numbers alone, or a sample that the operator offers.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use scumble_core::error::{DataError, DataErrorKind};
use scumble_core::mechanism::Parameters;
use scumble_core::vectors::{Layout, Range, Rows, Scalars};
use std::fmt;

/// Most entries that are looked at: enough for three digits, and a plan in a blink.
const ENTRIES: usize = 1 << 21;

/// Relative deviation of the rows' norms, where no sample says otherwise.
const UNEVEN: f64 = 0.3;

/// Share of attributes that are set below which rows are taken for documents: most counts are small, a few are large.
const SPARSE: f64 = 0.05;

/// Spread of the cosine over a table, where no sample says otherwise: between images and text.
const SPREAD: f64 = 0.15;

/// Mean cosine of two rows whose values are spread evenly over the range, each set with probability `density`.
fn mean_cosine(parameters: &Parameters) -> f64 {
    let Range { lo, hi } = parameters.range;
    let density = parameters.density.unwrap_or(1.0).clamp(0.0, 1.0);
    density * 0.75 * (lo + hi).powi(2) / (lo * lo + lo * hi + hi * hi)
}

/// Rows with the geometry that decides a ranking. Prints its shape only: it may hold a private sample.
pub(super) struct Typical {
    offsets: Vec<usize>,
    index: Vec<u32>,
    values: Vec<f32>,
    dim: usize,
    /// Mean and spread of the cosine of two rows.
    pub cosine: (f64, f64),
    /// True when it was taken from a sample or from public numbers that were given, not from the range alone.
    pub informed: bool,
}

impl fmt::Debug for Typical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Typical({} x {})", self.offsets.len() - 1, self.dim)
    }
}

impl Typical {
    /// Made-up rows of the public norm and density. The same numbers give the same rows.
    pub fn from_public(parameters: &Parameters) -> Self {
        let dim = parameters.dim;
        let density = match parameters.range.holds_zero() {
            true => parameters.density.unwrap_or(1.0).clamp(0.0, 1.0),
            false => 1.0, // no attribute can be zero
        };
        let filled = ((density * dim as f64).round() as usize).clamp(1, dim.min(ENTRIES)); // of the same norm
        let rows = (ENTRIES / filled).clamp(1, 64);
        let mut random = ChaCha8Rng::from_seed([0; 32]);
        let typical = TypicalValue::new(parameters, filled, density < SPARSE);
        let (mut offsets, mut index, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..rows {
            // Norms spread evenly around the public one, the mean of their squares kept.
            let place = (2 * row + 1) as f64 / rows as f64 - 1.0;
            let size = (1.0 + UNEVEN * 3f64.sqrt() * place) / (1.0 + UNEVEN * UNEVEN).sqrt();
            for at in 0..filled {
                // One place in each of `filled` equal stretches, so that indices rise.
                let (from, to) = (at * dim / filled, (at + 1) * dim / filled);
                index.push((from + (random.next_u32() as usize) % (to - from)) as u32);
                let value = size * f64::from(typical.draw(&mut random));
                values.push(value.clamp(parameters.range.lo, parameters.range.hi) as f32);
            }
            offsets.push(index.len());
        }
        let informed = parameters.norm.is_some() || parameters.density.is_some();
        Self { offsets, index, values, dim, cosine: (mean_cosine(parameters), SPREAD), informed }
    }

    /// The first rows of a sample, at most 256, with the cosines found among them.
    pub fn from_sample(sample: Rows<'_>, range: Range) -> Result<Self, DataError> {
        // Zeros of dense rows are clipped where the range lacks 0; those of sparse rows are refused later.
        let zeros = !sample.is_sparse() && !range.holds_zero();
        let (mut offsets, mut index, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..sample.len().min(256) {
            entries(sample, i, |j, value| {
                if !value.is_finite() {
                    let kind = if value.is_nan() { DataErrorKind::Nan } else { DataErrorKind::Infinite };
                    return Err(DataError { row: i as u64, column: Some(j as u64), kind });
                }
                if zeros || value != 0.0 {
                    index.push(j as u32);
                    values.push(value as f32);
                }
                Ok(())
            })?;
            offsets.push(index.len());
            if index.len() > ENTRIES {
                break;
            }
        }
        let mut typical = Self { offsets, index, values, dim: sample.dim(), cosine: (0.4, SPREAD), informed: true };
        typical.cosine = typical.cosines();
        Ok(typical)
    }

    /// The rows, dense where every attribute is there.
    pub fn rows(&self) -> Rows<'_> {
        let values = Scalars::F32(&self.values);
        match self.values.len() == (self.offsets.len() - 1) * self.dim {
            true => Rows::dense(values, self.dim),
            false => Rows::sparse(&self.offsets, &self.index, values, self.dim),
        }
    }

    /// Mean and deviation of the cosine over pairs of rows.
    fn cosines(&self) -> (f64, f64) {
        let row = |i: usize| {
            let range = self.offsets[i]..self.offsets[i + 1];
            (&self.index[range.clone()], &self.values[range])
        };
        let rows = self.offsets.len() - 1;
        let norms: Vec<f64> =
            (0..rows).map(|i| row(i).1.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt()).collect();
        let mut found = Vec::new();
        let mut dense = vec![0f32; self.dim];
        for i in 0..rows.min(64) {
            row(i).0.iter().zip(row(i).1).for_each(|(&j, &x)| dense[j as usize] = x);
            for k in i + 1..rows {
                let product: f64 = row(k).0.iter().zip(row(k).1).map(|(&j, &x)| f64::from(x * dense[j as usize])).sum();
                if norms[i] > 0.0 && norms[k] > 0.0 {
                    found.push(product / (norms[i] * norms[k]));
                }
            }
            row(i).0.iter().for_each(|&j| dense[j as usize] = 0.0);
        }
        if found.len() < 20 {
            return self.cosine;
        }
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let variance = found.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / found.len() as f64;
        (mean, variance.sqrt().max(0.01))
    }
}

/// Calls `visit(column, value)` for the stored entries of a row.
fn entries(
    rows: Rows<'_>,
    i: usize,
    mut visit: impl FnMut(usize, f64) -> Result<(), DataError>,
) -> Result<(), DataError> {
    match rows.layout() {
        Layout::Dense { values, row_stride, column_stride } => {
            (0..rows.dim()).try_for_each(|j| visit(j, values.get(i * row_stride + j * column_stride)))
        }
        Layout::Sparse { offsets, index, values } => {
            (offsets[i]..offsets[i + 1]).try_for_each(|at| visit(index[at] as usize, values.get(at)))
        }
    }
}

/// Values of a given root mean square inside the range: spread evenly, most of them small in documents, or pushed to the
/// ends where they must be large.
struct TypicalValue {
    amplitude: f64,
    power: f64,
    both_signs: bool,
    negative: bool,
}

impl TypicalValue {
    fn new(parameters: &Parameters, filled: usize, sparse: bool) -> Self {
        let range = parameters.range;
        let largest = range.lo.abs().max(range.hi.abs());
        let root = parameters.norm_guess() / (filled as f64).sqrt();
        // |value| = amplitude U^power has the root mean square amplitude / sqrt(2 power + 1).
        let power: f64 = if sparse { 2.0 } else { 1.0 };
        let spread = (2.0 * power + 1.0).sqrt();
        let (amplitude, power) = match largest / root {
            ratio if ratio >= spread => (spread * root, power),
            ratio => (largest, ((ratio * ratio - 1.0) / 2.0).max(0.0)),
        };
        Self { amplitude, power, both_signs: range.lo < 0.0 && range.hi > 0.0, negative: range.hi <= 0.0 }
    }

    fn draw(&self, random: &mut ChaCha8Rng) -> f32 {
        let bits = random.next_u64();
        let size = self.amplitude * ((bits >> 11) as f64 / (1u64 << 53) as f64).powf(self.power);
        let minus = if self.both_signs { bits & 1 == 1 } else { self.negative };
        (if minus { -size } else { size }) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble_core::mechanism::{MechanismId, Required};
    use scumble_core::projection::Seed;

    #[test]
    fn made_up_rows_have_the_public_norm_and_density() {
        for (lo, hi, norm, density) in
            [(0.0, 1.0, 9.2, 0.19), (-1.0, 1.0, 1.0, 1.0), (0.0, 1.0, 24.0, 1.0), (-2.0, 0.0, 5.0, 0.5)]
        {
            let range = Range::new(lo, hi).unwrap();
            let mut parameters = Parameters::new(Required {
                mechanism: MechanismId::DpOporpStaircase,
                dim: 784,
                k: 64,
                epsilon: 1.0,
                beta: 1.0,
                range,
                seed: Seed([0; 32]),
            });
            (parameters.norm, parameters.density) = (Some(norm), Some(density));
            let typical = Typical::from_public(&parameters);
            let rows = (typical.offsets.len() - 1) as f64;
            let squares: f64 = typical.values.iter().map(|&x| f64::from(x).powi(2)).sum();
            assert!(((squares / rows).sqrt() / norm - 1.0).abs() < 0.1, "{lo} {hi}");
            assert!((typical.values.len() as f64 / rows / 784.0 - density).abs() < 1e-3);
            assert!(typical.values.iter().all(|&x| f64::from(x) >= lo - 1e-6 && f64::from(x) <= hi + 1e-6));
        }
    }
}
