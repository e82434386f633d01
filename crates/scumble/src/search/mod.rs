//! Exact top-R over released rows: Hamming on bits, cosine or inner product on values and symbols.
//!
//! A query is either released too, or the searcher's own exact vector: projected, not noised. The exact query of a
//! searcher is not protected, and ranks clearly better. Ties go to the lower row, so results are repeatable. Bins of a
//! public partition count by `1/sqrt` of their attributes.

mod hits;
mod kernels;
mod select;
mod symbols;
mod top;

pub use hits::write_hits;
pub(crate) use kernels::{TILE, dots, lay};
pub use top::Hit;
pub(crate) use top::Top;

use crate::release::Release;
use kernels::{MOST_BYTES, ROWS};
use rayon::prelude::*;
use scumble_core::error::{DataError, DataErrorKind, ParameterError};
use scumble_core::mechanism::{Mechanism, OutputKind, Perturbation};
use scumble_core::parallel;
use scumble_core::simd::{self, Aligned, Level};
use scumble_core::vectors::Rows;
use select::Nearest;

/// How rows are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Number of differing bits; released bits against released bits.
    Hamming,
    /// Inner product over the released row's length: the default for values and for exact queries.
    Cosine,
    /// Inner product.
    InnerProduct,
}

/// A searcher's own vectors, projected as the release was, without noise.
#[derive(Debug, Clone)]
pub struct ExactQueries {
    k: usize,
    values: Vec<f32>,
}

impl ExactQueries {
    /// Projects the searcher's rows with the release's public projection.
    pub fn project(mechanism: &Mechanism, rows: Rows<'_>) -> Result<Self, DataError> {
        let (k, expected) = (mechanism.k(), mechanism.parameters().dim);
        if rows.dim() != expected {
            let kind = DataErrorKind::Dimension { found: rows.dim() as u64, expected: expected as u64 };
            return Err(DataError { row: 0, column: None, kind });
        }
        let mut x = vec![0i64; rows.len() * k];
        mechanism.projection().apply_rows(rows, mechanism.grid(), &mut x)?;
        let unit = mechanism.projection().sketch_unit() * mechanism.grid().step();
        // The sketch was clipped before its noise: so is the query, to rank like with like.
        let most = match mechanism.perturbation() {
            Perturbation::Noise { clip: Some(clip), .. } => *clip,
            _ => i64::MAX,
        };
        let values = x.iter().map(|&x| (x.clamp(-most, most) as f64 * unit) as f32).collect();
        Ok(Self { k, values })
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.values.len() / self.k
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All queries, one after the other.
    pub fn into_values(self) -> Vec<f32> {
        self.values
    }

    /// Query `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.k..(i + 1) * self.k]
    }
}

