//! A keyed hash of a row on the grid, in one form for dense and sparse rows: sums of products with secret coefficients.
//!
//! The row is a sequence of words: two attributes a word (`a + 256 b`) where the grid has at most 256 integers, one where
//! it has at most 65,536, else two words an attribute (16 low bits with sign, then the rest). Evaluation t of the row is
//! `h_t = sum_w word_w K_tw mod p`, with `p = 2^31 - 1` and `K_tw = low_t[w mod 4096] · high_t[w div 4096]`. A word that is
//! zero adds nothing, so a sparse row costs what it holds, and nothing needs a table of all attributes.
//!
//! Two rows differ in a word that is not 0 mod p, so their evaluations agree for at most 2/p of all keys (the difference is
//! a polynomial of degree 2 in uniform coefficients): all four with a chance of at most 2^-120. Whoever has no key cannot
//! look for such rows, as no one sees an evaluation: only a pseudo-random function of them leaves (`noise::Keyed`).

#![allow(unsafe_code)] // only to call and to be vector kernels

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;

#[cfg(target_arch = "x86_64")]
use avx2 as avx512; // what adds is as wide as the loads allow
#[cfg(target_arch = "aarch64")]
use scalar as neon;

use super::{Grid, PrivateRow};
use crate::simd::{self, LANES, Level, kernel};
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// The modulus.
const P: u64 = (1 << 31) - 1;

/// Evaluations of a row.
pub(crate) const EVALUATIONS: usize = 4;

/// Words that one coefficient of the upper table serves.
const LOW: usize = 4096;

/// Words that a register holds.
const STEP: usize = 16;

/// A coefficient is three signed limbs of so many bits: 31 sums of two products then fit 32 bits.
const LIMB: u32 = 11;
const LIMBS: usize = 3 * EVALUATIONS;

/// Steps between two widenings of the sums.
const STEPS: usize = 31;

/// Words whose limbs are tabled, 24 bytes each; what lies beyond is multiplied one by one.
const TABLED: usize = 1 << 16;

/// Bytes of an id that enter as they are; a longer id is hashed before.
const ID_BYTES: usize = 47;

/// Bytes of an id's word.
const ID_WORD: usize = 3;
const ID_WORDS: usize = (1 + ID_BYTES) / ID_WORD;

/// The evaluations of a row, or of a row and its id: a number below p each.
pub(crate) type Evaluations = [u32; EVALUATIONS];

/// How a row becomes words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Two,
    One,
    Half,
}

/// The limbs of the coefficients of [`STEP`] words.
type Limbs = [[i16; STEP]; LIMBS];

/// The secret coefficients for one grid and number of attributes. Wiped when dropped; prints nothing of them.
pub(crate) struct ContentHash {
    packing: Packing,
    base: i32, // what a tabled word is taken from, an attribute
    words: usize,
    dim: usize,
    low: Vec<Evaluations>,
    high: Vec<Evaluations>,
    id: [Evaluations; ID_WORDS],
    limbs: Vec<Limbs>,
    offset: Evaluations, // what the bases of all words add up to
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({} words)", self.words)
    }
}

impl Drop for ContentHash {
    fn drop(&mut self) {
        self.low.zeroize();
        self.high.zeroize();
        self.id.zeroize();
        self.limbs.zeroize();
        self.offset.zeroize();
    }
}

/// What the attributes of a row have added so far.
#[derive(Clone, Copy, Default)]
struct Sums {
    tabled: [i64; LIMBS],
    plain: [u64; EVALUATIONS],
}

/// The rows of a block, hashed while they are projected.
pub(crate) struct Contents<'a> {
    hash: &'a ContentHash,
    sums: [Sums; LANES],
}

impl<'a> Contents<'a> {
    pub(crate) fn new(hash: &'a ContentHash) -> Self {
        Self { hash, sums: [Sums::default(); LANES] }
    }

    /// Adds attributes `start..` of row `r`; `start` is a multiple of 32.
    pub(crate) fn add<T: Copy + Into<i32>>(&mut self, level: Level, r: usize, start: usize, values: &[T]) {
        self.hash.add(level, start, values, &mut self.sums[r]);
    }

    /// Adds the whole of row `r`, given as bytes.
    pub(crate) fn add_bytes(&mut self, level: Level, r: usize, values: &[u8]) {
        self.hash.add_bytes(level, values, &mut self.sums[r]);
    }

    /// Takes the attributes of sparse row `r` for the whole of it.
    pub(crate) fn set_sparse(&mut self, r: usize, index: &[u32], value: &[i32]) {
        self.sums[r] = self.hash.sparse(index, value);
    }

    /// The evaluations of row `r`, which was added as a whole.
    pub(crate) fn row(&self, r: usize) -> Evaluations {
        self.hash.finish(&self.sums[r])
    }
}

