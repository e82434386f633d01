//! The main directions of a public sample by subspace iteration: a few passes over its entries, memory for the attributes
//! that occur. Used on public rows only.

use crate::error::StructureError;
use rayon::prelude::*;
use scumble_core::parallel;
use scumble_core::vectors::Rows;

/// Directions beyond those asked for: they make the iteration converge fast.
const SPARE: usize = 8;
/// Passes over the sample.
const PASSES: usize = 6;

/// A public sample as columns that occur: `X - mean`, row by row.
pub(super) struct Sample {
    /// The attributes that are not zero somewhere.
    pub(super) seen: Vec<usize>,
    rows: Vec<Vec<(u32, f64)>>, // place in `seen`, value
    pub(super) mean: Vec<f64>,
}

/// The leading directions of a sample.
pub(super) struct Directions {
    /// `r` numbers per attribute that was seen: its loading on each direction, times the direction's length.
    pub(super) loadings: Vec<f64>,
    /// `r`.
    pub(super) count: usize,
    /// Squared length of each direction: its sum of squares over the sample's rows, largest first.
    pub(super) energies: Vec<f64>,
}

impl Directions {
    /// Every attribute at the same distance from the middle: those that move together are close together, however often
    /// they occur.
    pub(super) fn by_direction_alone(mut self) -> Self {
        for loadings in self.loadings.chunks_exact_mut(self.count) {
            let length = loadings.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            loadings.iter_mut().for_each(|x| *x /= length);
        }
        self
    }
}

impl Sample {
    /// Reads the sample; centred or not.
    pub(super) fn new(rows: Rows<'_>, centred: bool) -> Result<Self, StructureError> {
        let mut place = vec![u32::MAX; rows.dim()];
        let mut sums = vec![0.0; rows.dim()];
        let mut bad = false;
        for row in 0..rows.len() {
            if parallel::stopped() {
                break;
            }
            rows.for_each_value(row, |attribute, value| {
                place[attribute] = 0;
                sums[attribute] += value;
                bad |= !value.is_finite();
            });
        }
        if bad {
            return Err(StructureError::NotFinite);
        }
        let seen: Vec<usize> = (0..rows.dim()).filter(|&attribute| place[attribute] == 0).collect();
        (0..).zip(&seen).for_each(|(at, &attribute)| place[attribute] = at);
        let entries = |row: usize| {
            let mut entries = Vec::new();
            if !parallel::stopped() {
                rows.for_each_value(row, |attribute, value| entries.push((place[attribute], value)));
            }
            entries
        };
        let n = rows.len().max(1) as f64;
        let mean = seen.iter().map(|&attribute| if centred { sums[attribute] / n } else { 0.0 }).collect();
        Ok(Self { rows: (0..rows.len()).map(entries).collect(), mean, seen })
    }

