//! Where the samplers get their random words, and how a uniform real is compared with exact thresholds.

use super::rng::SecretRng;
use std::cmp::Ordering;

/// A source of uniform 64-bit words. The samplers take any, so that tests can force a tie word by word.
pub(super) trait Words {
    /// 64 fresh random bits.
    fn next_u64(&mut self) -> u64;

    /// A uniform integer below `bound`, exactly: a rejected draw is drawn again.
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty set has no member");
        // Lemire's method: the low half of the product says whether the draw falls into the uneven part.
        let uneven = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= uneven {
                return (product >> 64) as u64;
            }
        }
    }
}

impl Words for SecretRng {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        SecretRng::next_u64(self)
    }
}

/// The magnitude with a fair sign; `None` for minus zero.
#[inline]
pub(super) fn with_sign<W: Words>(magnitude: u64, words: &mut W) -> Option<i64> {
    let minus = words.next_u64() >> 63 == 1;
    let n = i64::try_from(magnitude).unwrap_or(i64::MAX);
    match (minus, n) {
        (true, 0) => None,
        (true, _) => Some(-n),
        (false, _) => Some(n),
    }
}

/// How many of the falling thresholds lie above a uniform real whose first word is `draw`.
///
/// `first` holds the thresholds' first words. A draw that ties with some of them is extended by fresh words, and
/// compared with the next words of their expansions, `word(index, level)` from level 1 on. `None` says that the
/// expansions end here: then the draw is equal or larger, and those thresholds are not above it.
#[inline]
pub(super) fn count_above<W: Words + ?Sized>(
    first: &[u64],
    draw: u64,
    words: &mut W,
    word: impl Fn(usize, usize) -> Option<u64>,
) -> usize {
    let start = first.partition_point(|&t| t > draw);
    match first.get(start) {
        Some(&t) if t == draw => break_tie(start, first.partition_point(|&t| t >= draw), words, word),
        _ => start,
    }
}

/// Thresholds `start..end` agree with the draw so far.
#[cold]
fn break_tie<W: Words + ?Sized>(
    mut start: usize,
    mut end: usize,
    words: &mut W,
    word: impl Fn(usize, usize) -> Option<u64>,
) -> usize {
    for level in 1.. {
        if word(start, level).is_none() {
            break; // equal to the end
        }
        let draw = words.next_u64();
        let mut tied = start..start;
        for index in start..end {
            match word(index, level).cmp(&Some(draw)) {
                Ordering::Greater => tied = index + 1..index + 1,
                Ordering::Equal => tied.end = index + 1,
                Ordering::Less => break,
            }
        }
        (start, end) = (tied.start, tied.end);
        if start == end {
            break;
        }
    }
    start
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Words written down in advance.
    pub(in crate::noise) struct Script(VecDeque<u64>);

    impl Script {
        pub(in crate::noise) fn new(words: &[u64]) -> Self {
            Self(words.iter().copied().collect())
        }

        /// All words were asked for, no more and no fewer.
        pub(in crate::noise) fn is_used_up(&self) -> bool {
            self.0.is_empty()
        }
    }

    impl Words for Script {
        fn next_u64(&mut self) -> u64 {
            self.0.pop_front().expect("the sampler asked for more words than the script has")
        }
    }

    /// All thresholds of three 64-bit words with entries 0..4, against the plain comparison of whole numbers.
    #[test]
    fn ties_are_decided_by_later_words() {
        let thresholds: Vec<[u64; 3]> =
            vec![[3, 1, 0], [2, 3, 3], [2, 3, 1], [2, 3, 1], [2, 1, 2], [2, 0, 0], [0, 3, 0], [0, 0, 1]];
        let first: Vec<u64> = thresholds.iter().map(|t| t[0]).collect();
        for code in 0..64u64 {
            let draw = [code / 16, code / 4 % 4, code % 4];
            let mut script = Script::new(&draw[1..]);
            let count = count_above(&first, draw[0], &mut script, |i, level| thresholds[i].get(level).copied());
            assert_eq!(count, thresholds.iter().filter(|&&t| t > draw).count(), "{draw:?}");
        }
    }

    #[test]
    fn no_word_is_drawn_without_a_tie() {
        let mut script = Script::new(&[]);
        assert_eq!(count_above(&[9, 5], 7, &mut script, |_, _| unreachable!()), 1);
        assert_eq!(count_above(&[], 7, &mut script, |_, _| unreachable!()), 0);
    }
}
