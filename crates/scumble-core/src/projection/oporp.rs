//! OPORP: one permutation of the attributes, bins of consecutive positions, one random sign per attribute.
//!
//! Algorithm 4 of the paper with sums as they are (no 1/sqrt factor). The permutation is a Feistel network on bits
//! with cycle walking, so that the bin of one attribute costs the same for p = 10 and p = 2^32. Departures: k need
//! not divide p (the first `p mod k` bins have one position more); t repetitions are t independent OPORPs of k/t
//! bins side by side. A public partition ([`Bins`]) may place attributes itself: permutation and sign are then used for
//! the attributes that it leaves out.

use super::cache::{Cache, compute_once};
use super::kernels::Bin;
use super::stream::{PERMUTATION, SIGNS, Stream};
use super::{Bins, Seed};
use crate::parallel;
use crate::vectors::PrivateRow;
use rand_core::Rng;
use std::ops::AddAssign;
use std::sync::{Arc, OnceLock};

/// The table of bins and signs is kept up to this size; beyond it every attribute is computed when it is needed.
const CACHED_BYTES: usize = 64 << 20;
/// Attributes that one parallel task takes on: whole words of the sign stream.
const TASK: usize = 1 << 14;
const ROUNDS: usize = 12;
/// A smaller network would be far from a random permutation (at 3 bits, 12 rounds: total variation 0.03).
const LEAST_BITS: u32 = 8;

/// A pseudo-random permutation of `0..p`.
struct Permutation {
    p: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [(u64, u64); ROUNDS],
}

impl Permutation {
    fn new(p: u64, stream: &Stream) -> Self {
        let mut rng = stream.at(0);
        let keys = std::array::from_fn(|_| (rng.next_u64(), rng.next_u64()));
        let bits = (u64::BITS - (p - 1).leading_zeros()).max(LEAST_BITS);
        Self { p, low_bits: bits.div_ceil(2), high_bits: bits / 2, keys }
    }

    #[inline]
    fn position(&self, attribute: u64) -> u64 {
        let mut y = attribute;
        loop {
            y = self.network(y);
            if y < self.p {
                return y; // walking the cycle back into 0..p keeps it a permutation
            }
        }
    }

    #[inline]
    fn network(&self, y: u64) -> u64 {
        let (mut high, mut low) = (y >> self.low_bits, y & ((1 << self.low_bits) - 1));
        for [even, odd] in self.keys.as_chunks().0 {
            low ^= round(*even, high) >> (64 - self.low_bits);
            high ^= round(*odd, low) >> (64 - self.high_bits);
        }
        high << self.low_bits | low
    }
}

