//! Exact top-R over released rows: Hamming on bits, cosine or inner product on values and symbols.
//!
//! A query is either released too, or the searcher's own exact vector: projected, not noised. The exact query of a
//! searcher is not protected, and ranks clearly better. Ties go to the lower row, so results are repeatable.

mod hits;
mod symbols;
mod top;

pub use hits::write_hits;
pub use top::Hit;

use crate::error::{DataError, ParameterError};
use crate::mechanism::{Mechanism, OutputKind, Perturbation};
use crate::release::Release;
use crate::vectors::{QuantisedRow, Rows};
use rayon::prelude::*;
use top::Top;

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
        let k = mechanism.k();
        let mut values = vec![0.0; rows.len() * k];
        values.par_chunks_mut(k).enumerate().try_for_each(|(i, out)| {
            let mut buffer = QuantisedRow::default();
            let mut x = vec![0.0; k];
            let u = rows.quantise(i, mechanism.grid(), 0, &mut buffer)?;
            mechanism.project_exact(u, &mut x).map_err(|kind| DataError { row: i as u64, column: None, kind })?;
            // The sketch was clipped before its noise: so is the query, to rank like with like.
            if let Perturbation::Noise { clip: Some(c), .. } = mechanism.perturbation() {
                let c = *c as f64 * mechanism.value_unit();
                x.iter_mut().for_each(|v| *v = v.clamp(-c, c));
            }
            out.iter_mut().zip(&x).for_each(|(o, &v)| *o = v as f32);
            Ok(())
        })?;
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
            Ok((0..other.len()).into_par_iter().map(|q| hamming(release, other.row(q), top)).collect())
        }
        (Metric::Hamming, _) => Err(ParameterError::invalid(
            "Hamming ranks released bits against released bits; use cosine or inner-product here",
        )),
        (metric, queries) => match symbols::Packed::new(release) {
            Some(packed) => Ok(packed.search(&query_values(queries), top, metric)),
            None => Ok(by_score(release, queries, top, metric)),
        },
    }
}

fn hamming(release: &Release, query: &[u8], top: usize) -> Vec<Hit> {
    let mut best = Top::new(top);
    for (row, bytes) in release.bytes().chunks_exact(query.len()).enumerate() {
        let distance: u32 = bytes.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum();
        best.offer(row, -(distance as f32));
    }
    best.into_hits().into_iter().map(|hit| Hit { score: -hit.score, ..hit }).collect()
}

/// Every query as values.
fn query_values(queries: Queries<'_>) -> Vec<Vec<f32>> {
    match queries {
        Queries::Released(other) => (0..other.len()).map(|q| other.values(q)).collect(),
        Queries::Exact(exact) => (0..exact.len()).map(|q| exact.row(q).to_vec()).collect(),
    }
}

/// Inner products on decoded rows: every encoding, and what the look-up of packed rows is checked against.
fn by_score(release: &Release, queries: Queries<'_>, top: usize, metric: Metric) -> Vec<Vec<Hit>> {
    let k = release.k();
    let rows = release.all_values();
    let scale: Vec<f32> = match metric {
        Metric::Cosine => rows.chunks_exact(k).map(|row| dot(row, row).sqrt().max(f32::MIN_POSITIVE).recip()).collect(),
        _ => vec![1.0; release.len()],
    };
    query_values(queries)
        .into_par_iter()
        .map(|query| {
            let norm = if metric == Metric::Cosine { dot(&query, &query).sqrt().max(f32::MIN_POSITIVE) } else { 1.0 };
            let mut best = Top::new(top);
            for (row, values) in rows.chunks_exact(k).enumerate() {
                best.offer(row, dot(&query, values) * scale[row] / norm);
            }
            best.into_hits()
        })
        .collect()
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