    /// Reads documents: counts are heavy-tailed and lengths differ, so a row is the square roots of its values, at
    /// length 1 (Hellinger).
    pub(super) fn of_documents(rows: Rows<'_>) -> Result<Self, StructureError> {
        let mut sample = Self::new(rows, false)?;
        let n = sample.rows.len().max(1) as f64;
        for entries in &mut sample.rows {
            let size = entries.iter().map(|(_, value)| value.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
            for (at, value) in entries.iter_mut() {
                *value = value.signum() * (value.abs() / size).sqrt();
                sample.mean[*at as usize] += *value / n;
            }
        }
        Ok(sample)
    }

    /// The `count` main directions, or as many as there are; anything, soon, once the work is no longer wanted.
    pub(super) fn directions(&self, count: usize) -> Directions {
        parallel::run(|| self.iterated(count))
    }

    fn iterated(&self, count: usize) -> Directions {
        let n = self.rows.len();
        let wide = (count + SPARE).min(n).min(self.seen.len()).max(1);
        // Any start that leans on every direction will do; it is fixed, so that the same sample gives the same bins.
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut left: Vec<f64> = (0..n * wide)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
            })
            .collect();
        orthonormalise(&mut left, wide);
        for _ in 0..PASSES {
            left = self.times(&self.transpose_times(&left, wide), wide);
            orthonormalise(&mut left, wide);
        }
        let right = self.transpose_times(&left, wide); // seen x wide
        let (energies, turn) = symmetric_eigen(&gram(&right, wide), wide);
        let count = count.min(wide);
        let mut loadings = vec![0.0; self.seen.len() * count];
        loadings.par_chunks_mut(count).zip(right.par_chunks(wide)).for_each(|(out, row)| {
            for (c, out) in out.iter_mut().enumerate() {
                *out = (0..wide).map(|i| row[i] * turn[i * wide + c]).sum();
            }
        });
        Directions { loadings, count, energies: energies[..count].to_vec() }
    }

    /// `(X - mean)^T Y`.
    fn transpose_times(&self, y: &[f64], wide: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.seen.len() * wide];
        let mut total = vec![0.0; wide];
        for (entries, y) in self.rows.iter().zip(y.chunks_exact(wide)) {
            if parallel::stopped() {
                break;
            }
            total.iter_mut().zip(y).for_each(|(total, y)| *total += y);
            for &(at, value) in entries {
                let out = &mut out[at as usize * wide..][..wide];
                out.iter_mut().zip(y).for_each(|(out, y)| *out += value * y);
            }
        }
        for (out, mean) in out.chunks_exact_mut(wide).zip(&self.mean) {
            out.iter_mut().zip(&total).for_each(|(out, total)| *out -= mean * total);
        }
        out
    }

    /// `(X - mean) Z`.
    fn times(&self, z: &[f64], wide: usize) -> Vec<f64> {
        let mut offset = vec![0.0; wide];
        for (z, mean) in z.chunks_exact(wide).zip(&self.mean) {
            offset.iter_mut().zip(z).for_each(|(offset, z)| *offset += mean * z);
        }
        let mut out = vec![0.0; self.rows.len() * wide];
        out.par_chunks_mut(wide).zip(&self.rows).for_each(|(out, entries)| {
            if parallel::stopped() {
                return;
            }
            for &(at, value) in entries {
                let z = &z[at as usize * wide..][..wide];
                out.iter_mut().zip(z).for_each(|(out, z)| *out += value * z);
            }
            out.iter_mut().zip(&offset).for_each(|(out, offset)| *out -= offset);
        });
        out
    }
}

/// Columns of a matrix with `wide` columns made orthonormal (Gram and Schmidt, twice); a column that vanishes stays zero.
pub(super) fn orthonormalise(matrix: &mut [f64], wide: usize) {
    let n = matrix.len() / wide;
    let column = |c: usize| -> Vec<f64> { (0..n).map(|row| matrix[row * wide + c]).collect() };
    let mut columns: Vec<Vec<f64>> = (0..wide).map(column).collect();
    for c in 0..wide {
        let (done, rest) = columns.split_at_mut(c);
        let own = &mut rest[0];
        for other in done.iter().chain(&*done) {
            if parallel::stopped() {
                return;
            }
            let part: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
            own.iter_mut().zip(other).for_each(|(a, b)| *a -= part * b);
        }
        let length = own.iter().map(|a| a * a).sum::<f64>().sqrt();
        let scale = if length > 1e-150 { 1.0 / length } else { 0.0 };
        own.iter_mut().for_each(|a| *a *= scale);
    }
    for (c, column) in columns.iter().enumerate() {
        column.iter().enumerate().for_each(|(row, a)| matrix[row * wide + c] = *a);
    }
}

/// `A^T A` of a matrix with `wide` columns.
pub(super) fn gram(matrix: &[f64], wide: usize) -> Vec<f64> {
    let mut out = vec![0.0; wide * wide];
    for row in matrix.chunks_exact(wide) {
        for (a, out) in row.iter().zip(out.chunks_exact_mut(wide)) {
            out.iter_mut().zip(row).for_each(|(out, b)| *out += a * b);
        }
    }
    out
}

