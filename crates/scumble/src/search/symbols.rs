//! Scores of packed rows (bits, nibbles, symbols) by look-up: for each query and byte of a row, one table of the sums
//! that the byte's 256 states give, as in product quantisation.
//!
//! A score is the sum of its bytes' entries in byte order, in 32-bit floats, so it is the same on every machine.
//! Eight queries share one walk over the rows: an entry holds their eight sums side by side.

use super::{Metric, Reading, kernels, top::Top};
use crate::release::Encoder;
use scumble_core::simd::Level;

const LANES: usize = 8;

/// For each byte of a row and each of its states, the part of every query's score.
type Tables = Vec<[[f32; LANES]; 256]>;

/// Queries that are ready to meet packed rows.
pub(super) struct PackedScan {
    level: Level,
    width: usize,
    queries: usize,
    blocks: Vec<(Tables, [f32; LANES])>, // of eight queries each, with the reciprocals of their lengths
    squares: Option<Vec<Vec<f32>>>,      // what each byte of a row adds to its squared length, by its state
}

impl PackedScan {
    /// `None` if the rows are not packed codes.
    ///
    /// `reading` says what the value of each coordinate counts as.
    pub(super) fn new(
        level: Level,
        encoder: &Encoder,
        reading: &Reading,
        queries: &[Vec<f32>],
        metric: Metric,
    ) -> Option<Self> {
        let (per_byte, values) = encoder.byte_values()?; // value of digit i of byte state s at s * per_byte + i
        let mut centres: Vec<f32> = encoder.centres().iter().map(|&centre| centre as f32).collect();
        centres.resize(encoder.k(), 0.0); // what must be added to each coordinate's value
        // What the digits of a byte count as, for each of its 256 states.
        let digits = |first: usize| -> Vec<f32> {
            let count = per_byte.min(encoder.k() - first);
            let read = |(at, value): (usize, &f32)| reading.value(first + at, value + centres[first + at]);
            values.chunks_exact(per_byte).flat_map(|state| state[..count].iter().enumerate().map(read)).collect()
        };
        let bytes: Vec<Vec<f32>> = (0..encoder.k()).step_by(per_byte).map(digits).collect();
        let block = |queries: &[Vec<f32>]| {
            let mut norms = [1.0f32; LANES];
            if metric == Metric::Cosine {
                for (norm, query) in norms.iter_mut().zip(queries) {
                    *norm = super::values::length(level, query).recip();
                }
            }
            (tables(per_byte, &bytes, queries), norms)
        };
        let squares = |digits: &Vec<f32>| -> Vec<f32> {
            digits.chunks_exact(digits.len() / 256).map(|digits| digits.iter().map(|v| v * v).sum()).collect()
        };
        Some(Self {
            level,
            width: encoder.bytes_per_row(),
            queries: queries.len(),
            blocks: queries.chunks(LANES).map(block).collect(),
            squares: (metric == Metric::Cosine).then(|| bytes.iter().map(squares).collect()),
        })
    }

    pub(super) fn queries(&self) -> usize {
        self.queries
    }

    /// Offers rows, the first of which has this number, to the best of every query.
    pub(super) fn scan(&self, first: usize, rows: &[u8], best: &mut [Top]) {
        let scales: Vec<f32> = rows.chunks_exact(self.width).map(|row| self.scale(row)).collect();
        for ((tables, norms), best) in self.blocks.iter().zip(best.chunks_mut(LANES)) {
            for (row, (bytes, &scale)) in (first..).zip(rows.chunks_exact(self.width).zip(&scales)) {
                let mut sums = [0.0f32; LANES];
                kernels::look_up(self.level, bytes, tables, &mut sums);
                for ((best, sum), norm) in best.iter_mut().zip(sums).zip(norms) {
                    best.offer(row, sum * scale * norm);
                }
            }
        }
    }

    /// The reciprocal of a row's length, where it counts.
    fn scale(&self, row: &[u8]) -> f32 {
        let Some(squares) = &self.squares else { return 1.0 };
        let sum: f32 = row.iter().zip(squares).map(|(&byte, table)| table[usize::from(byte)]).sum();
        sum.sqrt().max(f32::MIN_POSITIVE).recip()
    }
}

fn tables(per_byte: usize, bytes: &[Vec<f32>], queries: &[Vec<f32>]) -> Tables {
    let table = |(byte, digits): (usize, &Vec<f32>)| {
        let mut table = [[0.0f32; LANES]; 256];
        for (entry, digits) in table.iter_mut().zip(digits.chunks_exact(digits.len() / 256)) {
            for (part, query) in entry.iter_mut().zip(queries) {
                *part = query[byte * per_byte..].iter().zip(digits).map(|(q, v)| q * v).sum();
            }
        }
        table
    };
    bytes.iter().enumerate().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Hit, Queries, nearest, query_values, search};
    use super::*;
    use crate::release::{Encoding, Release, Releaser};
    use crate::search::ExactQueries;
    use scumble_core::mechanism::{Mechanism, MechanismId, Parameters, Required};
    use scumble_core::projection::Seed;
    use scumble_core::simd;
    use scumble_core::vectors::{Range, Rows, Scalars};

    /// Inner products on decoded rows.
    fn by_score(release: &Release, queries: Queries<'_>, top: usize, metric: Metric) -> Vec<Vec<Hit>> {
        let reading = Reading::of_rows(release.mechanism());
        let decode = |row: usize, out: &mut [f32]| {
            release.encoder().decode(release.row(row), out);
            reading.apply(out);
        };
        nearest(simd::level(), release.len(), &decode, &query_values(release.mechanism(), queries), top, metric)
    }

    fn release(id: MechanismId, symbols: Option<u8>, k: usize, data: &[f32]) -> Release {
        let range = Range { lo: 0.0, hi: 1.0 };
        let mut parameters = Parameters::new(Required {
            mechanism: id,
            dim: 40,
            k,
            epsilon: 2.0,
            beta: 1.0,
            range,
            seed: Seed([5; 32]),
        });
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
                                let mut values = release.values(row);
                                Reading::of_rows(release.mechanism()).apply(&mut values);
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
