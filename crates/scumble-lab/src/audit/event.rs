//! An event that one row makes likelier than its neighbour: chosen on one sample, to be counted on another.
//!
//! The score of an output is an estimated log-likelihood ratio, learnt on the first half of the sample: the sum over
//! coordinates of the log ratio of the cell that each falls into, or the log ratio of the whole output where few
//! different ones occur. The threshold, the side of it and the better of the scores are chosen on the second half.
//! Nothing here needs to be right for the bound to be valid: a bad choice only gives a weak bound.

use std::collections::HashMap;
use std::ops::Range;

/// Released outputs, `width` numbers each.
pub(super) struct Sample {
    pub width: usize,
    pub values: Vec<f32>,
}

impl Sample {
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.width)
    }

    /// To learn from, and to choose with.
    fn halves(&self) -> (&[f32], &[f32]) {
        self.values.split_at(self.len() / 2 * self.width)
    }
}

/// `{y : score(y) >= threshold}`, likelier from the first row; or `<=`, likelier from the second.
pub(super) struct Event {
    score: Score,
    threshold: f32,
    above: bool,
}

enum Score {
    Cells(Vec<Column>),
    Whole { columns: Range<usize>, ratios: HashMap<u64, f32> },
}

/// One coordinate, cut into cells, with the log ratio of each.
struct Column {
    at: usize,
    cuts: Vec<f32>,
    ratios: Vec<f32>,
}

/// What a sample says about an event: how often it happened from the row that makes it likelier, and from the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub likelier: u64,
    pub other: u64,
}

impl Event {
    /// The event with the largest bound that can be expected from the sample, and that bound.
    ///
    /// `views` are the groups of columns that are scored on their own; `deviations` is the width of the bounds to come.
    pub fn choose(samples: &[Sample; 2], views: &[Range<usize>], delta: f64, deviations: f64) -> (Self, f64) {
        let width = samples[0].width;
        let [(learn_a, choose_a), (learn_b, choose_b)] = [samples[0].halves(), samples[1].halves()];
        let scores = views.iter().flat_map(|view| {
            [Score::by_cells(learn_a, learn_b, width, view), Score::of_whole_outputs(learn_a, learn_b, width, view)]
        });
        let mut best: Option<(Self, f64)> = None;
        for score in scores.flatten() {
            let [a, b] = [choose_a, choose_b].map(|half| {
                let mut scores: Vec<f32> = half.chunks_exact(width).map(|row| score.of(row)).collect();
                scores.sort_by(f32::total_cmp);
                scores
            });
            let (threshold, above, bound) = best_threshold(&a, &b, delta, deviations);
            if best.as_ref().is_none_or(|(_, most)| bound > *most) {
                best = Some((Self { score, threshold, above }, bound));
            }
        }
        best.expect("cells always give a score")
    }

    /// Counts it in fresh samples of the same two rows.
    pub fn count(&self, samples: &[Sample; 2]) -> Counts {
        let hits = |sample: &Sample| {
            let hit = |row: &&[f32]| match self.above {
                true => self.score.of(row) >= self.threshold,
                false => self.score.of(row) <= self.threshold,
            };
            sample.rows().filter(hit).count() as u64
        };
        let [first, second] = [hits(&samples[0]), hits(&samples[1])];
        match self.above {
            true => Counts { likelier: first, other: second },
            false => Counts { likelier: second, other: first },
        }
    }
}

/// ln of a smoothed ratio of counts.
fn log_ratio(a: u32, b: u32) -> f32 {
    ((f64::from(a) + 0.5) / (f64::from(b) + 0.5)).ln() as f32
}

impl Score {
    fn of(&self, row: &[f32]) -> f32 {
        match self {
            Self::Cells(columns) => columns.iter().map(|column| column.ratios[column.cell(row[column.at])]).sum(),
            Self::Whole { columns, ratios } => ratios.get(&key(&row[columns.clone()])).copied().unwrap_or(0.0),
        }
    }

    fn by_cells(a: &[f32], b: &[f32], width: usize, view: &Range<usize>) -> Option<Self> {
        // A column that the move does not touch would only add noise to the score.
        let mut columns: Vec<(f64, Column)> = view.clone().map(|at| Column::learn(a, b, width, at)).collect();
        columns.sort_by(|x, y| y.0.total_cmp(&x.0));
        let telling = columns.iter().filter(|(excess, _)| *excess > 4.0).count().max(1);
        columns.truncate(telling);
        Some(Self::Cells(columns.into_iter().map(|(_, column)| column).collect()))
    }

