//! Exact top-R over released rows: Hamming on bits, cosine or inner product on values and symbols.
//!
//! A query is either released too, or the searcher's own exact vector: projected, not noised. The exact query of a
//! searcher is not protected, and ranks clearly better. Ties go to the lower row, so results are repeatable. Bins of a
//! public partition are read as the nearest value that a row can have, and weighted by `1/sqrt` of their attributes.

mod hits;
mod kernels;
mod metric;
mod select;
mod symbols;
mod table;
mod top;
mod words;

pub use hits::write_hits;
pub use table::{Found, Table, TableSearch};
pub use top::Hit;
pub(crate) use top::Top;

use crate::certificate::Certificate;
use crate::error::{DataError, DataErrorKind, LibraryError, SearchError};
use crate::release::{Encoder, Encoding, Release};
use kernels::{MOST_BYTES, QUERIES, ROWS, TILE, Turned};
use rayon::prelude::*;
use scumble_core::mechanism::{Mechanism, OutputKind, Perturbation};
use scumble_core::parallel;
use scumble_core::simd::{self, Aligned, Level};
use scumble_core::vectors::Rows;
use select::Nearest;
use std::sync::atomic::{AtomicUsize, Ordering};
use zerocopy::FromBytes;

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
        // The sketch was clipped before its noise: so is the query, to rank like with like.
        let most = match mechanism.perturbation() {
            Perturbation::Noise { clip: Some(clip), .. } => *clip,
            Perturbation::Noise { clip: None, .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Flips { .. }
            | Perturbation::Cap(_)
            | Perturbation::Symbols { .. }
            | Perturbation::Individual { .. } => i64::MAX,
        };
        let (mut values, mut exact) = (vec![0.0; x.len()], vec![0.0; k]);
        for (values, x) in values.chunks_exact_mut(k).zip(x.chunks_exact_mut(k)) {
            x.iter_mut().for_each(|x| *x = (*x).clamp(-most, most));
            mechanism.to_exact(x, &mut exact);
            values.iter_mut().zip(&exact).for_each(|(value, &exact)| *value = exact as f32);
        }
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

    /// All queries, one after another.
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
    default_metric_of(release.mechanism(), queries)
}

