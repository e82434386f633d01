//! Retrieval as in the paper's section 5.1: the true neighbours by cosine, precision@R and recall@R of a ranking.

use super::features::{Features, Row};
use crate::error::{LibraryError, SearchError};
use crate::search::{Hit, Metric, Top, nearest};
use rayon::prelude::*;
use scumble_core::parallel;
use scumble_core::simd;

/// How many neighbours are "true" in the paper.
pub const TRUE_NEIGHBOURS: usize = 50;

/// The `top` rows of `database` with the greatest cosine to each query, best first; among equals, the first row.
///
/// A row of zeros has cosine 0 to everything.
pub fn true_neighbours(database: &Features, queries: &Features, top: usize) -> Result<Vec<Vec<u32>>, LibraryError> {
    if database.dim() != queries.dim() {
        let (found, expected) = (queries.dim(), database.dim());
        return Err(SearchError::QueryDim { found, expected }.into());
    }
    Ok(neighbours(database, queries, top))
}

/// The same for sketches that are known to fit each other.
pub fn neighbours(database: &Features, queries: &Features, top: usize) -> Vec<Vec<u32>> {
    parallel::run(|| match (database.as_dense(), queries.as_dense()) {
        (Some(rows), Some(asked)) => {
            let dim = database.dim();
            let decode = |row: usize, out: &mut [f32]| out.copy_from_slice(&rows[row * dim..][..dim]);
            let asked: Vec<Vec<f32>> = asked.chunks_exact(dim).map(<[f32]>::to_vec).collect();
            rankings(nearest(simd::level(), database.len(), &decode, &asked, top, Metric::Cosine))
        }
        // The length of a query changes no order.
        _ => rankings(sparse_neighbours(&database.clone().normalised(), queries, top)),
    })
}

/// The rows that were found, best first.
pub fn rankings(found: Vec<Vec<Hit>>) -> Vec<Vec<u32>> {
    found.into_iter().map(|hits| hits.iter().map(|hit| hit.row as u32).collect()).collect()
}

/// By column: a query meets only the rows that share an attribute with it.
fn sparse_neighbours(database: &Features, queries: &Features, top: usize) -> Vec<Vec<Hit>> {
    let columns = Columns::of(database);
    (0..queries.len())
        .into_par_iter()
        .map_init(
            || vec![0f32; database.len()],
            |scores, query| {
                if parallel::stopped() {
                    return Vec::new();
                }
                scores.fill(0.0);
                for_each_entry(queries.row(query), |j, x| {
                    let (rows, values) = columns.get(j);
                    rows.iter().zip(values).for_each(|(row, value)| scores[*row as usize] += x * value);
                });
                let mut best = Top::new(top);
                scores.iter().enumerate().for_each(|(row, score)| best.offer(row, *score));
                best.into_hits()
            },
        )
        .collect()
}

fn for_each_entry(row: Row<'_>, mut visit: impl FnMut(usize, f32)) {
    match row {
        Row::Dense(x) => x.iter().enumerate().filter(|(_, x)| **x != 0.0).for_each(|(j, x)| visit(j, *x)),
        Row::Sparse(index, x) => index.iter().zip(x).for_each(|(j, x)| visit(*j as usize, *x)),
    }
}

/// The database by columns.
struct Columns {
    offsets: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f32>,
}

impl Columns {
    fn of(features: &Features) -> Self {
        let mut offsets = vec![0usize; features.dim() + 1];
        (0..features.len()).for_each(|i| for_each_entry(features.row(i), |j, _| offsets[j + 1] += 1));
        (0..features.dim()).for_each(|j| offsets[j + 1] += offsets[j]);
        let total = offsets[features.dim()];
        let (mut rows, mut values, mut next) = (vec![0; total], vec![0.0; total], offsets.clone());
        for i in 0..features.len() {
            for_each_entry(features.row(i), |j, x| {
                (rows[next[j]], values[next[j]]) = (i as u32, x);
                next[j] += 1;
            });
        }
        Self { offsets, rows, values }
    }

    fn get(&self, j: usize) -> (&[u32], &[f32]) {
        let (from, to) = (self.offsets[j], self.offsets[j + 1]);
        (&self.rows[from..to], &self.values[from..to])
    }
}

/// Precision and recall of rankings at one depth, averaged over the queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrecisionRecall {
    /// R, how many rows are retrieved.
    pub at: usize,
    /// Share of the R retrieved rows that are true neighbours.
    pub precision: f64,
    /// Share of the true neighbours that are among the R retrieved rows.
    pub recall: f64,
}

