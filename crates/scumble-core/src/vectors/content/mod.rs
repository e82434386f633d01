//! A keyed hash of a row on the grid, in one form for dense and sparse rows: sums of products with secret coefficients.
//!
//! The row is a sequence of words: two attributes per word (`a + 256 b`) if the grid has at most 256 integers, one if
//! it has at most 65,536, else two words per attribute (16 low bits with sign, then the rest). Evaluation t of the row
//! is `h_t = sum_w word_w K_tw mod p`, with `p = 2^31 - 1` and `K_tw = low_t[w mod 4096] · high_t[w div 4096]`. A word
//! that is zero adds nothing, so a sparse row costs what it holds, and nothing needs a table of all attributes.
//!
//! Two rows differ in a word that is not 0 mod p, so their evaluations agree for at most 2/p of all keys (the difference is
//! a polynomial of degree 2 in uniform coefficients): all four with a chance of at most 2^-120. Nobody can look for
//! such rows without the key. No one sees an evaluation: only a pseudo-random function of them leaves (`noise::Keyed`).

#![allow(unsafe_code)] // only to call and to be vector kernels

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

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

/// Words that are multiplied together: a register of AVX-512, two of AVX2.
const STEP: usize = 32;
const HALF: usize = STEP / 2;

/// A coefficient is three signed limbs of this many bits: 31 sums of two products ([`PAIRS`]) then fit 32 bits.
const LIMB: u32 = 11;
const PARTS: usize = 3;
const LIMBS: usize = PARTS * EVALUATIONS;

/// Pairs of products between two widenings of a sum of 32 bits.
#[cfg(target_arch = "x86_64")]
const PAIRS: usize = 31;

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
pub(crate) enum Packing {
    Two,
    One,
    Half,
}

impl Packing {
    /// Attributes whose words are a step.
    fn attributes(self) -> usize {
        match self {
            Self::Two => 2 * STEP,
            Self::One => STEP,
            Self::Half => STEP / 2,
        }
    }
}

/// The limbs of the coefficients of [`STEP`] words: the lowest of every evaluation, then the next ones.
type Limbs = [[[i16; HALF]; 2]; LIMBS];

/// Sums of words times limbs: those of the lowest limb of every evaluation, then the next ones.
type LimbSums = [[i64; EVALUATIONS]; PARTS];

/// Sums of words times coefficients, each mod p up to a few multiples.
type PlainSums = [u64; EVALUATIONS];

/// The secret coefficients for one grid and number of attributes. Wiped when dropped; prints nothing of them.
pub(crate) struct ContentHash {
    packing: Packing,
    base: i32, // what tabled words are relative to, per attribute
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

/// The rows of a block, hashed while they are projected.
pub(crate) struct Contents<'a> {
    hash: &'a ContentHash,
    tabled: [LimbSums; LANES],
    plain: [PlainSums; LANES],
}

impl<'a> Contents<'a> {
    pub(crate) fn new(hash: &'a ContentHash) -> Self {
        Self { hash, tabled: Default::default(), plain: Default::default() }
    }

    /// Adds `columns` attributes of this many rows, from attribute `start` on. Rows are `stride` apart. `start` is a
    /// multiple of 64, and so is the number of columns unless the rows end there.
    pub(crate) fn add<T: Attribute>(
        &mut self,
        level: Level,
        start: usize,
        values: &[T],
        stride: usize,
        rows: usize,
        columns: usize,
    ) {
        // Whole registers read past the end of a row: the limbs are zero there. A half word must not.
        let whole = if columns.is_multiple_of(2) { columns.next_multiple_of(2 * STEP) } else { columns };
        let mut all: [&[T]; LANES] = [&[]; LANES];
        for (r, row) in all[..rows].iter_mut().enumerate() {
            let values = &values[r * stride..];
            *row = &values[..if whole <= values.len() { whole } else { columns }];
        }
        self.hash.add(level, start, &all[..rows], &mut self.tabled, &mut self.plain);
    }

    /// Takes the attributes of sparse row `r` for the whole of it.
    pub(crate) fn set_sparse(&mut self, r: usize, index: &[u32], value: &[i32]) {
        (self.tabled[r], self.plain[r]) = (LimbSums::default(), self.hash.sparse(index, value));
    }

