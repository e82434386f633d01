//! Symmetric noise in blocks: one bit is the sign, a uniform real below 1/2 is compared with `P(N > n)`.
//!
//! `|N|` is the number of thresholds `P(N > 0), P(N > 1), ...` above the real, and `N = 0` takes either sign, so nothing
//! is ever rejected. The real's first bits choose a cell of a guide table and are compared with the one threshold that the
//! cell may hold; more bits are drawn for the few reals that 24 bits do not decide. Below the last
//! threshold of a pure law the tail goes on without end: being geometric, the law starts afresh there.

use super::any::Noise;
use super::kernels::{self, CROWDED, Guide};
use super::rng::SecretRng;
use super::source::Source;
use super::words::count_above;
use crate::simd::{self, Level};
use num_bigint::BigUint;
use std::fmt;

/// Bytes of random words used at a time: a tie costs the rest of a refill, so only a part of one is taken.
const CHUNK: usize = 1024;

/// The table ends below this probability over 2^64.
const LAST: u64 = 1 << 44;

/// log2 of the most cells per octave.
const LARGEST_GUIDE: u32 = 11;

/// A guide is fine enough if crowded cells have less than this chance over 2^31.
const SELDOM: u32 = 1 << 22;

/// A cell of the guide counts up to here.
const MOST_COUNT: usize = 0x7fff;

/// Tables beyond this size are not built: such laws are drawn value by value.
const MOST_THRESHOLDS: usize = 1 << 17;

/// A noise law with its tables for blocks.
#[derive(Clone)]
pub struct BlockNoise {
    law: Noise,
    first: Vec<u64>, // first 64 bits of P(N > n), falling
    guide: Guide,
}

impl fmt::Debug for BlockNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockNoise({:?}, {} thresholds)", self.law, self.first.len())
    }
}

/// What a law says about its upper tail.
pub(super) trait Tail {
    /// First words of `P(N > n)` from n = 0 on, falling, until they are below `last` or, for a law that starts afresh
    /// only after whole periods, a little further. `None` if there would be more than `most`.
    fn thresholds(&self, last: u64, most: usize) -> Option<Vec<u64>>;

    /// Word `level` of the binary expansion of `P(N > n)`, from level 1 on; `None` where it has ended.
    fn word(&self, n: usize, level: usize) -> Option<u64>;

    /// A draw of `|N|` given that it is at least `n`, where n is the number of thresholds.
    fn beyond(&self, n: usize, rng: &mut SecretRng) -> u64;
}

/// Word `level` of num / den, which is below 1.
pub(super) fn word_of(num: &BigUint, den: &BigUint, level: usize) -> u64 {
    ((num << (64 * (level + 1))) / den).iter_u64_digits().next().unwrap_or(0)
}

/// A probability below 1 between two numbers over 2^256, least significant words first.
#[derive(Clone)]
pub(super) struct Enclosed {
    low: [u64; 4],
    high: [u64; 4],
}

impl Enclosed {
    /// num / den, which is below 1/2.
    pub fn new(num: &BigUint, den: &BigUint) -> Self {
        let floor = (num << 256u32) / den;
        let words = |n: &BigUint| {
            let mut words = n.iter_u64_digits();
            std::array::from_fn(|_| words.next().unwrap_or(0))
        };
        Self { low: words(&floor), high: words(&(floor + 1u32)) }
    }

    /// Times ratio / 2^64.
    pub fn times(&self, ratio: u64) -> Self {
        // The lowest word of a product is dropped; the carry rounds the upper end up.
        let product = |words: &[u64; 4], carry: u64| {
            let mut carry = u128::from(carry);
            let mut shifted = [0; 5];
            for (out, &word) in shifted.iter_mut().zip(words) {
                let sum = u128::from(word) * u128::from(ratio) + carry;
                (*out, carry) = (sum as u64, sum >> 64);
            }
            shifted[4] = carry as u64;
            std::array::from_fn(|i| shifted[i + 1])
        };
        Self { low: product(&self.low, 0), high: product(&self.high, u64::MAX) }
    }

    /// The first word, if both ends agree on it.
    pub fn first_word(&self) -> Option<u64> {
        (self.low[3] == self.high[3]).then_some(self.low[3])
    }
}

impl BlockNoise {
    pub(super) fn new(law: Noise) -> Option<Self> {
        let first = law.tail().thresholds(LAST, MOST_THRESHOLDS)?;
        // More cells than needed would only fill the cache.
        let good = (8..LARGEST_GUIDE).map(|bits| guide(bits, &first)).find(|(_, crowded)| *crowded < SELDOM);
        let (guide, _) = good.unwrap_or_else(|| guide(LARGEST_GUIDE, &first));
        Some(Self { law, first, guide })
    }