/// What is searched for.
#[derive(Debug, Clone, Copy)]
pub enum Queries<'a> {
    /// Rows of a release with the same projection.
    Released(&'a Release),
    /// The searcher's own vectors.
    Exact(&'a ExactQueries),
}

/// The metric that suits a release and its queries.
pub fn default_metric(release: &Release, queries: Queries<'_>) -> Metric {
    match (release.mechanism().id().output(), queries) {
        (OutputKind::Bits, Queries::Released(_)) => Metric::Hamming,
        _ => Metric::Cosine,
    }
}

/// The `top` best rows for every query, best first. Scores: larger is better, but Hamming counts differing bits.
pub fn search(
    release: &Release,
    queries: Queries<'_>,
    top: usize,
    metric: Option<Metric>,
) -> Result<Vec<Vec<Hit>>, ParameterError> {
    parallel::run(|| found(release, queries, top, metric))
}

fn found(
    release: &Release,
    queries: Queries<'_>,
    top: usize,
    metric: Option<Metric>,
) -> Result<Vec<Vec<Hit>>, ParameterError> {
    simd::check()?;
    if top == 0 {
        return Err(ParameterError::invalid("--top must be at least 1"));
    }
    let metric = metric.unwrap_or_else(|| default_metric(release, queries));
    if let Queries::Released(other) = queries {
        release.certificate().same_projection(other.certificate())?;
        if release.encoder().encoding() != other.encoder().encoding() && metric == Metric::Hamming {
            return Err(ParameterError::invalid("Hamming needs bits on both sides"));
        }
    }
    match (metric, queries) {
        (Metric::Hamming, Queries::Released(other)) if release.mechanism().id().output() == OutputKind::Bits => {
            let queries: Vec<&[u8]> = (0..other.len()).map(|q| other.row(q)).collect();
            Ok(hamming(simd::level(), release.bytes(), &queries, top))
        }
        (Metric::Hamming, _) => Err(ParameterError::invalid(
            "Hamming ranks released bits against released bits; use cosine or inner-product here",
        )),
        (metric, queries) => match symbols::Packed::new(release) {
            Some(packed) => Ok(packed.search(&query_values(release, queries), top, metric)),
            None => Ok(by_score(release, queries, top, metric)),
        },
    }
}

/// Rows that a task scans between two looks at the others: a multiple of [`ROWS`].
const TASK_ROWS: usize = 1 << 13;

/// Rows whose distances are computed before they are looked at.
const PLAIN_ROWS: usize = 512;

/// All queries meet a block of rows while it is in the cache.
fn hamming(level: Level, rows: &[u8], queries: &[&[u8]], top: usize) -> Vec<Vec<Hit>> {
    let Some(width) = queries.first().map(|query| query.len()) else { return Vec::new() };
    assert!(rows.len() / width <= u32::MAX as usize, "rows are numbered in 32 bits");
    let fresh = || vec![Nearest::new(top, 8 * width as u32); queries.len()];
    // Turning bits into lanes pays from a few queries on.
    let tables: Vec<_> = match queries.len() > 3 && width <= MOST_BYTES {
        true => queries.iter().map(|query| kernels::nibble_tables(query)).collect(),
        false => Vec::new(),
    };
    let scan = |mut nearest: Vec<Nearest>, (task, rows): (usize, &[u8])| {
        let first = task * TASK_ROWS;
        let whole = if tables.is_empty() { 0 } else { rows.len() / (ROWS * width) * ROWS };
        let (blocks, rest) = rows.split_at(whole * width);
        let (mut low, mut high) = (Aligned::new(width * ROWS), Aligned::new(width * ROWS));
        for (block, rows) in blocks.chunks_exact(ROWS * width).enumerate() {
            kernels::split_nibbles(level, rows, width, &mut low, &mut high);
            for (tables, nearest) in tables.chunks(2).zip(nearest.chunks_mut(2)) {
                let (mut out, mut masks) = ([[0; ROWS]; 2], [0; 2]);
                let last = nearest.len() - 1; // an odd query is compared with itself
                let limits = [0, last].map(|q| nearest[q].limit() as u16);
                let pair = [&tables[0], &tables[last]];
                kernels::distances(level, &low, &high, pair, limits, &mut out, &mut masks);
                for ((nearest, out), mut mask) in nearest.iter_mut().zip(&out).zip(masks) {
                    while mask != 0 {
                        let r = mask.trailing_zeros() as usize;
                        nearest.offer((first + block * ROWS + r) as u32, out[r].into());
                        mask &= mask - 1;
                    }
                }
            }
        }
        let mut out = [0; PLAIN_ROWS];
        for (part, rest) in rest.chunks(PLAIN_ROWS * width).enumerate() {
            let first = first + whole + part * PLAIN_ROWS;
            for (query, nearest) in queries.iter().zip(&mut nearest) {
                let out = &mut out[..rest.len() / width];
                kernels::plain_distances(level, rest, query, out);
                // Most parts have nothing below the limit, which is seen at once.
                if out.iter().fold(u32::MAX, |least, &distance| least.min(distance)) < nearest.limit() {
                    (first..).zip(&*out).for_each(|(row, &distance)| nearest.offer(row as u32, distance));
                }
            }
        }
        nearest
    };
    let merged = rows
        .par_chunks(TASK_ROWS * width)
        .enumerate()
        .fold(fresh, scan)
        .reduce(fresh, |a, b| a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect());
    merged.into_iter().map(Nearest::into_hits).collect()
}

/// What the coordinates of released rows count: bins of a public partition by their size, bits and all others alike.
pub(crate) fn row_weights(release: &Release) -> Option<Vec<f32>> {
    match release.mechanism().id().output() {
        OutputKind::Bits => None,
        _ => release.mechanism().projection().bin_weights(),
    }
}

/// Every query as values, weighted like the rows; an exact query always by the sizes of its bins.
pub(crate) fn query_values(release: &Release, queries: Queries<'_>) -> Vec<Vec<f32>> {
    let (mut values, weights) = match queries {
        Queries::Released(other) => {
            ((0..other.len()).map(|q| other.values(q)).collect::<Vec<_>>(), row_weights(release))
        }
        Queries::Exact(exact) => {
            let weights = release.mechanism().projection().bin_weights();
            ((0..exact.len()).map(|q| exact.row(q).to_vec()).collect(), weights)
        }
    };
    if let Some(weights) = weights {
        values.iter_mut().for_each(|query| weigh(query, &weights));
    }
    values
}

pub(crate) fn weigh(values: &mut [f32], weights: &[f32]) {
    values.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
}

/// Inner products on decoded rows: every encoding, and what the look-up of packed rows is checked against.
fn by_score(release: &Release, queries: Queries<'_>, top: usize, metric: Metric) -> Vec<Vec<Hit>> {
    let weights = row_weights(release);
    let decode = |row: usize, out: &mut [f32]| {
        release.encoder().decode(release.row(row), out);
        if let Some(weights) = &weights {
            weigh(out, weights);
        }
    };
    nearest(simd::level(), release.len(), &decode, &query_values(release, queries), top, metric)
}

/// Decoded rows that stay in a core's second cache while all queries pass.
const DECODED_BYTES: usize = 1 << 17;

/// Queries that stay in its first cache while those rows pass.
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
    let length = |values: &[f32]| dot(values, values).sqrt().max(f32::MIN_POSITIVE);
    let norm = |query: &Vec<f32>| if metric == Metric::Cosine { length(query) } else { 1.0 };
    let norms: Vec<f32> = queries.iter().map(norm).collect();
    let block = (DECODED_BYTES / (4 * k)).next_multiple_of(TILE).max(TILE);
    let group = (QUERY_BYTES / (4 * k)).max(1);
    let fresh = || -> Vec<Top> { queries.iter().map(|_| Top::new(top)).collect() };
    let buffers = || (fresh(), Aligned::new(block * k), vec![1.0; block]);
    let scan = |(mut best, mut values, mut scales): (Vec<Top>, Aligned<f32>, Vec<f32>), at: usize| {
        let (first, count) = (at * block, block.min(rows - at * block));
        let mut decoded = vec![0.0; k];
        for (i, scale) in scales.iter_mut().enumerate().take(count) {
            decode(first + i, &mut decoded);
            kernels::lay(&decoded, i % TILE, &mut values[i / TILE * TILE * k..][..TILE * k]);
            if metric == Metric::Cosine {
                *scale = length(&decoded).recip();
            }
        }
        let groups = queries.chunks(group).zip(norms.chunks(group)).zip(best.chunks_mut(group));
        for ((queries, norms), best) in groups {
            let tiles = values.chunks_exact(TILE * k).zip(scales.chunks_exact(TILE));
            for (tile, (values, scales)) in tiles.enumerate().take(count.div_ceil(TILE)) {
                for ((query, norm), best) in queries.iter().zip(norms).zip(best.iter_mut()) {
                    let mut scores = [0.0; TILE];
                    kernels::dots(level, values, query, &mut scores);
                    scores.iter_mut().zip(scales).for_each(|(score, scale)| *score = *score * scale / norm);
                    if best.turns_away(&scores) {
                        continue;
                    }
                    for (row, score) in (tile * TILE..count).zip(scores) {
                        best.offer(first + row, score);
                    }
                }
            }
        }
        (best, values, scales)
    };
    let merged = (0..rows.div_ceil(block))
        .into_par_iter()
        .with_min_len(TASK_ROWS.div_ceil(block))
        .fold(buffers, scan)
        .map(|(best, ..)| best)
        .reduce(fresh, |a, b| a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect());
    merged.into_iter().map(Top::into_hits).collect()
}