    /// The evaluations of the rows, which were added as a whole.
    pub(crate) fn rows(&self) -> [Evaluations; LANES] {
        std::array::from_fn(|r| self.hash.finish(&self.tabled[r], &self.plain[r]))
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
        self.limbs = vec![[[[0; HALF]; 2]; LIMBS]; self.words.div_ceil(STEP)];
        let mut sum = [0; EVALUATIONS];
        for w in 0..self.words {
            for (t, &k) in self.coefficient(w).iter().enumerate() {
                sum[t] = (sum[t] + k) % P;
                for (l, limb) in signed_limbs((k % P) as i64).into_iter().enumerate() {
                    self.limbs[w / STEP][EVALUATIONS * l + t].as_flattened_mut()[w % STEP] = limb;
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
        let (mut tabled, mut plain) = ([LimbSums::default()], [PlainSums::default()]);
        match u {
            PrivateRow::Dense(values) => self.add(simd::level(), 0, &[values], &mut tabled, &mut plain),
            PrivateRow::Sparse { index, value, .. } => plain[0] = self.sparse(index, value),
        }
        self.finish(&tabled[0], &plain[0])
    }

    fn sparse(&self, index: &[u32], value: &[i32]) -> PlainSums {
        let mut sums = PlainSums::default();
        index.iter().zip(value).for_each(|(&j, &value)| self.add_one(j as usize, value, &mut sums));
        let bases = self.offset.map(|offset| P - u64::from(offset)); // no word was tabled
        sums.iter_mut().zip(bases).for_each(|(sum, base)| *sum += base);
        sums
    }

    #[inline]
    fn add_one(&self, j: usize, value: i32, h: &mut PlainSums) {
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

    /// Adds attributes `start..` of rows, equally many of each.
    fn add<T: Attribute>(
        &self,
        level: Level,
        start: usize,
        rows: &[&[T]],
        tabled: &mut [LimbSums],
        plain: &mut [PlainSums],
    ) {
        assert!(start.is_multiple_of(2 * STEP));
        if self.limbs.is_empty() {
            for (row, sums) in rows.iter().zip(plain) {
                (start..self.dim).zip(*row).for_each(|(j, &value)| self.add_one(j, value.into(), sums));
            }
            return;
        }
        T::add(level, self.packing, self.base, rows, &self.limbs[start / self.packing.attributes()..], tabled);
    }

    /// The evaluations of a row all of whose attributes were added.
    fn finish(&self, tabled: &LimbSums, plain: &PlainSums) -> Evaluations {
        std::array::from_fn(|t| {
            // Sums of 2^16 products have 42 bits: folded they have room for the shifts, and are above -2^34 together.
            let fold = |x: i64| (x & P as i64) + (x >> 31);
            let [a, b, c] = tabled.map(|part| fold(part[t]));
            let tabled = (a + (b << LIMB) + (c << (2 * LIMB)) + (P << 4) as i64) as u64;
            ((tabled + plain[t] + u64::from(self.offset[t])) % P) as u32
        })
    }

    /// The evaluations of a row or of nothing, with those of its id.
    pub(crate) fn with_id(&self, row: Evaluations, id: &[u8], hash: impl Fn(&[u8]) -> [u8; 32]) -> Evaluations {
        let hashed;
        let (head, bytes) = if id.len() <= ID_BYTES {
            (id.len() as u8, id)
        } else {
            hashed = hash(id);
            (u8::MAX, &hashed[..])
        };
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let (first, rest) = bytes.split_at(bytes.len().min(ID_WORD - 1));
        let words = std::iter::once(u64::from(head) | number(first) << 8).chain(rest.chunks(ID_WORD).map(number));
        let mut h = row.map(u64::from);
        for (word, k) in words.zip(&self.id) {
            h.iter_mut().zip(k).for_each(|(h, &k)| *h += word * u64::from(k)); // 16 products of 55 bits
        }
        h.map(|h| (h % P) as u32)
    }
}

/// 16 low bits with their sign, and what is left.
#[inline]
fn halves(value: i32) -> [i16; 2] {
    let low = value as i16;
    [low, (value.wrapping_sub(low.into()) >> 16) as i16]
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

/// A type that attributes on the grid come in.
pub(crate) trait Attribute: Copy + Into<i32> {
    /// Adds `sum_w words[w] limb_l[w]` for every row and every limb of every evaluation, where the words are those of the
    /// row's attributes, less their bases. Where they leave the last step unfinished, and beyond the limbs, nothing is added.
    fn add(level: Level, packing: Packing, base: i32, rows: &[&[Self]], limbs: &[Limbs], sums: &mut [LimbSums]);

    /// The lowest bits of a number: enough for the word that it becomes.
    fn wrapped(value: i32) -> Self;

    /// `a + 256 b`, in 16 bits.
    #[inline(always)]
    fn pair([a, b]: [Self; 2]) -> u16 {
        (a.into() as u16).wrapping_add((b.into() as u16) << 8)
    }
}

/// The words of these attributes, as many as the packing says.
#[inline(always)]
fn words_of<T: Attribute, const N: usize, const WORDS: usize>(base: i32, values: &[T; N]) -> [i16; WORDS] {
    const { assert!(N == 2 * WORDS || N == WORDS || N == WORDS / 2) }
    std::array::from_fn(|w| match 2 * N / WORDS {
        4 => {
            (T::pair([values[2 * w], values[2 * w + 1]]).wrapping_sub((base as u16).wrapping_mul(257)) ^ 0x8000) as i16
        }
        2 => values[w].into().wrapping_sub(base) as i16,
        _ => halves(values[w / 2].into())[w % 2],
    })
}

/// The attributes of a step that may lack some: bases take their place.
#[inline(always)]
fn filled<T: Attribute, const N: usize>(base: i32, values: &[T]) -> [T; N] {
    let mut all = [T::wrapped(base); N];
    all[..values.len()].copy_from_slice(values);
    all
}

macro_rules! attribute {
    ($type:ty, $kernel:ident $($more:tt)*) => {
        kernel! {
            /// [`Attribute::add`].
            $kernel(packing: Packing, base: i32, rows: &[&[$type]], limbs: &[Limbs], sums: &mut [LimbSums])
        }
        impl Attribute for $type {
            #[inline]
            fn add(l: Level, packing: Packing, base: i32, rows: &[&[Self]], limbs: &[Limbs], sums: &mut [LimbSums]) {
                $kernel(l, packing, base, rows, limbs, sums);
            }

            #[inline(always)]
            fn wrapped(value: i32) -> Self {
                value as Self
            }
            $($more)*
        }
    };
}
attribute!(i16, add_i16);
attribute!(i32, add_i32);
attribute!(u8, add_u8
    #[inline(always)]
    fn pair(pair: [u8; 2]) -> u16 {
        u16::from_le_bytes(pair) // as in memory
    }
);

#[cfg(test)]
mod tests;