/// Eigenvalues of a symmetric matrix, largest first, and their vectors in columns (Jacobi).
pub(super) fn symmetric_eigen(matrix: &[f64], size: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut v: Vec<f64> = (0..size * size).map(|at| f64::from(u8::from(at / size == at % size))).collect();
    for _sweep in 0..60 {
        let off: f64 = (0..size * size).filter(|at| at / size != at % size).map(|at| a[at] * a[at]).sum();
        let all: f64 = a.iter().map(|x| x * x).sum();
        if off <= 1e-30 * all {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                rotate(&mut a, &mut v, size, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&i, &j| a[j * size + j].total_cmp(&a[i * size + i]));
    let values = order.iter().map(|&i| a[i * size + i]).collect();
    let vectors = (0..size * size).map(|at| v[at / size * size + order[at % size]]).collect();
    (values, vectors)
}

/// One Jacobi rotation that makes entry (p, q) vanish.
fn rotate(a: &mut [f64], v: &mut [f64], size: usize, p: usize, q: usize) {
    let apq = a[p * size + q];
    if apq == 0.0 {
        return;
    }
    let theta = (a[q * size + q] - a[p * size + p]) / (2.0 * apq);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for i in 0..size {
        let (x, y) = (a[i * size + p], a[i * size + q]);
        (a[i * size + p], a[i * size + q]) = (c * x - s * y, s * x + c * y);
    }
    for i in 0..size {
        let (x, y) = (a[p * size + i], a[q * size + i]);
        (a[p * size + i], a[q * size + i]) = (c * x - s * y, s * x + c * y);
    }
    for i in 0..size {
        let (x, y) = (v[i * size + p], v[i * size + q]);
        (v[i * size + p], v[i * size + q]) = (c * x - s * y, s * x + c * y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble_core::vectors::Scalars;

    #[test]
    fn eigenvectors_are_those_of_the_matrix() {
        let size = 5;
        let b: Vec<f64> = (0..size * size).map(|i| ((i * 7919) % 101) as f64 - 50.0).collect();
        let a = gram(&b, size);
        let (values, vectors) = symmetric_eigen(&a, size);
        assert!(values.is_sorted_by(|a, b| a >= b));
        for c in 0..size {
            for row in 0..size {
                let image: f64 = (0..size).map(|i| a[row * size + i] * vectors[i * size + c]).sum();
                assert!((image - values[c] * vectors[row * size + c]).abs() < 1e-8 * values[0]);
            }
        }
    }

    /// A sample with two strong directions, nearly at right angles, and noise: both are found, with their energies, from dense and sparse rows.
    #[test]
    fn planted_directions_are_found() {
        let (n, p) = (60, 40);
        let value = |i: usize, j: usize| {
            let noise = ((i * 31 + j * 17) * 7919 % 1009) as f64 / 1009.0 - 0.5;
            let (a, b) = ((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos());
            10.0 * a * f64::from(u8::from(j < 20)) + 5.0 * b * f64::from(u8::from(j >= 20)) + 0.1 * noise
        };
        let values: Vec<f64> = (0..n * p).map(|at| value(at / p, at % p)).collect();
        let sample = Sample::new(Rows::dense(Scalars::F64(&values), p), true).unwrap();
        let found = sample.directions(2);
        let length = |j: usize, c: usize| found.loadings[j * 2 + c].abs();
        assert!((0..20).all(|j| length(j, 0) > 5.0 * length(j, 1)), "{:?}", found.energies);
        assert!((20..40).all(|j| length(j, 1) > 5.0 * length(j, 0)));
        let energy: f64 = (0..p).map(|j| found.loadings[2 * j].powi(2)).sum();
        assert!((energy / found.energies[0] - 1.0).abs() < 1e-9);
        let offsets: Vec<usize> = (0..=n).map(|i| i * p).collect();
        let index: Vec<u32> = (0..n * p).map(|at| (at % p) as u32).collect();
        let sparse = Rows::sparse(&offsets, &index, Scalars::F64(&values), p);
        let again = Sample::new(sparse, true).unwrap().directions(2);
        assert!((again.energies[0] / found.energies[0] - 1.0).abs() < 1e-9);
    }
}
