//! Words of a public book: every query meets each word once, then rows are looked up.

use super::{Metric, top::Top, values::length};
use crate::release::Encoder;
use rayon::prelude::*;
use scumble_core::simd::Level;

/// The score of each word for every query.
pub(super) struct WordScan {
    encoder: Encoder,
    scores: Vec<Vec<f32>>,
}

impl WordScan {
    /// `None` if the rows are not words.
    pub(super) fn new(level: Level, encoder: &Encoder, queries: &[Vec<f32>], metric: Metric) -> Option<Self> {
        let book = encoder.book()?;
        let mut scores = vec![vec![0.0; book.shape().0]; queries.len()];
        let norm = |values: &[f32]| if metric == Metric::Cosine { length(level, values).recip() } else { 1.0 };
        let norms: Vec<f32> = queries.iter().map(|query| norm(query)).collect();
        let words: Vec<Vec<f32>> = (0..book.shape().0)
            .into_par_iter()
            .map(|word| {
                let vector: Vec<f32> = book.row(word).iter().map(|&w| (f64::from(w) * book.scale()) as f32).collect();
                let own = norm(&vector);
                let product = |query: &Vec<f32>| query.iter().zip(&vector).map(|(q, v)| q * v).sum::<f32>();
                queries.iter().zip(&norms).map(|(query, norm)| product(query) * own * norm).collect()
            })
            .collect();
        for (word, of_queries) in words.iter().enumerate() {
            scores.iter_mut().zip(of_queries).for_each(|(scores, &score)| scores[word] = score);
        }
        Some(Self { encoder: encoder.clone(), scores })
    }

    pub(super) fn queries(&self) -> usize {
        self.scores.len()
    }

    /// Offers rows, the first of which has this number, to the best of every query.
    pub(super) fn scan(&self, first: usize, rows: &[u8], best: &mut [Top]) {
        for (row, bytes) in (first..).zip(rows.chunks_exact(self.encoder.bytes_per_row())) {
            let word = self.encoder.word(bytes);
            for (best, scores) in best.iter_mut().zip(&self.scores) {
                best.offer(row, scores[word.min(scores.len() - 1)]); // no encoder writes a number that is not a word
            }
        }
    }
}
