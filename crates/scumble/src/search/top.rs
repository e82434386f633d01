//! The R best of many, ties to the lower row.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A found row.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Hit {
    /// Row of the release.
    pub row: usize,
    /// Its score.
    pub score: f32,
}

impl Eq for Hit {}

impl Ord for Hit {
    /// The worst is the greatest, so that it is at the top of the heap.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.row.cmp(&other.row))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps the best `size` rows offered in row order.
pub(crate) struct Top {
    size: usize,
    heap: BinaryHeap<Hit>,
    least: f32, // scores below it cannot enter
}

impl Top {
    pub fn new(size: usize) -> Self {
        Self { size, heap: BinaryHeap::with_capacity(size.min(1 << 16) + 1), least: f32::NEG_INFINITY }
    }

    #[inline]
    pub fn offer(&mut self, row: usize, score: f32) {
        // Most rows end here: one comparison.
        if score >= self.least || score.is_nan() {
            self.take_in(Hit { row, score });
        }
    }

    /// True if none of these can enter: one look for a whole tile.
    #[inline]
    pub fn turns_away(&self, scores: &[f32]) -> bool {
        scores.iter().fold(true, |all, &score| all & (score < self.least))
    }

    fn take_in(&mut self, hit: Hit) {
        if self.heap.len() < self.size {
            self.heap.push(hit);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && hit < *worst
        {
            *worst = hit;
        }
        if self.heap.len() == self.size
            && let Some(worst) = self.heap.peek()
        {
            self.least = if worst.score.is_nan() { f32::NEG_INFINITY } else { worst.score };
        }
    }

    /// The best of both.
    pub fn merge(mut self, other: Self) -> Self {
        other.heap.into_iter().for_each(|hit| self.offer(hit.row, hit.score));
        self
    }

    /// Best first.
    pub fn into_hits(self) -> Vec<Hit> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_first_and_ties_to_the_lower_row() {
        let mut top = Top::new(3);
        for (row, score) in [1.0, 3.0, 2.0, 3.0, 2.0, 0.0].into_iter().enumerate() {
            top.offer(row, score);
        }
        let rows: Vec<_> = top.into_hits().iter().map(|hit| hit.row).collect();
        assert_eq!(rows, [1, 3, 2]);
    }
}
