//! Exact top-R over released rows: Hamming on bits, cosine or inner product on values and symbols.
//!
//! A query is either released too, or the searcher's own exact vector: projected, not noised. The exact query of a
//! searcher is not protected, and ranks clearly better. Ties go to the lower row, so results are repeatable. Bins of a
//! public partition are read as the nearest value that a row can have, and weighted by `1/sqrt` of their attributes.

mod hamming;
mod hits;
mod kernels;
mod metric;
mod reading;
mod select;
mod symbols;
mod table;
mod top;
mod values;
mod words;

pub use hits::write_hits;
pub use reading::compared_values;
pub(crate) use reading::{Bounds, Reading, query_values};
pub use table::{Found, Table, TableSearch};
pub use top::Hit;
pub(crate) use top::Top;
pub(crate) use values::{dot, each_product, nearest};

use crate::certificate::Certificate;
use crate::error::{DataError, DataErrorKind, LibraryError, SearchError};
use crate::release::{Encoder, Encoding, Release};
use hamming::HammingScan;
use kernels::ROWS;
use rayon::prelude::*;
use scumble_core::mechanism::{Mechanism, OutputKind, Perturbation};
use scumble_core::parallel;
use scumble_core::simd::{self, Aligned};
use scumble_core::vectors::Rows;
use select::Nearest;
use std::sync::atomic::{AtomicUsize, Ordering};
use values::ValueScan;
use zerocopy::FromBytes;

/// Rows that are found for each query unless asked for otherwise.
pub const TOP: usize = 10;

/// How rows are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
            Way::Values { scan, .. } => tops(scan.queries()),
        };
        (0..rayon::current_num_threads()).map(one).collect()
    }

    fn queries(&self) -> usize {
        match &self.way {
            Way::Hamming(scan) => scan.queries(),
            Way::Packed(scan) => scan.queries(),
            Way::Words(scan) => scan.queries(),
            Way::Values { scan, .. } => scan.queries(),
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
