//! One of finitely many outcomes, with integer weights of any size, exactly.
//!
//! Outcome i has probability `weight_i / total`. A draw compares 64 random bits with 64-bit prefixes of the exact cut
//! points; a tie, once in 2^64 draws for each cut, is settled by further bits and big integers.

use super::SecretRng;
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

/// A law on `0..n` given by integer weights.
#[derive(Debug, Clone)]
pub struct Choice {
    cuts: Vec<BigUint>, // cumulative weights; the last is the total
    prefixes: Vec<u64>, // floor(2^64 cut / total), without the last
}

impl Choice {
    /// Fixes the law. The weights are public.
    ///
    /// # Panics
    /// If the last weight is zero or there is none: its cut could not be distinguished from the total.
    pub fn new(weights: impl IntoIterator<Item = BigUint>) -> Self {
        let mut sum = BigUint::zero();
        let mut cuts = Vec::new();
        let mut last_is_zero = true;
        for weight in weights {
            last_is_zero = weight.is_zero();
            sum += weight;
            cuts.push(sum.clone());
        }
        assert!(!last_is_zero, "the last outcome must be possible");
        let inner = &cuts[..cuts.len() - 1];
        let prefix = |cut: &BigUint| ((cut << 64u32) / &sum).to_u64().expect("below the total");
        let prefixes = inner.iter().map(prefix).collect();
        Self { cuts, prefixes }
    }

    /// The sum of all weights.
    pub fn total(&self) -> &BigUint {
        self.cuts.last().expect("not empty")
    }

    /// The weight of one outcome.
    pub fn weight(&self, outcome: usize) -> BigUint {
        match outcome {
            0 => self.cuts[0].clone(),
            i => &self.cuts[i] - &self.cuts[i - 1],
        }
    }

    /// Draws an outcome: the number of cuts that a uniform real in [0, 1) has reached.
    #[inline]
    pub fn draw(&self, rng: &mut SecretRng) -> usize {
        let bits = rng.next_u64();
        let outcome = self.prefixes.partition_point(|&prefix| prefix < bits);
        if self.prefixes.get(outcome) == Some(&bits) { self.settle(outcome, bits, rng) } else { outcome }
    }

    /// The real agrees with the prefix of at least one cut: reveal its further bits until it is on one side.
    #[cold]
    fn settle(&self, mut outcome: usize, bits: u64, rng: &mut SecretRng) -> usize {
        let mut real = BigUint::from(bits); // of `width` revealed bits
        let mut width = 64;
        while self.prefixes.get(outcome) == Some(&bits) {
            let cut = &self.cuts[outcome] << width;
            if &real * self.total() >= cut {
                outcome += 1; // reached, whatever the further bits are
            } else if (&real + 1u32) * self.total() <= cut {
                break;
            } else {
                real = (real << 64) + rng.next_u64();
                width += 64;
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(weights: &[u64]) -> Choice {
        Choice::new(weights.iter().map(|&w| w.into()))
    }

    #[test]
    fn prefixes_are_the_floors() {
        let law = choice(&[1, 1, 1, 0, 5]);
        assert_eq!(law.prefixes, [1 << 61, 2 << 61, 3 << 61, 3 << 61]);
        let thirds = choice(&[1, 2]);
        assert_eq!(thirds.prefixes, [u64::MAX / 3]);
        assert_eq!((thirds.weight(0), thirds.weight(1), thirds.total()), (1u32.into(), 2u32.into(), &3u32.into()));
    }

    #[test]
    fn ties_are_settled_exactly() {
        let mut rng = SecretRng::for_tests(1);
        // A dyadic cut is reached by its own prefix, always; impossible outcomes are skipped.
        let dyadic = choice(&[1, 1, 0, 2]);
        assert_eq!(dyadic.settle(0, 1 << 62, &mut rng), 1);
        assert_eq!(dyadic.settle(1, 1 << 63, &mut rng), 3);
        // 2^64/3 = ...555 + 1/3: given the tie, the real is below the cut with probability exactly 1/3.
        let thirds = choice(&[1, 2]);
        let below = (0..30_000).filter(|_| thirds.settle(0, u64::MAX / 3, &mut rng) == 0).count() as i64;
        // Standard deviation 82; 5.5 of them: alpha = 4e-8. Ignoring the tie would give 0 or 30,000.
        assert!((below - 10_000).abs() < 450, "{below}");
    }

    #[test]
    fn tiny_and_huge_weights_keep_their_law() {
        // Cuts closer than 2^-64 share a prefix: the first outcome has probability 2^-100 within the tie at 0.
        let mut rng = SecretRng::for_tests(2);
        let law = Choice::new([BigUint::from(1u32), BigUint::from(3u32), BigUint::from(1u32) << 66]);
        // Given the tie (bits = 0), the real times total is uniform below 2^2 + 2^-62: a quarter below the first cut.
        let mut counts = [0i64; 3];
        (0..40_000).for_each(|_| counts[law.settle(0, 0, &mut rng)] += 1);
        assert!((counts[0] - 10_000).abs() < 480 && counts[0] + counts[1] > 39_990, "{counts:?}");
    }

    #[test]
    fn law_by_chi_square() {
        let law = choice(&[7, 0, 1, 2, 10]);
        let mut rng = SecretRng::for_tests(3);
        let mut counts = [0i64; 5];
        (0..200_000).for_each(|_| counts[law.draw(&mut rng)] += 1);
        assert_eq!(counts[1], 0);
        let chi: i64 = [(0, 7), (2, 1), (3, 2), (4, 10)]
            .map(|(i, weight)| (counts[i] - weight * 10_000).pow(2) / (weight * 10_000))
            .iter()
            .sum();
        assert!(chi < 30, "{counts:?}"); // 3 degrees of freedom, alpha = 1e-6
    }
}