fn default_metric_of(mechanism: &Mechanism, queries: Queries<'_>) -> Metric {
    match (mechanism.id().output(), queries) {
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
) -> Result<Vec<Vec<Hit>>, LibraryError> {
    let metric = metric.unwrap_or_else(|| default_metric(release, queries));
    let searcher = Searcher::new(release.certificate(), release.mechanism(), release.encoder(), queries, top, metric)?;
    Ok(parallel::run(|| {
        let mut best = searcher.fresh();
        searcher.scan(0, release.bytes(), &mut best);
        hits(best)
    }))
}

/// Queries that are ready to meet the rows of a release, all at once or piece by piece.
struct Searcher {
    top: usize,
    width: usize, // bytes of a row
    way: Way,
}

enum Way {
    Hamming(HammingScan),
    Packed(symbols::PackedScan),
    Words(words::WordScan),
    Values { scan: ValueScan, encoder: Encoder, reading: Reading },
}

/// The best rows that one thread has met, for every query.
enum Best {
    Nearest(Vec<Nearest>),
    Top(Vec<Top>, Aligned<f32>),
}

impl Searcher {
    /// Checks that such queries can be compared with such rows.
    fn new(
        certificate: &Certificate,
        mechanism: &Mechanism,
        encoder: &Encoder,
        queries: Queries<'_>,
        top: usize,
        metric: Metric,
    ) -> Result<Self, LibraryError> {
        simd::check()?;
        if top == 0 {
            return Err(SearchError::Top.into());
        }
        if let Queries::Released(other) = queries {
            certificate.same_projection(other.certificate())?;
            if encoder.encoding() != other.encoder().encoding() && metric == Metric::Hamming {
                return Err(SearchError::HammingBits.into());
            }
        }
        let (level, width) = (simd::level(), encoder.bytes_per_row());
        let way = match (metric, queries) {
            (Metric::Hamming, Queries::Released(other)) if mechanism.id().output() == OutputKind::Bits => {
                Way::Hamming(HammingScan::new(level, width, (0..other.len()).map(|q| other.row(q)).collect()))
            }
            (Metric::Hamming, _) => {
                return Err(SearchError::HammingReleased.into());
            }
            (metric, queries) => {
                let (reading, queries) = (Reading::of_rows(mechanism), query_values(mechanism, queries));
                let words = words::WordScan::new(level, encoder, &queries, metric);
                let packed = || symbols::PackedScan::new(level, encoder, &reading, &queries, metric);
                match words.map(Way::Words).or_else(|| packed().map(Way::Packed)) {
                    Some(way) => way,
                    None => {
                        let scan = ValueScan::new(level, encoder.k(), &queries, metric);
                        Way::Values { scan, encoder: encoder.clone(), reading }
                    }
                }
            }
        };
        Ok(Self { top, width, way })
    }

    /// Room for what each thread finds.
    fn fresh(&self) -> Vec<Best> {
        let tops = |queries: usize| Best::Top((0..queries).map(|_| Top::new(self.top)).collect(), Aligned::default());
        let one = |_| match &self.way {
            Way::Hamming(scan) => Best::Nearest(scan.fresh(self.top)),
            Way::Packed(scan) => tops(scan.queries()),
            Way::Words(scan) => tops(scan.queries()),
            Way::Values { scan, .. } => tops(scan.norms.len()),
        };
        (0..rayon::current_num_threads()).map(one).collect()
    }

    fn queries(&self) -> usize {
        match &self.way {
            Way::Hamming(scan) => scan.queries.len(),
            Way::Packed(scan) => scan.queries(),
            Way::Words(scan) => scan.queries(),
            Way::Values { scan, .. } => scan.norms.len(),
        }
    }

    /// Meets the rows from number `first` on, on all cores. Rows must come in rising order.
    fn scan(&self, first: usize, rows: &[u8], best: &mut [Best]) {
        let (next, step) = (AtomicUsize::new(0), task_rows(self.queries()));
        let bytes = step * self.width;
        // Each thread takes pieces in rising order: among equals the lower row is the first that it meets.
        best.par_iter_mut().for_each(|best| {
            loop {
                let task = next.fetch_add(1, Ordering::Relaxed);
                let Some(rows) = rows.get(task * bytes..).filter(|rows| !rows.is_empty()) else { return };
                if parallel::stopped() {
                    return;
                }
                self.scan_piece(first + task * step, &rows[..bytes.min(rows.len())], best);
            }
        });
    }

    fn scan_piece(&self, first: usize, rows: &[u8], best: &mut Best) {
        match (&self.way, best) {
            (Way::Hamming(scan), Best::Nearest(best)) => scan.scan(first, rows, best),
            (Way::Packed(scan), Best::Top(best, _)) => scan.scan(first, rows, best),
            (Way::Words(scan), Best::Top(best, _)) => scan.scan(first, rows, best),
            (Way::Values { scan, encoder, reading }, Best::Top(best, room)) => {
                if let (Some(values), true) = (as_floats(encoder, rows), reading.is_plain()) {
                    return scan.scan_all(first, values, best);
                }
                let decode = |i: usize, out: &mut [f32]| {
                    encoder.decode(&rows[i * self.width..][..self.width], out);
                    reading.apply(out);
                };
                scan.scan_decoded(first, rows.len() / self.width, &decode, room, best);
            }
            _ => unreachable!("made by this searcher"),
        }
    }
}

/// Rows of floats in place, if their format is the processor's own.
fn as_floats<'a>(encoder: &Encoder, rows: &'a [u8]) -> Option<&'a [f32]> {
    let plain = cfg!(target_endian = "little") && encoder.encoding() == Encoding::F32;
    if plain { <[f32]>::ref_from_bytes(rows).ok() } else { None }
}

/// What all threads have found together, best first.
fn hits(best: Vec<Best>) -> Vec<Vec<Hit>> {
    let merged = best.into_iter().reduce(|a, b| match (a, b) {
        (Best::Nearest(a), Best::Nearest(b)) => Best::Nearest(a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect()),
        (Best::Top(a, room), Best::Top(b, _)) => {
            Best::Top(a.into_iter().zip(b).map(|(a, b)| a.merge(b)).collect(), room)
        }
        _ => unreachable!("made by one searcher"),
    });
    match merged.expect("at least one thread") {
        Best::Nearest(best) => best.into_iter().map(Nearest::into_hits).collect(),
        Best::Top(best, _) => best.into_iter().map(Top::into_hits).collect(),
    }
}

