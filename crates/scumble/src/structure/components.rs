//! Public components for the whole-record mechanisms: the mean of a public sample is subtracted, its main directions
//! are kept and rotated at random within their span, so that every output carries as much as any other.

use super::svd::Sample;
use crate::error::{LibraryError, StructureError};
use scumble_core::projection::{Origin, PublicTable};
use scumble_core::vectors::{Rows, TableHash};

/// Components, unless another number is asked for.
pub const COMPONENTS: usize = 96;

/// The value of weight 1.
const SCALE: f64 = 1.0 / 16384.0;

/// Learns `k` components from PUBLIC rows. Weights are integers, so that bits come out equal on every machine.
pub fn learn_components(rows: Rows<'_>, k: usize) -> Result<PublicTable, LibraryError> {
    if k == 0 || rows.len() <= k || rows.dim() < k {
        return Err(StructureError::ComponentsSample { k, rows: rows.len(), attributes: rows.dim() }.into());
    }
    let sample = Sample::new(rows, true)?;
    let directions = sample.directions(k);
    if directions.count < k || directions.energies[k - 1] <= 0.0 {
        return Err(StructureError::ComponentsDirections { k }.into());
    }
    let turn = rotation(k);
    let mut weights = vec![0; rows.dim() * k];
    let mut centre = vec![0.0; rows.dim()];
    for (at, &attribute) in sample.seen.iter().enumerate() {
        centre[attribute] = sample.mean[at] as f32;
        let loadings = &directions.loadings[at * k..][..k];
        for (j, weight) in weights[attribute * k..][..k].iter_mut().enumerate() {
            let value: f64 = (0..k).map(|c| loadings[c] / directions.energies[c].sqrt() * turn[c * k + j]).sum();
            *weight = (value / SCALE).round().clamp(-32767.0, 32767.0) as i16;
        }
    }
    let origin = Origin::Sample { rows: rows.len() as u64, sha256: TableHash::of(rows).finish() };
    Ok(PublicTable::components(centre, weights, SCALE, origin)?)
}

/// A fixed random rotation: columns of normal numbers made orthonormal.
fn rotation(k: usize) -> Vec<f64> {
    let mut state = 0x243f_6a88_85a3_08d3u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    let mut matrix: Vec<f64> = (0..k * k).map(|_| normal()).collect();
    super::svd::orthonormalise(&mut matrix, k);
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use scumble_core::vectors::Scalars;

    /// Columns are orthonormal, and span what the sample spans: centred rows keep their length.
    #[test]
    fn components_keep_the_sample() {
        let (n, p, k) = (200, 12, 3);
        let value = |i: usize, j: usize| {
            let wave = |f: f64| (i as f64 * f).sin();
            wave(0.7) * (j as f64).cos()
                + 2.0 * wave(1.3) * (j as f64 * 0.3).sin()
                + wave(2.9) * f64::from(u8::from(j == 5))
                + 7.0
        };
        let values: Vec<f64> = (0..n * p).map(|at| value(at / p, at % p)).collect();
        let table = learn_components(Rows::dense(Scalars::F64(&values), p), k).unwrap();
        assert_eq!(table.shape(), (p, k));
        let w = |i: usize, j: usize| f64::from(table.row(i)[j]) * table.scale();
        for a in 0..k {
            for b in 0..k {
                let product: f64 = (0..p).map(|i| w(i, a) * w(i, b)).sum();
                assert!((product - f64::from(u8::from(a == b))).abs() < 1e-3, "{a} {b} {product}");
            }
        }
        for row in values.chunks_exact(p) {
            let centred: Vec<f64> = row.iter().zip(table.centre()).map(|(v, &c)| v - f64::from(c)).collect();
            let kept: f64 = (0..k).map(|j| (0..p).map(|i| w(i, j) * centred[i]).sum::<f64>().powi(2)).sum();
            let length: f64 = centred.iter().map(|v| v * v).sum();
            assert!((kept / length - 1.0).abs() < 1e-2, "{kept} {length}");
        }
        assert!(learn_components(Rows::dense(Scalars::F64(&values), p), 13).is_err());
    }
}