/// Inner product in sixteen lanes: the order of additions is fixed, so scores are equal on every machine.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0f32; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances, masks and selection against plain counting, for code lengths up to 300 bytes and any number of rows.
    #[test]
    fn hamming_equals_plain_counting_at_every_level() {
        let byte = |i: usize| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45) as u8;
        for (case, width) in (1..=300).step_by(23).chain([16, 32, 64, 128]).enumerate() {
            let rows = [0, 1, 63, 64, 65, 200, 1000][case % 7];
            let data: Vec<u8> = (0..rows * width).map(byte).collect();
            for count in [1, 2, 4, 5, 9] {
                let asked: Vec<u8> = (0..count * width).map(|i| byte(i + 77)).collect();
                let queries: Vec<&[u8]> = asked.chunks_exact(width).collect();
                for level in Level::all() {
                    let found = hamming(level, &data, &queries, 7);
                    for (query, found) in queries.iter().zip(&found) {
                        let distance =
                            |row: &[u8]| row.iter().zip(*query).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
                        let mut all: Vec<(u32, usize)> = data.chunks_exact(width).map(distance).zip(0..).collect();
                        all.sort_unstable();
                        all.truncate(7);
                        assert!(
                            found.iter().map(|hit| (hit.score as u32, hit.row)).eq(all),
                            "{width} {rows} {level:?}"
                        );
                    }
                }
            }
        }
    }

    /// Distances and masks themselves: the selection would forgive a mask with a row too many.
    #[test]
    fn distances_and_masks_are_equal_at_every_level() {
        let byte = |i: usize| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45) as u8;
        for width in 1..=300 {
            let rows: Vec<u8> = (0..ROWS * width).map(byte).collect();
            let [a, b] =
                [7, 13].map(|start| kernels::nibble_tables(&(0..width).map(|i| byte(i + start)).collect::<Vec<_>>()));
            let limits = [4 * width as u16, 4 * width as u16 + 2];
            let all: Vec<_> = Level::all()
                .map(|level| {
                    let (mut low, mut high) = (vec![0; rows.len()], vec![0; rows.len()]);
                    let (mut out, mut masks) = ([[0; ROWS]; 2], [0; 2]);
                    kernels::split_nibbles(level, &rows, width, &mut low, &mut high);
                    kernels::distances(level, &low, &high, [&a, &b], limits, &mut out, &mut masks);
                    (low, high, out, masks)
                })
                .collect();
            assert!(all.iter().all(|this| *this == all[0]), "{width}");
        }
    }

    /// The vector kernel adds in the plain order: not one bit differs, for any length.
    #[test]
    fn inner_products_are_equal_bit_for_bit() {
        for k in 0..=300 {
            let value = |i: usize| ((i * 7919 % 2003) as f32 - 1001.0) * 1e-3 * (1.0 + (i % 7) as f32 * 1e3);
            let rows: Vec<f32> = (0..TILE * k).map(value).collect();
            let query: Vec<f32> = (0..k).map(|i| value(i + 31)).collect();
            for level in Level::all() {
                let (mut out, mut tile) = ([0.0; TILE], vec![0.0; TILE * k]);
                (0..TILE).for_each(|r| kernels::lay(&rows[r * k..][..k], r, &mut tile));
                kernels::dots(level, &tile, &query, &mut out);
                for (r, out) in out.iter().enumerate().filter(|_| k > 0) {
                    assert_eq!(out.to_bits(), dot(&query, &rows[r * k..][..k]).to_bits(), "{k} {level:?}");
                }
            }
        }
    }
}