/// Most rows that a thread scans at a time.
const TASK_ROWS: usize = 1 << 13;

/// Most pairs of a row and a query that a thread scores before it checks whether they are still wanted.
const TASK_PAIRS: usize = 1 << 24;

/// Rows that a thread scans at a time: a multiple of [`ROWS`].
fn task_rows(queries: usize) -> usize {
    (TASK_PAIRS / queries.max(1) / ROWS * ROWS).clamp(ROWS, TASK_ROWS)
}

/// Rows whose distances are computed before they are looked at.
const PLAIN_ROWS: usize = 512;

/// Bits to be found by their Hamming distance.
struct HammingScan {
    level: Level,
    width: usize,
    queries: Vec<Vec<u8>>,
    turned: Vec<Turned>, // none for few queries: turning bits into lanes does not pay then
}

impl HammingScan {
    fn new(level: Level, width: usize, queries: Vec<&[u8]>) -> Self {
        let turned = match queries.len() > 3 && width <= MOST_BYTES {
            true => queries.iter().map(|query| Turned::new(query)).collect(),
            false => Vec::new(),
        };
        Self { level, width, queries: queries.into_iter().map(<[u8]>::to_vec).collect(), turned }
    }

    fn fresh(&self, top: usize) -> Vec<Nearest> {
        vec![Nearest::new(top, 8 * self.width as u32); self.queries.len()]
    }

    /// All queries meet a block of rows while it is in the cache.
    fn scan(&self, first: usize, rows: &[u8], nearest: &mut [Nearest]) {
        let Self { level, width, queries, turned } = self;
        let (level, width) = (*level, *width);
        assert!(first + rows.len() / width <= u32::MAX as usize, "rows are numbered in 32 bits");
        let whole = if turned.is_empty() { 0 } else { rows.len() / (ROWS * width) * ROWS };
        let (blocks, rest) = rows.split_at(whole * width);
        let mut lanes = Aligned::new(kernels::turned_bytes(width));
        let (mut out, mut masks) = ([[0; ROWS]; 2], [0; 2]);
        for (block, rows) in blocks.chunks_exact(ROWS * width).enumerate() {
            kernels::turn(level, rows, width, &mut lanes);
            for (turned, nearest) in turned.chunks(2).zip(nearest.chunks_mut(2)) {
                let last = nearest.len() - 1; // an odd query is compared with itself
                let limits = [nearest[0].limit() as u16, nearest[last].limit() as u16];
                let pair = [&turned[0], &turned[last]];
                kernels::distances(level, &lanes, pair, limits, &mut out, &mut masks);
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
            for (query, nearest) in queries.iter().zip(&mut *nearest) {
                let out = &mut out[..rest.len() / width];
                kernels::plain_distances(level, rest, query, out);
                // Most parts have nothing below the limit, which is seen at once.
                if out.iter().fold(u32::MAX, |least, &distance| least.min(distance)) < nearest.limit() {
                    (first..).zip(&*out).for_each(|(row, &distance)| nearest.offer(row as u32, distance));
                }
            }
        }
    }
}

/// The least and the largest value that each coordinate of a row can have.
#[derive(Debug, Clone)]
pub(crate) struct Bounds(Vec<[f32; 2]>);

impl Bounds {
    /// `None` where they are not known.
    pub(crate) fn of(mechanism: &Mechanism) -> Option<Self> {
        Some(Self(mechanism.value_bounds()?.into_iter().map(|ends| ends.map(|end| end as f32)).collect()))
    }