/// 64 bits from half a position: an affine map with random coefficients (pairwise independent), then mixed.
#[inline]
fn round((a, b): (u64, u64), half: u64) -> u64 {
    let h = a.wrapping_mul(half).wrapping_add(b);
    (h ^ h >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Positions in bins of even sizes: the first `larger` have `size + 1` positions, the others `size`.
#[derive(Debug, Clone, Copy)]
struct Even {
    size: u64,
    larger: u64,
}

impl Even {
    fn new(p: u64, bins: u64) -> Self {
        Self { size: p / bins, larger: p % bins }
    }

    #[inline]
    fn of(&self, position: u64) -> u64 {
        let border = self.larger * (self.size + 1);
        if position < border { position / (self.size + 1) } else { self.larger + (position - border) / self.size }
    }
}

/// Output and sign of every attribute and repetition, attribute by attribute: `2 output + plus`.
enum Table {
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// The attributes of each bin, `attribute << 1 | minus`, for blocks of rows. By bin size, to help branch prediction.
pub(super) struct ByBin {
    /// One list per repetition.
    pub(super) entries: Vec<Vec<u32>>,
    /// Where each bin ends in its repetition's list, and its output of that repetition; the same for all.
    pub(super) bins: Vec<Bin>,
}

/// An OPORP, as a function of its seed and of the attributes that a public partition places.
pub(crate) struct Oporp {
    dim: usize,
    bins: usize, // k/t, of one repetition
    even: Even,
    repetitions: Vec<(Permutation, Stream)>,
    placed: Option<Placed>,
    table: Cache<Table>,
    by_bin: OnceLock<ByBin>,
}

/// A public partition, and the sizes that its bins have with the attributes that it leaves out.
struct Placed {
    bins: Arc<Bins>,
    signs: Vec<[u64; 2]>, // attributes of each bin that enter it with minus, and with plus
}

impl Oporp {
    /// `repeats` divides `k`, and `k/repeats <= dim`.
    pub(crate) fn new(seed: &Seed, dim: usize, k: usize, repeats: usize) -> Self {
        let bins = k / repeats;
        let repetition = |r| {
            let keys = Stream::new(seed, PERMUTATION, r);
            (Permutation::new(dim as u64, &keys), Stream::new(seed, SIGNS, r))
        };
        Self {
            dim,
            bins,
            even: Even::new(dim as u64, bins as u64),
            repetitions: (0..repeats as u32).map(repetition).collect(),
            placed: None,
            table: Cache::new(),
            by_bin: OnceLock::new(),
        }
    }

    /// The OPORP whose attributes are where the partition places them.
    pub(super) fn with_bins(seed: &Seed, bins: Arc<Bins>) -> Self {
        let mut oporp = Self::new(seed, bins.dim(), bins.len(), 1);
        let mut signs = vec![[0; 2]; bins.len()];
        for attribute in 0..bins.dim() {
            let (bin, plus) = bins.place(attribute).unwrap_or_else(|| oporp.locate(0, attribute));
            signs[bin][usize::from(plus)] += 1;
        }
        oporp.placed = Some(Placed { bins, signs });
        oporp
    }

    pub(super) fn repeats(&self) -> usize {
        self.repetitions.len()
    }

    /// The public partition.
    pub(super) fn placed(&self) -> Option<&Arc<Bins>> {
        self.placed.as_ref().map(|placed| &placed.bins)
    }

    /// Attributes that enter each bin of a public partition with minus, and with plus.
    pub(super) fn signs(&self) -> Option<&[[u64; 2]]> {
        self.placed.as_ref().map(|placed| &placed.signs[..])
    }

    /// The same for each output of OPORP too, where no more than `most` places have to be looked at.
    pub(super) fn count_signs(&self, most: usize) -> Option<Vec<[u64; 2]>> {
        if let Some(placed) = &self.placed {
            return Some(placed.signs.clone());
        }
        let places = self.dim.checked_mul(self.repeats()).filter(|places| *places <= most)?;
        let mut signs = vec![[0; 2]; self.bins * self.repeats()];
        for place in 0..places {
            let (output, plus) = self.locate(place / self.dim, place % self.dim);
            signs[output][usize::from(plus)] += 1;
        }
        Some(signs)
    }

    /// Attributes of each bin of one repetition.
    pub(super) fn sizes(&self) -> Vec<u64> {
        let Even { size, larger } = self.even;
        match &self.placed {
            Some(placed) => placed.signs.iter().map(|[minus, plus]| minus + plus).collect(),
            None => (0..self.bins as u64).map(|bin| size + u64::from(bin < larger)).collect(),
        }
    }

    /// The most attributes that a bin has: `ceil(p / (k/t))` unless a partition has placed them.
    pub(super) fn largest_bin(&self) -> u64 {
        match &self.placed {
            Some(placed) => placed.signs.iter().map(|[minus, plus]| minus + plus).max().expect("a bin"),
            None => self.even.size + u64::from(self.even.larger > 0),
        }
    }

    /// `sum_b n_b (n_b - 1) / (p (p - 1))` over the bins of one repetition: the chance that two attributes share a bin.
    /// 0 for bins, which are not drawn.
    pub(super) fn collision_rate(&self) -> f64 {
        if self.placed.is_some() {
            return 0.0;
        }
        let Even { size, larger } = self.even;
        let pairs = |n: u64| n as f64 * n.saturating_sub(1) as f64;
        let sum = larger as f64 * pairs(size + 1) + (self.bins as u64 - larger) as f64 * pairs(size);
        if self.dim > 1 { sum / pairs(self.dim as u64) } else { 0.0 }
    }

    #[inline]
    fn output(&self, repetition: usize, attribute: usize) -> usize {
        let position = self.repetitions[repetition].0.position(attribute as u64);
        repetition * self.bins + self.even.of(position) as usize
    }

    /// Output and sign (true means plus) of one attribute in one repetition.
    fn locate(&self, repetition: usize, attribute: usize) -> (usize, bool) {
        if let Some(place) = self.place(attribute) {
            return place;
        }
        (self.output(repetition, attribute), self.repetitions[repetition].1.bit(attribute as u64))
    }

    /// Where a partition has put an attribute; it has one repetition.
    #[inline]
    fn place(&self, attribute: usize) -> Option<(usize, bool)> {
        self.placed.as_ref()?.bins.place(attribute)
    }

    pub(super) fn entries(&self, attribute: usize) -> Vec<(usize, i32)> {
        let entry = |r| {
            let (output, plus) = self.locate(r, attribute);
            (output, if plus { 1 } else { -1 })
        };
        (0..self.repeats()).map(entry).collect()
    }

    pub(super) fn weights(&self, attribute: usize, out: &mut [i32]) {
        out.fill(0);
        for r in 0..self.repeats() {
            let (output, plus) = self.locate(r, attribute);
            out[output] = if plus { 1 } else { -1 };
        }
    }

    /// The table, if it is small enough and worth it after `attributes` more of them.
    fn table(&self, attributes: usize) -> Option<&Table> {
        let narrow = 2 * self.bins * self.repeats() <= 1 << 16;
        let bytes = self.dim.checked_mul(self.repeats() * if narrow { 2 } else { 4 });
        if bytes.is_none_or(|bytes| bytes > CACHED_BYTES) {
            return None;
        }
        self.table.get(attributes, self.dim / 4, || match narrow {
            true => Table::U16(self.build(|entry| entry as u16)),
            false => Table::U32(self.build(|entry| entry as u32)),
        })
    }

    fn build<T: Copy + Default + Send>(&self, narrow: fn(usize) -> T) -> Vec<T> {
        let t = self.repeats();
        let mut table = vec![T::default(); self.dim * t];
        parallel::chunks(&mut table, TASK * t, |task, chunk| {
            for r in 0..t {
                let mut signs = self.repetitions[r].1.at((task * TASK / 32) as u128);
                let mut word = 0;
                for (at, entry) in chunk[r..].iter_mut().step_by(t).enumerate() {
                    if at % 32 == 0 {
                        word = signs.next_u32();
                    }
                    let (attribute, plus) = (task * TASK + at, word >> (at % 32) & 1 == 1);
                    let (output, plus) = self.place(attribute).unwrap_or_else(|| (self.output(r, attribute), plus));
                    *entry = narrow(2 * output + usize::from(plus));
                }
            }
        });
        table
    }

    pub(super) fn prepare(&self) {
        self.table(self.dim);
    }

    /// The attributes by bin; `dim` is below 2^31.
    pub(super) fn by_bin(&self) -> &ByBin {
        compute_once(&self.by_bin, || {
            let sizes = self.sizes();
            let mut order: Vec<usize> = (0..self.bins).collect();
            order.sort_by_key(|&output| std::cmp::Reverse(sizes[output]));
            let bins = order.into_iter().scan(0, |end, output| {
                *end += sizes[output] as usize;
                Some(Bin { end: *end, output })
            });
            let bins: Vec<Bin> = bins.collect();
            let mut starts = vec![0; self.bins];
            bins.iter().for_each(|&Bin { end, output }| starts[output] = end - sizes[output] as usize);
            let entries = (0..self.repeats()).map(|r| {
                let mut entries = vec![0; self.dim];
                let mut next = starts.clone();
                for attribute in 0..self.dim {
                    let (output, plus) = self.locate(r, attribute);
                    let next = &mut next[output - r * self.bins];
                    entries[*next] = (attribute as u32) << 1 | u32::from(!plus);
                    *next += 1;
                }
                entries
            });
            ByBin { entries: entries.collect(), bins }
        })
    }

    /// `out += W^T q`.
    pub(crate) fn apply<S: Sum>(&self, row: PrivateRow<'_>, out: &mut [S]) {
        let touched = match row {
            PrivateRow::Dense(_) => row.entries().count(),
            PrivateRow::Sparse { index, .. } => index.len(),
        };
        match self.table(touched) {
            Some(Table::U16(table)) => self.apply_cached(table, row, out),
            Some(Table::U32(table)) => self.apply_cached(table, row, out),
            None => {
                for (i, q) in row.entries() {
                    for r in 0..self.repeats() {
                        let (output, plus) = self.locate(r, i);
                        out[output] += S::of(if plus { q } else { -q });
                    }
                }
            }
        }
    }

    /// Adds the values of a sparse row to `banks[2 output + plus]`; signs are left to the caller, so that summing takes
    /// one addition per value. False if that needs a table that has not been built.
    pub(super) fn add_to_banks(&self, index: &[u32], value: &[i32], banks: &mut [i32]) -> bool {
        let (1, Some(Table::U16(table))) = (self.repeats(), self.table(index.len())) else { return false };
        let (indices, rest) = index.as_chunks::<8>();
        let (values, rest_values) = value.as_chunks::<8>();
        // Sums are within the projection's bound, which fits. Eight look-ups are under way at a time.
        let mut add = |entry: u16, q: i32| {
            let bank = &mut banks[usize::from(entry)];
            *bank = bank.wrapping_add(q);
        };
        for (index, value) in indices.iter().zip(values) {
            let mut entries = [0; 8];
            for (entry, &i) in entries.iter_mut().zip(index) {
                *entry = table[i as usize];
            }
            entries.into_iter().zip(*value).for_each(|(entry, q)| add(entry, q));
        }
        rest.iter().zip(rest_values).for_each(|(&i, &q)| add(table[i as usize], q));
        true
    }

    fn apply_cached<T: Copy + Into<u32>, S: Sum>(&self, table: &[T], row: PrivateRow<'_>, out: &mut [S]) {
        let t = self.repeats();
        if let (PrivateRow::Sparse { index, value, .. }, 1) = (row, t) {
            for (&i, &q) in index.iter().zip(value) {
                let entry: u32 = table[i as usize].into();
                let minus = (entry & 1) as i32 - 1; // all ones for minus: (q ^ -1) + 1 = -q
                out[(entry >> 1) as usize] += S::of_i32((q ^ minus).wrapping_sub(minus));
            }
            return;
        }
        for (i, q) in row.entries() {
            for &entry in &table[i * t..][..t] {
                let entry: u32 = entry.into();
                let minus = i64::from(entry & 1) - 1; // all ones for minus: (q ^ -1) + 1 = -q
                out[(entry >> 1) as usize] += S::of((q ^ minus) - minus);
            }
        }
    }
}

/// Integers that projected values are added up in.
pub trait Sum: Copy + AddAssign + Send {
    /// The largest of them.
    const MOST: i64;

    /// A value that is known to fit.
    fn of(q: i64) -> Self;

    /// The same.
    fn of_i32(q: i32) -> Self;
}

impl Sum for i64 {
    const MOST: i64 = i64::MAX;

    #[inline]
    fn of(q: i64) -> Self {
        q
    }

    #[inline]
    fn of_i32(q: i32) -> Self {
        q.into()
    }
}

impl Sum for i32 {
    const MOST: i64 = i32::MAX as i64;

    #[inline]
    fn of(q: i64) -> Self {
        q as Self
    }

    #[inline]
    fn of_i32(q: i32) -> Self {
        q
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_taken_once_and_bins_have_their_sizes() {
        for p in [1usize, 2, 3, 5, 127, 128, 129, 784, 1000, 65537] {
            for bins in [1, 2, p.div_ceil(3), p].into_iter().filter(|&bins| bins <= p) {
                let oporp = Oporp::new(&Seed([p as u8; 32]), p, bins, 1);
                let mut taken = vec![false; p];
                let mut sizes = vec![0u64; bins];
                for i in 0..p {
                    let position = oporp.repetitions[0].0.position(i as u64) as usize;
                    assert!(!std::mem::replace(&mut taken[position], true), "p = {p}: {position} twice");
                    sizes[oporp.output(0, i)] += 1;
                }
                let (small, larger) = ((p / bins) as u64, p % bins);
                assert!(sizes.iter().enumerate().all(|(b, &n)| n == small + u64::from(b < larger)), "{p} {bins}");
                assert_eq!(oporp.largest_bin(), *sizes.iter().max().unwrap());
                let collisions = sizes.iter().map(|n| n * (n - 1)).sum::<u64>() as f64;
                assert_eq!(oporp.collision_rate(), collisions / ((p * (p - 1)) as f64).max(1.0));
                assert_eq!(oporp.sizes(), sizes);
            }
        }
    }

    /// Attributes that the partition lists go where it says, the others where OPORP's seed puts them.
    #[test]
    fn placed_attributes_lie_where_the_partition_says() {
        let (p, k, seed) = (TASK + 100, 37, Seed([7; 32]));
        let bin = |at: usize| if at.is_multiple_of(7) { 0 } else { (at % k) as u32 };
        let place = |at: usize| (!at.is_multiple_of(3)).then(|| (bin(at), at.is_multiple_of(5)));
        let places: Vec<_> = (0..p).map(place).collect();
        let bins = Bins::new(&places, k, super::super::Origin::Made).unwrap();
        let (placed, hashed) = (Oporp::with_bins(&seed, Arc::new(bins)), Oporp::new(&seed, p, k, 1));
        let table: Vec<usize> = placed.build(|entry| entry);
        let mut sizes = vec![0; k];
        for (at, &entry) in table.iter().enumerate() {
            let expected = place(at).map_or_else(|| hashed.locate(0, at), |(bin, plus)| (bin as usize, plus));
            assert_eq!(placed.locate(0, at), expected);
            assert_eq!(entry, 2 * expected.0 + usize::from(expected.1));
            sizes[expected.0] += 1;
        }
        assert_eq!((placed.sizes(), placed.largest_bin()), (sizes.clone(), *sizes.iter().max().unwrap()));
    }

    #[test]
    fn table_says_what_random_access_says() {
        // Sizes around a task and around the narrow entry, with repetitions.
        for (p, k, t) in [(1, 1, 1), (TASK + 33, 64, 2), (3 * TASK - 1, 33_000, 1), (40_000, 66_000, 3)] {
            let oporp = Oporp::new(&Seed([7; 32]), p, k, t);
            let table: Vec<usize> = oporp.build(|entry| entry);
            let step = (p / 1000).max(1);
            for i in (0..p).step_by(step).chain([p - 1]) {
                for r in 0..t {
                    let (output, plus) = oporp.locate(r, i);
                    assert_eq!(table[i * t + r], 2 * output + usize::from(plus));
                    assert!(output / (k / t) == r);
                }
            }
        }
    }
}