    /// Only where outputs repeat: else a ratio says nothing about the next sample.
    fn of_whole_outputs(a: &[f32], b: &[f32], width: usize, view: &Range<usize>) -> Option<Self> {
        let most = a.len() / width / 16;
        let mut counts: HashMap<u64, (u32, u32)> = HashMap::new();
        for (from_a, half) in [(true, a), (false, b)] {
            for row in half.chunks_exact(width) {
                let count = counts.entry(key(&row[view.clone()])).or_default();
                *(if from_a { &mut count.0 } else { &mut count.1 }) += 1;
                if counts.len() > most {
                    return None;
                }
            }
        }
        let ratios = counts.into_iter().map(|(output, (a, b))| (output, log_ratio(a, b))).collect();
        Some(Self::Whole { columns: view.clone(), ratios })
    }
}

/// A number for a whole output; two outputs share one with a chance of 2^-64.
fn key(row: &[f32]) -> u64 {
    row.iter().fold(0, |key: u64, value| {
        (key.rotate_left(23) ^ u64::from(value.to_bits())).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    })
}

impl Column {
    /// The column, and how far the halves differ in it: in standard deviations of the chi-square of equal laws.
    fn learn(a: &[f32], b: &[f32], width: usize, at: usize) -> (f64, Self) {
        let column = |half: &[f32]| half.iter().skip(at).step_by(width).copied().collect::<Vec<f32>>();
        let (a, b) = (column(a), column(b));
        let most = ((a.len() as f64).sqrt() / 4.0).clamp(4.0, 64.0) as usize;
        let mut cuts: Vec<f32> = [&a, &b].into_iter().flat_map(|half| quantiles(half, most)).collect();
        cuts.sort_by(f32::total_cmp);
        cuts.dedup();
        let mut column = Self { at, ratios: vec![0.0; cuts.len() + 1], cuts };
        let [in_a, in_b] = [&a, &b].map(|half| {
            let mut counts = vec![0u32; column.ratios.len()];
            half.iter().for_each(|&value| counts[column.cell(value)] += 1);
            counts
        });
        let cells = || in_a.iter().zip(&in_b).map(|(&a, &b)| (a, b)).filter(|(a, b)| a + b > 0);
        let chi: f64 = cells().map(|(a, b)| f64::from(a.abs_diff(b)).powi(2) / f64::from(a + b)).sum();
        let freedom = cells().count().max(2) as f64 - 1.0;
        column.ratios = in_a.iter().zip(&in_b).map(|(&a, &b)| log_ratio(a, b)).collect();
        ((chi - freedom) / (2.0 * freedom).sqrt(), column)
    }

    #[inline]
    fn cell(&self, value: f32) -> usize {
        self.cuts.partition_point(|&cut| cut <= value)
    }
}

/// Up to `count` values that cut a sample into even parts; every value where there are few different ones.
fn quantiles(values: &[f32], count: usize) -> Vec<f32> {
    let stride = (values.len() / 8192).max(1); // cuts need no more than a few thousand
    let mut sorted: Vec<f32> = values.iter().step_by(stride).copied().collect();
    sorted.sort_by(f32::total_cmp);
    let mut different = sorted.clone();
    different.dedup();
    if different.len() <= count {
        return different;
    }
    (1..count).map(|at| sorted[at * sorted.len() / count]).collect()
}

/// The threshold among sorted scores with the largest expected bound, and its side.
fn best_threshold(a: &[f32], b: &[f32], delta: f64, deviations: f64) -> (f32, bool, f64) {
    let mut candidates: Vec<f32> =
        [a, b].into_iter().flat_map(|scores| (0..200).map(|at| scores[at * (scores.len() - 1) / 199])).collect();
    candidates.sort_by(f32::total_cmp);
    candidates.dedup();
    let below = |scores: &[f32], t: f32| scores.partition_point(|&score| score < t);
    let up_to = |scores: &[f32], t: f32| scores.partition_point(|&score| score <= t);
    let (n, m) = (a.len(), b.len());
    let mut best = (candidates[0], true, f64::NEG_INFINITY);
    for &t in &candidates {
        for (above, likelier, other) in
            [(true, (n - below(a, t), n), (m - below(b, t), m)), (false, (up_to(b, t), m), (up_to(a, t), n))]
        {
            let bound = expected_bound(likelier, other, delta, deviations);
            if bound > best.2 {
                best = (t, above, bound);
            }
        }
    }
    best
}

/// Wilson's bounds instead of the exact ones: cheap, and only used to choose.
fn expected_bound((hits, n): (usize, usize), (others, m): (usize, usize), delta: f64, z: f64) -> f64 {
    let wilson = |hits: usize, n: usize, sign: f64| {
        let (n, p) = (2.0 * n as f64, hits as f64 / n as f64); // the sample to come is twice this half
        let middle = p + z * z / (2.0 * n);
        let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        (middle + sign * spread) / (1.0 + z * z / n)
    };
    ((wilson(hits, n, -1.0) - delta).max(1e-12) / wilson(others, m, 1.0)).ln()
}