    /// Moves each value to the nearest one within.
    pub(crate) fn apply(&self, row: &mut [f32]) {
        row.iter_mut().zip(&self.0).for_each(|(value, [lo, hi])| *value = value.clamp(*lo, *hi));
    }
}

/// How values are read before they are compared, by public numbers. Those of a public partition are moved to the nearest
/// value that a row can have, which takes no row away from the truth, and then count by the size of their bin.
#[derive(Default)]
pub(crate) struct Reading {
    bounds: Option<Bounds>,
    weights: Option<Vec<f32>>,
}

impl Reading {
    /// Of released rows; bits count alike.
    pub(crate) fn of_rows(mechanism: &Mechanism) -> Self {
        let reading = Self::of_exact(mechanism);
        match mechanism.id().output() {
            OutputKind::Bits => Self::default(),
            _ if reading.weights.is_none() => reading,
            _ => Self { bounds: Bounds::of(mechanism), ..reading },
        }
    }

    /// Of vectors without noise.
    pub(crate) fn of_exact(mechanism: &Mechanism) -> Self {
        Self { bounds: None, weights: mechanism.projection().bin_weights() }
    }

    /// True if rows count as they are.
    fn is_plain(&self) -> bool {
        self.bounds.is_none() && self.weights.is_none()
    }

    /// What coordinate `j` counts as.
    fn value(&self, j: usize, value: f32) -> f32 {
        let value = self.bounds.as_ref().map_or(value, |bounds| value.clamp(bounds.0[j][0], bounds.0[j][1]));
        value * self.weights.as_ref().map_or(1.0, |weights| weights[j])
    }

    /// What a whole row counts as.
    pub(crate) fn apply(&self, row: &mut [f32]) {
        if let Some(bounds) = &self.bounds {
            bounds.apply(row);
        }
        if let Some(weights) = &self.weights {
            row.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
        }
    }
}

/// Every query as values, read like the rows where it was released; an exact one always by the sizes of its bins.
pub(crate) fn query_values(mechanism: &Mechanism, queries: Queries<'_>) -> Vec<Vec<f32>> {
    let (mut values, reading): (Vec<Vec<f32>>, _) = match queries {
        Queries::Released(other) => {
            ((0..other.len()).map(|q| other.values(q)).collect(), Reading::of_rows(other.mechanism()))
        }
        Queries::Exact(exact) => {
            ((0..exact.len()).map(|q| exact.row(q).to_vec()).collect(), Reading::of_exact(mechanism))
        }
    };
    values.iter_mut().for_each(|query| reading.apply(query));
    values
}

/// All rows of a release as [`search`] compares them, one after another: for stores that rank by cosine.
pub fn compared_values(release: &Release) -> Vec<f32> {
    let (reading, mut values) = (Reading::of_rows(release.mechanism()), release.all_values());
    values.chunks_exact_mut(release.k()).for_each(|row| reading.apply(row));
    values
}

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
    let k = queries.first().map_or(1, Vec::len);
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
struct ValueScan {
    level: Level,
    metric: Metric,
    k: usize,
    block: usize, // rows that are decoded at a time
    queries: Aligned<f32>,
    norms: Vec<f32>,
}

impl ValueScan {
    fn new(level: Level, k: usize, queries: &[Vec<f32>], metric: Metric) -> Self {
        let mut all = Aligned::new(queries.len() * k);
        all.chunks_exact_mut(k).zip(queries).for_each(|(to, query)| to.copy_from_slice(query));
        let norm = |query: &[f32]| if metric == Metric::Cosine { length(level, query) } else { 1.0 };
        let norms = all.chunks_exact(k).map(norm).collect();
        let block = (DECODED_BYTES / (4 * k)).next_multiple_of(TILE).max(TILE);
        Self { level, metric, k, block, queries: all, norms }
    }

    /// Offers rows, the first of which has this number, in blocks that stay in the cache while all queries pass.
    fn scan_all(&self, first: usize, rows: &[f32], best: &mut [Top]) {
        for (block, rows) in rows.chunks(self.block * self.k).enumerate() {
            self.scan(first + block * self.block, rows, best);
        }
    }