impl ContentHash {
    /// Takes its coefficients from `secret(label, bytes)`, a stream of secret bytes for each label.
    pub(crate) fn new(grid: &Grid, dim: usize, secret: impl Fn(&str, &mut [u8])) -> Self {
        let (lo, hi) = grid.bounds();
        let (packing, words) = match hi - lo {
            0..=0xff => (Packing::Two, dim.div_ceil(2)),
            0x100..=0xffff => (Packing::One, dim),
            _ => (Packing::Half, 2 * dim),
        };
        let table = |label: &str, entries: usize| -> Vec<Evaluations> {
            let mut bytes = Zeroizing::new(vec![0; 8 * EVALUATIONS * entries]);
            secret(label, &mut bytes);
            let mut words = bytes.as_chunks().0.iter().map(|word| (u64::from_le_bytes(*word) % P) as u32);
            (0..entries).map(|_| std::array::from_fn(|_| words.next().expect("a word each"))).collect()
        };
        let mut hash = Self {
            packing,
            base: match packing {
                Packing::Two => lo,
                Packing::One if i16::try_from(lo).is_err() || i16::try_from(hi).is_err() => lo + 0x8000,
                Packing::One | Packing::Half => 0,
            },
            words,
            dim,
            low: table("low", words.min(LOW)),
            high: table("high", words.div_ceil(LOW)),
            id: [[0; EVALUATIONS]; ID_WORDS],
            limbs: Vec::new(),
            offset: [0; EVALUATIONS],
        };
        hash.id.copy_from_slice(&table("id", ID_WORDS));
        hash.fill_limbs();
        hash
    }

    fn fill_limbs(&mut self) {
        if self.words > TABLED {
            return;
        }
        self.limbs = vec![[[0; STEP]; LIMBS]; self.words.div_ceil(STEP)];
        let mut sum = [0; EVALUATIONS];
        for w in 0..self.words {
            for (t, &k) in self.coefficient(w).iter().enumerate() {
                sum[t] = (sum[t] + k) % P;
                for (l, limb) in signed_limbs((k % P) as i64).into_iter().enumerate() {
                    self.limbs[w / STEP][3 * t + l][w % STEP] = limb;
                }
            }
        }
        let base = i64::from(self.base);
        let (each, missing) = match self.packing {
            Packing::Two => (base + 256 * (base + 128), if self.dim % 2 == 1 { 256 * base } else { 0 }),
            Packing::One | Packing::Half => (base, 0),
        };
        let last = self.coefficient(self.words - 1);
        self.offset = std::array::from_fn(|t| {
            let sum = modulo(each) * sum[t] + (P - modulo(missing) * (last[t] % P) % P);
            (sum % P) as u32
        });
    }

    /// `K_tw` for every t, below 2^32.
    #[inline]
    fn coefficient(&self, w: usize) -> [u64; EVALUATIONS] {
        let (low, high) = (&self.low[w % LOW], &self.high[w / LOW]);
        std::array::from_fn(|t| fold(u64::from(low[t]) * u64::from(high[t])))
    }

    /// The evaluations of a row.
    pub(crate) fn row(&self, u: PrivateRow<'_>) -> Evaluations {
        let mut sums = Sums::default();
        match u {
            PrivateRow::Dense(values) => self.add(simd::level(), 0, values, &mut sums),
            PrivateRow::Sparse { index, value, .. } => sums = self.sparse(index, value),
        }
        self.finish(&sums)
    }

    fn sparse(&self, index: &[u32], value: &[i32]) -> Sums {
        let mut sums = Sums::default();
        index.iter().zip(value).for_each(|(&j, &value)| self.add_one(j as usize, value, &mut sums.plain));
        let bases = self.offset.map(|offset| P - u64::from(offset)); // no word was tabled
        sums.plain.iter_mut().zip(bases).for_each(|(sum, base)| *sum += base);
        sums
    }

    #[inline]
    fn add_one(&self, j: usize, value: i32, h: &mut [u64; EVALUATIONS]) {
        let mut add = |w: usize, word: i64| {
            let (word, k) = (modulo(word), self.coefficient(w));
            h.iter_mut().zip(k).for_each(|(h, k)| *h = fold(*h + fold(word * k)));
        };
        match self.packing {
            Packing::Two => add(j / 2, i64::from(value) << (8 * (j % 2))),
            Packing::One => add(j, value.into()),
            Packing::Half => {
                let [low, high] = halves(value);
                add(2 * j, low.into());
                add(2 * j + 1, high.into());
            }
        }
    }

    fn add<T: Copy + Into<i32>>(&self, level: Level, start: usize, values: &[T], sums: &mut Sums) {
        const WORDS: usize = STEPS * STEP;
        assert!(start.is_multiple_of(2 * STEP));
        if self.limbs.is_empty() {
            return (start..).zip(values).for_each(|(j, &value)| self.add_one(j, value.into(), &mut sums.plain));
        }
        let mut words = [0; WORDS];
        let (values_a_chunk, first) = match self.packing {
            Packing::Two => (2 * WORDS, start / 2),
            Packing::One => (WORDS, start),
            Packing::Half => (WORDS / 2, 2 * start),
        };
        for (chunk, values) in values.chunks(values_a_chunk).enumerate() {
            let words = self.words_of(values, &mut words);
            add_words(level, words, &self.limbs[first / STEP + chunk * STEPS..], &mut sums.tabled);
        }
    }

