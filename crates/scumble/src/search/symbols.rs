//! Scores of packed rows (bits, nibbles, symbols) by look-up: for each query and byte of a row, one table of the sums
//! that the byte's 256 states give, as in product quantisation.
//!
//! A score is the sum of its bytes' entries in byte order, in 32-bit floats, so it is the same on every machine.
//! Eight queries share one walk over the rows: an entry holds their eight sums side by side.

use super::{Hit, Metric, kernels, top::Top};
use crate::release::Release;
use rayon::prelude::*;
use scumble_core::simd;

const LANES: usize = 8;

/// The rows of a release as packed codes with a value each.
pub(super) struct Packed<'a> {
    release: &'a Release,
    per_byte: usize,
    /// Value of digit i of byte state s at `s * per_byte + i`.
    values: Vec<f32>,
    /// What each coordinate counts.
    weights: Vec<f32>,
}

impl<'a> Packed<'a> {
    /// `None` if the rows are no packed codes.
    pub(super) fn new(release: &'a Release) -> Option<Self> {
        let (per_byte, values) = release.encoder().byte_values()?;
        let weights = super::row_weights(release).unwrap_or_else(|| vec![1.0; release.k()]);
        Some(Self { release, per_byte, values, weights })
    }

    /// The `top` best rows for each query.
    pub(super) fn search(&self, queries: &[Vec<f32>], top: usize, metric: Metric) -> Vec<Vec<Hit>> {
        let scale: Vec<f32> = match metric {
            Metric::Cosine => self.lengths().map(|length| length.max(f32::MIN_POSITIVE).recip()).collect(),
            _ => vec![1.0; self.release.len()],
        };
        queries.par_chunks(LANES).flat_map(|block| self.search_block(block, &scale, top, metric)).collect()
    }

    fn search_block(&self, queries: &[Vec<f32>], scale: &[f32], top: usize, metric: Metric) -> Vec<Vec<Hit>> {
        let (level, tables) = (simd::level(), self.tables(queries));
        let mut norms = [1.0f32; LANES];
        if metric == Metric::Cosine {
            for (norm, query) in norms.iter_mut().zip(queries) {
                *norm = super::dot(query, query).sqrt().max(f32::MIN_POSITIVE).recip();
            }
        }
        let mut best: Vec<Top> = queries.iter().map(|_| Top::new(top)).collect();
        let width = self.release.encoder().bytes_per_row();
        for (row, (bytes, &scale)) in self.release.bytes().chunks_exact(width).zip(scale).enumerate() {
            let mut sums = [0.0f32; LANES];
            kernels::look_up(level, bytes, &tables, &mut sums);
            for ((best, sum), norm) in best.iter_mut().zip(sums).zip(norms) {
                best.offer(row, sum * scale * norm);
            }
        }
        best.into_iter().map(Top::into_hits).collect()
    }

    /// For each byte of a row and each of its states, the part of every query's score.
    fn tables(&self, queries: &[Vec<f32>]) -> Vec<[[f32; LANES]; 256]> {
        let table = |first: usize| {
            let weights = &self.weights[first..];
            let mut table = [[0.0f32; LANES]; 256];
            for (entry, values) in table.iter_mut().zip(self.values.chunks_exact(self.per_byte)) {
                for (part, query) in entry.iter_mut().zip(queries) {
                    *part = query[first..].iter().zip(values).zip(weights).map(|((q, v), w)| q * v * w).sum();
                }
            }
            table
        };
        (0..self.release.k()).step_by(self.per_byte).map(table).collect()
    }

    /// The Euclidean length of every row.
    fn lengths(&self) -> impl Iterator<Item = f32> + '_ {
        let squares = |weights: &[f32]| -> Vec<f32> {
            let square = |values: &[f32]| values.iter().zip(weights).map(|(v, w)| v * v * w * w).sum();
            self.values.chunks_exact(self.per_byte).map(square).collect()
        };
        let tables: Vec<Vec<f32>> = self.weights.chunks(self.per_byte).map(squares).collect();
        self.release.bytes().chunks_exact(self.release.encoder().bytes_per_row()).map(move |bytes| {
            bytes.iter().zip(&tables).map(|(&byte, table)| table[usize::from(byte)]).sum::<f32>().sqrt()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Queries, by_score, search};
    use super::*;
    use crate::release::{Encoding, Releaser};
    use crate::search::ExactQueries;
    use scumble_core::mechanism::{Mechanism, MechanismId, Parameters};
    use scumble_core::projection::Seed;
    use scumble_core::vectors::{Range, Rows, Scalars};

    fn release(id: MechanismId, symbols: Option<u8>, k: usize, data: &[f32]) -> Release {
        let range = Range { lo: 0.0, hi: 1.0 };
        let mut parameters = Parameters::new(id, 40, k, 2.0, 1.0, range, Seed([5; 32]));
        parameters.symbols = symbols;
        let encoding = (id == MechanismId::DpOporpStaircase).then_some(Encoding::B4);
        let releaser = Releaser::new(Mechanism::new(parameters).unwrap(), encoding).unwrap();
        Release::from_rows(&releaser, Rows::dense(Scalars::F32(data), 40)).unwrap()
    }

    #[test]
    fn look_up_equals_the_plain_sum_bit_for_bit_and_the_decoded_search_closely() {
        let data: Vec<f32> = (0..40 * 300).map(|i| (i * 7919 % 101) as f32 / 100.0).collect();
        for (id, symbols) in [
            (MechanismId::DpSignoporpCeil, None),
            (MechanismId::DpOporpLattice, Some(3)),
            (MechanismId::DpOporpLattice, Some(4)),
            (MechanismId::DpOporpLattice, Some(16)),
            (MechanismId::DpOporpZones, Some(5)),
            (MechanismId::DpOporpStaircase, None),
        ] {
            for k in [1, 5, 8, 9, 31, 40] {
                let release = release(id, symbols, k, &data);
                let queries =
                    ExactQueries::project(release.mechanism(), Rows::dense(Scalars::F32(&data[..40 * 11]), 40))
                        .unwrap();
                for metric in [Metric::Cosine, Metric::InnerProduct] {
                    let fast = search(&release, Queries::Exact(&queries), 300, Some(metric)).unwrap();
                    let slow = by_score(&release, Queries::Exact(&queries), 300, metric);
                    for (q, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
                        let mut expected = vec![0.0; 300];
                        slow.iter().for_each(|hit| expected[hit.row] = hit.score);
                        for hit in fast {
                            assert!((hit.score - expected[hit.row]).abs() < 1e-5 * (1.0 + hit.score.abs()), "{id} {k}");
                        }
                        assert!(fast.windows(2).all(|w| w[0] < w[1]), "best first, ties to the lower row");
                        if metric == Metric::InnerProduct {
                            let plain = |row: usize| {
                                let (per_byte, _) = release.encoder().byte_values().unwrap();
                                let values = release.values(row);
                                values
                                    .chunks(per_byte)
                                    .zip(queries.row(q).chunks(per_byte))
                                    .fold(0.0f32, |sum, (v, q)| sum + q.iter().zip(v).map(|(q, v)| q * v).sum::<f32>())
                            };
                            assert!(fast.iter().all(|hit| hit.score == plain(hit.row)), "{id} {k} {q}");
                        }
                    }
                }
            }
        }
    }
}
