//! Search over values: inner products of every row with every query, in tiles that stay in the caches.

use super::kernels::{self, QUERIES, TILE};
use super::{Hit, Metric, Top, task_rows};
use rayon::prelude::*;
use scumble_core::parallel;
use scumble_core::simd::{self, Aligned, Level};

/// Decoded rows that stay in a core's second-level cache while all queries pass.
const DECODED_BYTES: usize = 1 << 17;

/// Queries that stay in its first-level cache while those rows pass.
const QUERY_BYTES: usize = 1 << 14;

/// The best of `rows` rows, which `decode` gives as values, for every query.
pub(crate) fn nearest(
    level: Level,
    rows: usize,
    decode: &(impl Fn(usize, &mut [f32]) + Sync),
    queries: &[Vec<f32>],
    top: usize,
    metric: Metric,
) -> Vec<Vec<Hit>> {
    let Some(k) = queries.first().map(Vec::len) else { return Vec::new() };
    let (scan, step) = (ValueScan::new(level, k, queries, metric), task_rows(queries.len()));
    // Nothing is made and merged for work that is no longer wanted.
    let asked = || if parallel::stopped() { &[][..] } else { queries };
    let fresh = || -> Vec<Top> { asked().iter().map(|_| Top::new(top)).collect() };
    let one = |(mut best, mut room): (Vec<Top>, Aligned<f32>), task: usize| {
        let (first, count) = (task * step, step.min(rows - task * step));
        if parallel::stopped() {
            return (best, room);
        }
        scan.scan_decoded(first, count, &|i, out: &mut [f32]| decode(first + i, out), &mut room, &mut best);
        (best, room)
    };
    let merged = (0..rows.div_ceil(step))
        .into_par_iter()
        .fold(|| (fresh(), Aligned::default()), one)
        .map(|(best, _)| best)
        .reduce(fresh, |a, b| a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect());
    merged.into_iter().map(Top::into_hits).collect()
}

/// Queries that are ready to meet blocks of decoded rows.
pub(super) struct ValueScan {
    level: Level,
    metric: Metric,
    k: usize,
    block: usize, // rows that are decoded at a time
    queries: Aligned<f32>,
    norms: Vec<f32>,
}

impl ValueScan {
    pub(super) fn new(level: Level, k: usize, queries: &[Vec<f32>], metric: Metric) -> Self {
        let mut all = Aligned::new(queries.len() * k);
        all.chunks_exact_mut(k).zip(queries).for_each(|(to, query)| to.copy_from_slice(query));
        let norm = |query: &[f32]| if metric == Metric::Cosine { length(level, query) } else { 1.0 };
        let norms = all.chunks_exact(k).map(norm).collect();
        let block = (DECODED_BYTES / (4 * k)).next_multiple_of(TILE).max(TILE);
        Self { level, metric, k, block, queries: all, norms }
    }

    pub(super) fn queries(&self) -> usize {
        self.norms.len()
    }

    /// Offers rows, the first of which has this number, in blocks that stay in the cache while all queries pass.
    pub(super) fn scan_all(&self, first: usize, rows: &[f32], best: &mut [Top]) {
        for (block, rows) in rows.chunks(self.block * self.k).enumerate() {
            self.scan(first + block * self.block, rows, best);
        }
    }

    /// Offers `rows` rows, which `decode` gives as values, from number `first` on.
    pub(super) fn scan_decoded(
        &self,
        first: usize,
        rows: usize,
        decode: &impl Fn(usize, &mut [f32]),
        room: &mut Aligned<f32>,
        best: &mut [Top],
    ) {
        room.resize(self.block * self.k);
        for start in (0..rows).step_by(self.block) {
            let count = self.block.min(rows - start);
            let each = room.chunks_exact_mut(self.k).enumerate().take(count);
            each.for_each(|(i, row)| decode(start + i, row));
            self.scan(first + start, &room[..count * self.k], best);
        }
    }

    /// Offers rows, the first of which has this number, to the best of every query.
    fn scan(&self, first: usize, rows: &[f32], best: &mut [Top]) {
        let Self { level, metric, k: width, .. } = *self;
        let scale = |row: &[f32]| if metric == Metric::Cosine { length(level, row).recip() } else { 1.0 };
        let scales: Vec<f32> = rows.chunks_exact(width).map(scale).collect();
        let group = (QUERY_BYTES / (4 * width * QUERIES)).max(1) * QUERIES;
        let groups = self.queries.chunks(group * width).zip(self.norms.chunks(group)).zip(best.chunks_mut(group));
        for ((queries, norms), best) in groups {
            let sets: Vec<_> = queries.chunks(QUERIES * width).map(|queries| rows_of(queries, width)).collect();
            for (tile, (rows, scales)) in rows.chunks(TILE * width).zip(scales.chunks(TILE)).enumerate() {
                // What is missing in the last tile is the last row once more.
                let row = |r: usize| &rows[r.min(scales.len() - 1) * width..][..width];
                let rows: [&[f32]; TILE] = std::array::from_fn(row);
                for ((queries, norms), best) in sets.iter().zip(norms.chunks(QUERIES)).zip(best.chunks_mut(QUERIES)) {
                    let mut scores = [[0.0; TILE]; QUERIES];
                    match norms.len() {
                        1 => kernels::dots_one(level, rows, queries[0], &mut scores[0]),
                        asked => kernels::dots(level, rows, &queries[..asked], &mut scores[..asked]),
                    }
                    for ((scores, norm), best) in scores.iter_mut().zip(norms).zip(best.iter_mut()) {
                        let scores = &mut scores[..scales.len()];
                        if metric == Metric::Cosine {
                            scores.iter_mut().zip(scales).for_each(|(score, scale)| *score = *score * scale / norm);
                        }
                        if !best.turns_away(scores) {
                            (first + tile * TILE..).zip(scores).for_each(|(row, score)| best.offer(row, *score));
                        }
                    }
                }
            }
        }
    }
}