    /// Offers `rows` rows, which `decode` gives as values, from number `first` on.
    fn scan_decoded(
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
            for (tile, (rows, scales)) in rows.chunks(TILE * width).zip(scales.chunks(TILE)).enumerate() {
                // What is missing in the last tile or group is the last row or query once more.
                let row = |r: usize| &rows[r.min(scales.len() - 1) * width..][..width];
                let rows: [&[f32]; TILE] = std::array::from_fn(row);
                for ((queries, norms), best) in
                    queries.chunks(QUERIES * width).zip(norms.chunks(QUERIES)).zip(best.chunks_mut(QUERIES))
                {
                    let query = |q: usize| &queries[q.min(norms.len() - 1) * width..][..width];
                    let mut scores = [[0.0; TILE]; QUERIES];
                    match norms.len() {
                        1 => kernels::dots_one(level, rows, query(0), &mut scores[0]),
                        _ => kernels::dots(level, rows, std::array::from_fn(query), &mut scores),
                    }
                    for ((mut scores, norm), best) in scores.into_iter().zip(norms).zip(best.iter_mut()) {
                        let scores = &mut scores[..scales.len()];
                        scores.iter_mut().zip(scales).for_each(|(score, scale)| *score = *score * scale / norm);
                        if !best.turns_away(scores) {
                            (first + tile * TILE..).zip(scores).for_each(|(row, score)| best.offer(row, *score));
                        }
                    }
                }
            }
        }
    }
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
            let asked = queries.len() / width;
            let mut out = [[0.0; TILE]; QUERIES];
            let group_queries = std::array::from_fn(|q| &queries[q.min(asked - 1) * width..][..width]);
            kernels::dots(level, tile_rows, group_queries, &mut out);
            for (q, out) in out[..asked].iter().enumerate() {
                (0..count).for_each(|r| each(group * QUERIES + q, tile * TILE + r, out[r]));
            }
        }
    }
}

/// Euclidean length, never 0.
fn length(level: Level, values: &[f32]) -> f32 {
    kernels::dot(level, values, values).sqrt().max(f32::MIN_POSITIVE)
}

/// Inner product with fused multiplications, in an order of additions that is fixed: scores are equal on every machine.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    kernels::dot(simd::level(), a, b)
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
                    let scan = HammingScan::new(level, width, queries.clone());
                    let searcher = Searcher { top: 7, width, way: Way::Hamming(scan) };
                    let mut best = searcher.fresh();
                    let cut = rows / 3 * width; // in two pieces
                    searcher.scan(0, &data[..cut], &mut best);
                    searcher.scan(rows / 3, &data[cut..], &mut best);
                    let found = hits(best);
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
            let [a, b] = [7, 13].map(|start| Turned::new(&(0..width).map(|i| byte(i + start)).collect::<Vec<_>>()));
            let limits = [4 * width as u16, 4 * width as u16 + 2];
            let all: Vec<_> = Level::all()
                .map(|level| {
                    let mut lanes = vec![0xa5; kernels::turned_bytes(width)]; // what was there before does not count
                    let (mut out, mut masks) = ([[0; ROWS]; 2], [0; 2]);
                    kernels::turn(level, &rows, width, &mut lanes);
                    kernels::distances(level, &lanes, [&a, &b], limits, &mut out, &mut masks);
                    // Distances that nobody looks at may stay unwritten.
                    out.iter_mut().zip(masks).filter(|(_, mask)| *mask == 0).for_each(|(out, _)| *out = [0; ROWS]);
                    (out, masks)
                })
                .collect();
            assert!(all.iter().all(|this| *this == all[0]), "{width}");
        }
    }

    /// One query, rows in place: every number of rows around groups of eight, also where no bit agrees.
    #[test]
    fn plain_distances_are_equal_at_every_level() {
        for width in [1, 31, 32, 63, 64, 65, 128] {
            let query: Vec<u8> = (0..width).map(|i| (i * 37) as u8).collect();
            for count in 0..40 {
                let byte =
                    |i: usize| if (i / width).is_multiple_of(3) { !query[i % width] } else { ((i * 7919) >> 3) as u8 };
                let rows: Vec<u8> = (0..count * width).map(byte).collect();
                for level in Level::all() {
                    let mut out = vec![0; count];
                    kernels::plain_distances(level, &rows, &query, &mut out);
                    let differing = |row: &[u8]| row.iter().zip(&query).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
                    assert!(rows.chunks_exact(width).map(differing).eq(out), "{width} {count} {level:?}");
                }
            }
        }
    }

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
                    let queries = std::array::from_fn(|q| row(TILE + q));
                    kernels::dots(level, std::array::from_fn(row), queries, &mut out);
                    for (q, out) in out.iter().enumerate() {
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
