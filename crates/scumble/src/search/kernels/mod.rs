//! Distances and inner products of many rows with many queries. In plain Rust and for each level, equal bit for bit.

#![allow(unsafe_code)] // only to call and to be vector kernels

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

use scumble_core::simd::kernel;

/// Rows whose bits are turned into lanes at a time.
pub(super) const ROWS: usize = 64;

/// Bytes of the longest code whose distances fit 15 bits.
pub(super) const MOST_BYTES: usize = 4095;

/// Rows that the inner products take at a time.
pub(super) const TILE: usize = 4;

/// The most queries that they meet together: as many sums as registers hold, which is half as many with AVX2.
pub(super) const QUERIES: usize = 6;

/// Running sums of an inner product.
const CHUNK: usize = 8;

/// A query as [`distances`] reads it.
pub(super) struct Turned {
    /// For each byte: how many bits differ from each of 16 low, then of 16 high nibbles.
    tables: Vec<[[u8; 16]; 2]>,
    /// Its words of 64 bits, the last filled with zeros.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    words: Vec<u64>,
}

impl Turned {
    pub(super) fn new(query: &[u8]) -> Self {
        let differing = |nibble: u8| std::array::from_fn(|other| (nibble ^ other as u8).count_ones() as u8);
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(word)
        };
        Self {
            tables: query.iter().map(|byte| [differing(byte & 15), differing(byte >> 4)]).collect(),
            words: query.chunks(8).map(word).collect(),
        }
    }
}

/// Bytes that [`ROWS`] rows of `width` bytes take when they are turned, at any level.
pub(super) fn turned_bytes(width: usize) -> usize {
    ROWS * (2 * width).next_multiple_of(8)
}

/// The nibbles of turned rows: all low ones, then all high ones; row r of byte j at `j * ROWS + r`.
fn nibbles<T>(lanes: &[T], width: usize) -> [&[[T; ROWS]]; 2] {
    let lanes = lanes.as_chunks().0;
    [&lanes[..width], &lanes[width..2 * width]]
}

/// The same, to be written.
fn nibbles_mut<T>(lanes: &mut [T], width: usize) -> [&mut [[T; ROWS]]; 2] {
    let (low, high) = lanes.as_chunks_mut().0[..2 * width].split_at_mut(width);
    [low, high]
}

kernel! {
    /// Turns [`ROWS`] rows of `width` bytes into lanes, for [`distances`]: nibbles of all rows side by side, or words.
    turn(rows: &[u8], width: usize, lanes: &mut [u8])
}
kernel! {
    /// Hamming distances of [`ROWS`] turned rows to two queries of at most [`MOST_BYTES`]; sets bit r of a query's mask if
    /// row r is below its limit. Where no row is, the distances may stay unwritten.
    distances(
        lanes: &[u8], queries: [&Turned; 2], limits: [u16; 2], out: &mut [[u16; ROWS]; 2], masks: &mut [u64; 2],
    )
}
kernel! {
    /// Hamming distances of rows in place, to one query.
    plain_distances(rows: &[u8], query: &[u8], out: &mut [u32])
}
kernel! {
    /// Inner products of rows and at most [`QUERIES`] queries of equal length, in the order of [`super::dot`].
    dots(rows: [&[f32]; TILE], queries: &[&[f32]], out: &mut [[f32; TILE]])
}
kernel! {
    /// The same for one query, and rows that may have to come from memory, one after another.
    dots_one(rows: [&[f32]; TILE], query: &[f32], out: &mut [f32; TILE])
}
kernel! {
    /// One inner product.
    dot(a: &[f32], b: &[f32]) -> f32
}
kernel! {
    /// Sums of look-ups: for each byte of a row the entry of its state, added up in byte order, eight queries at once.
    look_up(row: &[u8], tables: &[[[f32; 8]; 256]], sums: &mut [f32; 8])
}