/// At most [`QUERIES`] queries of `width` values; none in the places that are left.
fn rows_of(queries: &[f32], width: usize) -> [&[f32]; QUERIES] {
    let mut each = queries.chunks_exact(width);
    std::array::from_fn(|_| each.next().unwrap_or_default())
}

/// Calls `each(query, row, product)` for the inner products of all queries with all rows, both of `width` values.
pub(crate) fn each_product(
    level: Level,
    width: usize,
    rows: &[f32],
    queries: &[f32],
    each: &mut impl FnMut(usize, usize, f32),
) {
    for (tile, rows) in rows.chunks(TILE * width).enumerate() {
        let count = rows.len() / width;
        let tile_rows: [&[f32]; TILE] = std::array::from_fn(|r| &rows[r.min(count - 1) * width..][..width]);
        for (group, queries) in queries.chunks(QUERIES * width).enumerate() {
            let (asked, mut out) = (queries.len() / width, [[0.0; TILE]; QUERIES]);
            kernels::dots(level, tile_rows, &rows_of(queries, width)[..asked], &mut out[..asked]);
            for (q, out) in out[..asked].iter().enumerate() {
                (0..count).for_each(|r| each(group * QUERIES + q, tile * TILE + r, out[r]));
            }
        }
    }
}

/// Euclidean length, never 0.
pub(super) fn length(level: Level, values: &[f32]) -> f32 {
    kernels::dot(level, values, values).sqrt().max(f32::MIN_POSITIVE)
}

/// Inner product with fused multiplications, in an order of additions that is fixed: scores are equal on every machine.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    kernels::dot(simd::level(), a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector kernels add in the plain order: not one bit differs, for any length, also where products vanish.
    #[test]
    fn inner_products_are_equal_bit_for_bit() {
        for k in 0..=300usize {
            let value = |i: usize| ((i * 7919 % 2003) as f32 - 1001.0) * 1e-3 * (1.0 + (i % 7) as f32 * 1e3);
            let tiny = |i: usize| if i.is_multiple_of(5) { -1e-30 } else { value(i) * 1e-20 };
            for value in [&value as &dyn Fn(usize) -> f32, &tiny] {
                let all: Vec<f32> = (0..(TILE + QUERIES) * k).map(value).collect();
                let row = |i: usize| &all[i * k..][..k];
                for level in Level::all() {
                    let mut out = [[0.0; TILE]; QUERIES];
                    let queries: [&[f32]; QUERIES] = std::array::from_fn(|q| row(TILE + q));
                    let asked = 1 + k % QUERIES;
                    kernels::dots(level, std::array::from_fn(row), &queries[..asked], &mut out[..asked]);
                    for (q, out) in out[..asked].iter().enumerate() {
                        for (r, out) in out.iter().enumerate() {
                            let (a, b) = (row(TILE + q), row(r));
                            let plain = kernels::dot(Level::Scalar, a, b);
                            assert_eq!(out.to_bits(), plain.to_bits(), "{k} {level:?}");
                            assert_eq!(kernels::dot(level, a, b).to_bits(), plain.to_bits(), "{k} {level:?}");
                        }
                        let mut alone = [0.0; TILE];
                        kernels::dots_one(level, std::array::from_fn(row), queries[q], &mut alone);
                        assert_eq!(alone.map(f32::to_bits), out.map(f32::to_bits), "{k} {level:?}");
                    }
                }
            }
        }
    }

    /// Every number of rows and queries around tiles and groups finds what sorting all scores finds.
    #[test]
    fn values_equal_sorting_all_scores_at_every_level() {
        let k = 37;
        let value = |i: usize| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / 1e7 - 0.8;
        for (rows, count) in [(0, 1), (1, 1), (3, 2), (4, 3), (5, 4), (70, 7), (1001, 160)] {
            let data: Vec<f32> = (0..rows * k).map(value).collect();
            let queries: Vec<Vec<f32>> =
                (0..count).map(|q| (0..k).map(|j| value(9999 + q * k + j)).collect()).collect();
            let decode = |row: usize, out: &mut [f32]| out.copy_from_slice(&data[row * k..][..k]);
            for metric in [Metric::Cosine, Metric::InnerProduct] {
                for level in Level::all() {
                    let found = nearest(level, rows, &decode, &queries, 6, metric);
                    for (query, found) in queries.iter().zip(&found) {
                        let scale = |x: &[f32]| match metric {
                            Metric::Cosine => length(Level::Scalar, x),
                            _ => 1.0,
                        };
                        let score = |row: &[f32]| dot(query, row) * scale(row).recip() / scale(query);
                        let mut all: Vec<(f32, usize)> = data.chunks_exact(k).map(score).zip(0..).collect();
                        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                        all.truncate(6);
                        assert!(found.iter().map(|hit| (hit.score, hit.row)).eq(all), "{rows} {count} {level:?}");
                    }
                }
            }
        }
    }
}
