//! Projection of blocks of rows. In a block, the values of one attribute (or one output) of all rows are side by side
//! (`[attribute][lane]`), so that every sum is over contiguous memory and no kernel gathers.
//!
//! Each kernel exists in plain Rust and for each level, either compiled for it or written for it, equal bit for bit.

#![allow(unsafe_code)] // only to call and to be vector kernels

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

pub(crate) use crate::simd::LANES;
use crate::simd::kernel;

/// Attributes whose signed sums are tabled together by the Rademacher kernels.
pub(crate) const GROUP: usize = 6;
/// Groups whose tables fit the L1 cache.
pub(crate) const GROUPS: usize = 12;
/// Bytes of a table's entry: patterns are kept as offsets into their table.
pub(crate) const ENTRY: u16 = 32;
/// Attributes of one pass over the outputs: the sum of that many values must fit 16 bits.
pub(crate) const PASS: usize = GROUP * GROUPS;
/// Pairs of attributes of one pass of the weighted kernel: their cells leave room in the L1 cache for weights.
pub(crate) const PAIRS: usize = 112;
/// Outputs whose sums the weighted kernel keeps in registers.
pub(crate) const TILE: usize = 2;

/// A bin of attributes: where it ends in the list of them, and which output it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bin {
    pub(crate) end: usize,
    pub(crate) output: usize,
}

/// The constants of the exact quantiser: `q = clamp((floor(2 v / g) + 1) >> 1, lo, hi)`.
///
/// Clipping after the rounding equals clipping before it: both are monotone and the bounds are themselves rounded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantiser {
    /// `2 / g`, a power of two.
    pub(crate) twice_per_unit: f64,
    /// Least and greatest integer.
    pub(crate) bounds: (i32, i32),
}

impl Quantiser {
    /// Beyond the bounds by a step or more the result is a bound: clipping `2 v / g` there changes nothing, and keeps
    /// the conversion to an integer in range.
    fn clip_f64(&self) -> (f64, f64) {
        (2.0 * f64::from(self.bounds.0) - 3.0, 2.0 * f64::from(self.bounds.1) + 3.0)
    }

    /// The same, rounded outward where 24 bits cannot hold it.
    fn clip_f32(&self) -> (f32, f32) {
        let (least, most) = self.clip_f64();
        let (low, high) = (least as f32, most as f32);
        (
            if f64::from(low) > least { low.next_down() } else { low },
            if f64::from(high) < most { high.next_up() } else { high },
        )
    }
}

kernel! {
    /// Rounds floats onto the grid; false if one of them is not finite. Values must fit 16 bits.
    quantise_f32_i16(q: Quantiser, from: &[f32], to: &mut [i16]) -> bool
}
kernel! {
    /// The same to 32 bits.
    quantise_f32_i32(q: Quantiser, from: &[f32], to: &mut [i32]) -> bool
}
kernel! {
    /// The same from 64-bit floats.
    quantise_f64_i16(q: Quantiser, from: &[f64], to: &mut [i16]) -> bool
}
kernel! {
    /// The same from 64-bit floats to 32 bits.
    quantise_f64_i32(q: Quantiser, from: &[f64], to: &mut [i32]) -> bool
}
kernel! {
    /// `to[c * LANES + r] = from[r * stride + c]` for `r < rows`, `c < columns`; the other lanes become 0.
    transpose_u8(from: &[u8], stride: usize, rows: usize, columns: usize, to: &mut [u8])
}
kernel! {
    /// The same for 16 bits.
    transpose_i16(from: &[i16], stride: usize, rows: usize, columns: usize, to: &mut [i16])
}
kernel! {
    /// The same for 32 bits.
    transpose_i32(from: &[i32], stride: usize, rows: usize, columns: usize, to: &mut [i32])
}
kernel! {
    /// The other way: `to[r * stride + j] = from[j * LANES + r]` for all lanes `r < rows` and outputs `j`.
    untranspose_i16(from: &[i16], rows: usize, stride: usize, to: &mut [i16])
}
kernel! {
    /// The same for bytes.
    untranspose_u8(from: &[u8], rows: usize, stride: usize, to: &mut [u8])
}
kernel! {
    /// Packs `digits` outputs of [`LANES`] codes each into one byte per lane, base `base`, the first most significant.
    pack(codes: &[u8], digits: usize, base: u8, out: &mut [u8])
}
kernel! {
    /// OPORP, bins: output j of a bin is `starts[j]` plus the cells that `entries` name from the end of the bin before
    /// up to its own, each `attribute << 1 | minus`. Every output has a bin. Sums of cells alone, and outputs, fit 16 bits.
    oporp_u8(cells: &[u8], entries: &[u32], bins: &[Bin], starts: &[i16], out: &mut [i16])
}
kernel! {
    /// The same from 16-bit cells.
    oporp_i16(cells: &[i16], entries: &[u32], bins: &[Bin], starts: &[i16], out: &mut [i16])
}
kernel! {
    /// The same in 32 bits.
    oporp_i32(cells: &[i32], entries: &[u32], bins: &[Bin], starts: &[i32], out: &mut [i32])
}
kernel! {
    /// True if every number is larger than the one before.
    is_rising(index: &[u32]) -> bool
}
kernel! {
    /// `out[j] = banks[2 j + 1] - banks[2 j]`; false if a difference leaves 16 bits, or is the -32768 that has no opposite.
    join_banks(banks: &[i32], out: &mut [i16]) -> bool
}
kernel! {
    /// Rademacher: `out += sum of +-cells`. `patterns` has for every pass of [`PASS`] attributes and every output one
    /// pattern per [`GROUP`], times [`ENTRY`]: bit i is 1 where attribute i has weight +1. [`PASS`] cells fit 16 bits.
    rademacher_i16(cells: &[i16], patterns: &[u16], out: &mut [i32])
}
kernel! {
    /// The same from cells of any size whose sums fit 32 bits.
    rademacher_i32(cells: &[i32], patterns: &[u16], out: &mut [i32])
}
kernel! {
    /// Very sparse: output j adds the attributes `starts[2 j]..starts[2 j + 1]` of the list and subtracts those from there
    /// to `starts[2 j + 2]`. Up to `most` of them together fit 16 bits.
    sparse_i16(cells: &[i16], attributes: &[u32], starts: &[usize], most: usize, out: &mut [i32])
}
kernel! {
    /// Weighted sums in 32 bits, of an even number of attributes: a weight holds those of two attributes, the first in
    /// its lower half. For every pass of [`PAIRS`] pairs (the last may have fewer) and every [`TILE`] outputs (the last are
    /// padded), `weights` has those of the first pair, then those of the second, and so on.
    weighted_i16(cells: &[i16], weights: &[u32], out: &mut [i32])
}