    /// Fills `out` with independent draws. Those that do not fit 16 bits are listed in `wide`, in order, with their
    /// place; what `out` holds there is meaningless.
    pub fn fill(&self, out: &mut [i16], wide: &mut Vec<(usize, i64)>, source: &mut impl Source) {
        self.fill_at(simd::level(), out, wide, source);
    }

    fn fill_at(&self, level: Level, out: &mut [i16], wide: &mut Vec<(usize, i64)>, source: &mut impl Source) {
        wide.clear();
        let mut ties = Vec::with_capacity(64);
        let mut open = [[0; 4]; CHUNK / 4];
        let mut start = 0;
        for out in out.chunks_mut(CHUNK / 4) {
            ties.clear();
            let random = source.words(out.len());
            kernels::guided(level, &self.guide, random, out, &mut ties);
            for (open, &tie) in open.iter_mut().zip(&ties) {
                *open = random.as_chunks().0[tie as usize];
            }
            for (&open, &tie) in open.iter().zip(&ties) {
                let n = self.settle(u32::from_le_bytes(open), source.more(start + tie as usize));
                match i16::try_from(n) {
                    Ok(n) => out[tie as usize] = n,
                    Err(_) => wide.push((start + tie as usize, n)),
                }
            }
            start += out.len();
        }
    }

    /// Thresholds above all of a cell, or [`MOST_COUNT`].
    fn above(&self, cell: usize) -> usize {
        (self.guide.cells[cell] >> 16) as usize & MOST_COUNT
    }

    /// The draw whose first 32 bits are these.
    #[cold]
    fn settle(&self, bits: u32, rng: &mut SecretRng) -> i64 {
        let draw = u64::from(bits & (u32::MAX >> 1)) << 32 | u64::from(rng.next_u32());
        let tail = self.law.tail();
        // The cell says how many thresholds are above all of it, the cell below how many are above its own start.
        let cell = self.guide.cell(bits & (u32::MAX >> 1));
        let above = self.above(cell);
        let end = cell.checked_sub(1).map(|below| self.above(below)).filter(|&end| end < MOST_COUNT);
        let word = |n: usize, level: usize| tail.word(above + n, level);
        let n = above + count_above(&self.first[above..end.unwrap_or(self.first.len())], draw, rng, word);
        let magnitude = if n == self.first.len() { tail.beyond(n, rng) } else { n as u64 };
        let magnitude = i64::try_from(magnitude).unwrap_or(i64::MAX);
        if bits >> 31 == 1 { -magnitude } else { magnitude }
    }
}