/// Compares rankings (best first, one per query) with the true neighbours, at each depth.
///
/// # Panics
/// If there is not one ranking per query.
pub fn precision_recall(rankings: &[Vec<u32>], truth: &[Vec<u32>], depths: &[usize]) -> Vec<PrecisionRecall> {
    assert_eq!(rankings.len(), truth.len(), "one ranking a query");
    let deepest = depths.iter().copied().max().unwrap_or(0);
    // hits[d] = true neighbours among the first d+1, summed over the queries
    let mut hits = vec![0u64; deepest];
    for (ranking, truth) in rankings.iter().zip(truth) {
        let mut sorted = truth.clone();
        sorted.sort_unstable();
        for (place, row) in ranking.iter().take(deepest).enumerate() {
            hits[place] += u64::from(sorted.binary_search(row).is_ok());
        }
    }
    let gold: usize = truth.iter().map(Vec::len).sum();
    depths
        .iter()
        .map(|at| {
            let found = hits[..*at].iter().sum::<u64>() as f64;
            let retrieved = (rankings.len() * at).max(1) as f64;
            PrecisionRecall { at: *at, precision: found / retrieved, recall: found / gold.max(1) as f64 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::random::Fixed;
    use super::*;

    fn random_features(n: usize, dim: usize, keep: f64, random: &mut Fixed) -> (Features, Features) {
        let mut dense = vec![0f32; n * dim];
        let (mut offsets, mut index, mut value) = (vec![0], vec![], vec![]);
        for i in 0..n {
            for j in 0..dim {
                if random.uniform() < keep {
                    let x = (random.below(9) as f32) - 4.0; // small integers: ties happen, sums are exact
                    dense[i * dim + j] = x;
                    index.push(j as u32);
                    value.push(x);
                }
            }
            offsets.push(index.len());
        }
        (Features::dense(dense, dim), Features::sparse(offsets, index, value, dim))
    }

    #[test]
    fn agrees_with_sorting_everything() {
        let mut random = Fixed::new(7);
        let (rows, sparse_rows) = random_features(700, 37, 0.4, &mut random);
        let (queries, sparse_queries) = random_features(20, 37, 0.4, &mut random);
        let unit = rows.clone().normalised();
        // As a score is computed: the product, over the row's length, over the query's.
        let length = |row: Row<'_>| row.squared_norm().sqrt();
        for top in [1, 50, 700, 900] {
            let expected: Vec<Vec<u32>> = (0..queries.len())
                .map(|q| {
                    let Row::Dense(query) = queries.row(q) else { unreachable!() };
                    let score = |i| rows.row(i).dot(query) * length(rows.row(i)).recip() / length(queries.row(q));
                    let mut all: Vec<(f32, u32)> = (0..700).map(|i| (score(i), i as u32)).collect();
                    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                    all.iter().take(top).map(|(_, i)| *i).collect()
                })
                .collect();
            assert_eq!(true_neighbours(&rows, &queries, top).unwrap(), expected);
            // Sums in another order may swap near ties: the sets of scores must agree.
            let sparse = true_neighbours(&sparse_rows, &sparse_queries, top).unwrap();
            for (q, (a, b)) in sparse.iter().zip(&expected).enumerate() {
                let Row::Dense(query) = queries.row(q) else { unreachable!() };
                for (a, b) in a.iter().zip(b) {
                    let [a, b] = [a, b].map(|i| unit.row(*i as usize).dot(query));
                    assert!((a - b).abs() < 1e-4, "{top} {q}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_first_row() {
        let rows = Features::dense(vec![1.0, 0.0, 2.0, 0.0, 0.0, 1.0, 3.0, 0.0], 2);
        let query = Features::dense(vec![5.0, 0.0], 2);
        assert_eq!(true_neighbours(&rows, &query, 3).unwrap(), [[0, 1, 3]]);
    }

    #[test]
    fn precision_and_recall_by_hand() {
        let truth = vec![vec![1, 2, 3, 4], vec![5, 6, 7, 8]];
        let found = vec![vec![1, 9, 2, 0], vec![0, 9, 8, 5]];
        let at = precision_recall(&found, &truth, &[1, 2, 4]);
        assert_eq!(at[0], PrecisionRecall { at: 1, precision: 0.5, recall: 1.0 / 8.0 });
        assert_eq!(at[1], PrecisionRecall { at: 2, precision: 0.25, recall: 1.0 / 8.0 });
        assert_eq!(at[2], PrecisionRecall { at: 4, precision: 0.5, recall: 4.0 / 8.0 });
    }

    #[test]
    fn another_dimension_is_refused() {
        let (a, _) = random_features(3, 4, 1.0, &mut Fixed::new(1));
        let (b, _) = random_features(3, 5, 1.0, &mut Fixed::new(1));
        assert!(true_neighbours(&a, &b, 2).is_err());
    }
}