    /// The same for a whole row of bytes: fast where the grid is 0 to 255.
    fn add_bytes(&self, level: Level, values: &[u8], sums: &mut Sums) {
        const WORDS: usize = STEPS * STEP;
        if (self.packing, self.base) != (Packing::Two, 0) || self.limbs.is_empty() {
            return self.add(level, 0, values, sums);
        }
        let mut words = [0; WORDS];
        for (chunk, values) in values.chunks(2 * WORDS).enumerate() {
            let (pairs, rest) = values.as_chunks::<2>();
            words.iter_mut().zip(pairs).for_each(|(word, pair)| *word = (u16::from_le_bytes(*pair) ^ 0x8000) as i16);
            let len = pairs.len() + rest.len();
            rest.iter().for_each(|&last| words[pairs.len()] = (u16::from(last) ^ 0x8000) as i16);
            add_words(level, &words[..len], &self.limbs[chunk * STEPS..], &mut sums.tabled);
        }
    }

    /// The tabled words of some attributes, less their bases.
    #[inline]
    fn words_of<'a, T: Copy + Into<i32>>(&self, values: &[T], words: &'a mut [i16]) -> &'a [i16] {
        match self.packing {
            Packing::Two => {
                let byte = |value: T| (value.into() - self.base) as u16;
                let (pairs, rest) = values.as_chunks::<2>();
                let pair = |[a, b]: [T; 2]| (byte(a) | (byte(b) ^ 0x80) << 8) as i16;
                words.iter_mut().zip(pairs).for_each(|(word, &values)| *word = pair(values));
                rest.iter().for_each(|&last| words[pairs.len()] = (byte(last) | 0x8000) as i16);
            }
            Packing::One => {
                words.iter_mut().zip(values).for_each(|(word, &value)| *word = (value.into() - self.base) as i16);
            }
            Packing::Half => {
                let pairs = words.as_chunks_mut::<2>().0.iter_mut().zip(values);
                pairs.for_each(|(pair, &value)| *pair = halves(value.into()));
            }
        }
        let len = match self.packing {
            Packing::Two => values.len().div_ceil(2),
            Packing::One => values.len(),
            Packing::Half => 2 * values.len(),
        };
        &words[..len]
    }

    /// The evaluations of a row all of whose attributes were added.
    fn finish(&self, sums: &Sums) -> Evaluations {
        std::array::from_fn(|t| {
            let limb = |l: usize| fold(modulo(sums.tabled[3 * t + l]) << (LIMB * l as u32));
            ((limb(0) + limb(1) + limb(2) + sums.plain[t] + u64::from(self.offset[t])) % P) as u32
        })
    }

    /// The evaluations of a row or of nothing, with those of its id.
    pub(crate) fn with_id(&self, row: Evaluations, id: &[u8], hash: impl Fn(&[u8]) -> [u8; 32]) -> Evaluations {
        let mut bytes = [0; 1 + ID_BYTES];
        let len = if id.len() <= ID_BYTES {
            bytes[0] = id.len() as u8;
            bytes[1..=id.len()].copy_from_slice(id);
            id.len()
        } else {
            bytes[0] = u8::MAX;
            bytes[1..=32].copy_from_slice(&hash(id));
            32
        };
        let mut h = row.map(u64::from);
        let words = bytes.as_chunks::<ID_WORD>().0.iter().zip(&self.id);
        for (&[a, b, c], k) in words.take((1 + len).div_ceil(ID_WORD)) {
            let word = u64::from(u32::from_le_bytes([a, b, c, 0]));
            h.iter_mut().zip(k).for_each(|(h, &k)| *h += word * u64::from(k)); // 16 products of 55 bits
        }
        h.map(|h| (h % P) as u32)
    }
}

/// 16 low bits with their sign, and what is left.
#[inline]
fn halves(value: i32) -> [i16; 2] {
    let low = value as i16;
    [low, ((value - i32::from(low)) >> 16) as i16]
}

/// Equal mod p; below 2^33 + 2^31 for any x, below 2^32 for products of numbers below p.
#[inline]
fn fold(x: u64) -> u64 {
    (x & P) + (x >> 31)
}

#[inline]
fn modulo(x: i64) -> u64 {
    x.rem_euclid(P as i64) as u64
}

/// `k = a + b 2^11 + c 2^22`, each between -2^10 and 2^10.
fn signed_limbs(k: i64) -> [i16; 3] {
    let low = |k: i64| (k << (64 - LIMB)) >> (64 - LIMB);
    let a = low(k);
    let rest = (k - a) >> LIMB;
    let b = low(rest);
    [a as i16, b as i16, ((rest - b) >> LIMB) as i16]
}

kernel! {
    /// Adds `sum_w words[w] limb_l[w]` to each `sums[l]`. At most 496 words.
    add_words(words: &[i16], limbs: &[Limbs], sums: &mut [i64; LIMBS])
}

#[cfg(test)]
mod tests;