/// The guide with 2^bits cells per octave, and the chance over 2^31 that a draw falls into a crowded cell. A cell is
/// crowded if it holds two thresholds or more, reaches below the last one, or its count exceeds 15 bits (it stops at
/// what it can hold, and the rest is searched).
fn guide(bits: u32, first: &[u64]) -> (Guide, u32) {
    let (mut above, mut chance) = (first.len(), 0);
    let mut guide = Guide::new(bits, |(start, end)| {
        let up_to = above;
        above = first[..up_to].partition_point(|&t| t >> 32 >= u64::from(end));
        let inside = &first[above..up_to];
        debug_assert!(inside.iter().all(|t| (u64::from(start)..u64::from(end)).contains(&(t >> 32))));
        let crowded = inside.len() > 1 || up_to == first.len() || up_to > MOST_COUNT;
        chance += if crowded { end - start } else { 0 };
        (above.min(MOST_COUNT) as u32) << 16 | if crowded { CROWDED } else { 0 }
    });
    for &threshold in first {
        let draw = (threshold >> 32) as u32;
        let (cell, rest) = (guide.cell(draw), guide.rest(draw));
        guide.cells[cell] |= rest; // more than one only where it is crowded
    }
    (guide, chance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use crate::noise::{Laplace, RoundedGaussian, Staircase};
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{One, ToPrimitive};

    fn laws() -> Vec<Noise> {
        let laplace = |b, e| Noise::from(Laplace::new(b, &rational(e)).unwrap());
        let staircase = |b, e| Noise::from(Staircase::least_variance(b, &rational(e)).unwrap());
        let gaussian = |s| Noise::from(RoundedGaussian::new(&rational(s), 128).unwrap());
        vec![
            laplace(1, 1.0),
            laplace(8, 0.5),
            laplace(255, 1.0),
            staircase(1, 1.0),
            staircase(7, 0.3),
            staircase(255, 5.0),
            gaussian(0.3),
            gaussian(77.7),
            gaussian(1077.0),
        ]
    }

    /// The first words are the floors of 2^64 P(N > n), summed from the exact weights; so are later words.
    #[test]
    fn thresholds_are_the_exact_tails() {
        for law in laws() {
            let first = law.tail().thresholds(LAST, MOST_THRESHOLDS).unwrap();
            let unit = BigInt::one() << 64u32;
            let mut tail = (BigRational::one() - law.weight(0)) / BigInt::from(2);
            for (n, &found) in first.iter().enumerate().take(60) {
                let scaled = &tail * &unit;
                assert_eq!(scaled.floor().to_integer().to_u64(), Some(found), "{law:?} {n}");
                let next = ((&scaled - scaled.floor()) * &unit).floor().to_integer().to_u64();
                assert_eq!(law.tail().word(n, 1), next, "{law:?} {n}");
                tail -= law.weight(n as i64 + 1);
            }
            assert!(first.is_sorted_by(|a, b| a >= b));
        }
    }

    /// Exhaustive over the guide: what a cell decides is what all reals that begin so give; the others are listed.
    #[test]
    fn the_guide_decides_only_what_is_certain() {
        for law in laws() {
            let blocks = law.blocks().unwrap();
            let count = |draw: u64| blocks.first.partition_point(|&t| t > draw);
            // Both ends and the middle of every cell, and the neighbourhood of every threshold.
            let mut draws = Vec::new();
            for bits in 8..=LARGEST_GUIDE {
                Guide::new(bits, |(start, end)| {
                    draws.extend([start, start + 1, start / 2 + end / 2, end - 129, end - 1]);
                    0
                });
            }
            for t in &blocks.first {
                let near = [-256, -129, -128, -127, -1, 0, 1, 127, 128, 256].map(|step| (t >> 32) as i64 + step);
                draws.extend(near.iter().filter(|draw| (0..1 << 31).contains(*draw)).map(|draw| *draw as u32));
            }
            for level in Level::all() {
                for sign in [0, 1 << 31] {
                    let words: Vec<u8> = draws.iter().flat_map(|draw| (draw | sign).to_le_bytes()).collect();
                    let (mut out, mut ties) = (vec![0; draws.len()], Vec::new());
                    kernels::guided(level, &blocks.guide, &words, &mut out, &mut ties);
                    let mut ties = ties.into_iter().peekable();
                    for (i, (&draw, out)) in draws.iter().zip(out).enumerate() {
                        if ties.next_if_eq(&(i as u32)).is_some() {
                            continue;
                        }
                        let draw = u64::from(draw) << 32;
                        let (least, most) = (count(draw | 0xffff_ffff), count(draw));
                        let magnitude = if sign == 0 { i64::from(out) } else { -i64::from(out) };
                        assert!(least == most && least as i64 == magnitude, "{law:?} {draw:x} {level:?}");
                        assert!(least < blocks.first.len(), "the tail is drawn, not cut");
                    }
                    assert_eq!(ties.next(), None, "listed in order");
                }
            }
            // Few draws are left to the exact search: 1 in 512 for crowded cells.
            assert!((8..=LARGEST_GUIDE).any(|bits| guide(bits, &blocks.first).1 < SELDOM), "{law:?}");
        }
    }

    #[test]
    fn every_level_draws_the_same() {
        for law in laws() {
            let blocks = law.blocks().unwrap();
            for length in (0..=300).chain([1023, 5000]) {
                let drawn: Vec<_> = Level::all()
                    .map(|level| {
                        let (mut out, mut wide) = (vec![0; length], Vec::new());
                        blocks.fill_at(level, &mut out, &mut wide, &mut SecretRng::for_tests(length as u64));
                        (out, wide)
                    })
                    .collect();
                assert!(drawn.iter().all(|d| *d == drawn[0]), "{law:?} {length}");
            }
        }
    }

    /// A tie is settled by the exact next words, never drawn again; the far tail starts afresh.
    #[test]
    fn settled_draws_agree_with_whole_thresholds() {
        let law: Noise = Laplace::new(8, &rational(0.5)).unwrap().into();
        let blocks = law.blocks().unwrap();
        let mut rng = SecretRng::for_tests(3);
        for n in [0usize, 3, 40] {
            // The real agrees with threshold n in 31 bits: it is below it with the chance that its other bits say.
            let threshold = blocks.first[n];
            let (bits, rest) = ((threshold >> 32) as u32, threshold as u32);
            let draws = 20_000i64;
            let above = (0..draws).filter(|_| blocks.settle(bits, &mut rng) == n as i64 + 1).count() as i64;
            let expected = (draws * i64::from(rest)) >> 32;
            assert!((above - expected).abs() < 390, "{n}: {above}, not {expected}"); // 5.5 deviations at most
        }
        let last = blocks.first.len() as i64;
        let far: Vec<i64> = (0..2000).map(|_| blocks.settle(1 << 31, &mut rng)).collect();
        assert!(far.iter().all(|&n| n <= -last) && far.iter().any(|&n| n < -last - 20));
    }
}
