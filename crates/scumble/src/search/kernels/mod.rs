//! Distances and inner products of many rows with many queries. Plain Rust, and written for each level, equal bit for bit.

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

/// Queries that they meet together: twelve sums fit the registers.
pub(super) const QUERIES: usize = 3;

/// Running sums of an inner product.
const CHUNK: usize = 8;

/// For each byte of a query: how many bits differ from each of 16 low, then of 16 high nibbles.
pub(super) type NibbleTables = Vec<[[u8; 16]; 2]>;

/// The nibble tables of one query.
pub(super) fn nibble_tables(query: &[u8]) -> NibbleTables {
    let differing = |nibble: u8| std::array::from_fn(|other| (nibble ^ other as u8).count_ones() as u8);
    query.iter().map(|byte| [differing(byte & 15), differing(byte >> 4)]).collect()
}

kernel! {
    /// Low and high nibbles of [`ROWS`] rows of `width` bytes, lane by lane: row r of byte j at `j * ROWS + r`.
    split_nibbles(rows: &[u8], width: usize, low: &mut [u8], high: &mut [u8])
}
kernel! {
    /// Hamming distances of [`ROWS`] rows to two queries of at most [`MOST_BYTES`]; sets bit r of a query's mask if row r
    /// is below its limit.
    distances(
        low: &[u8], high: &[u8], queries: [&NibbleTables; 2], limits: [u16; 2], out: &mut [[u16; ROWS]; 2],
        masks: &mut [u64; 2],
    )
}
kernel! {
    /// Hamming distances of rows as they lie, to one query.
    plain_distances(rows: &[u8], query: &[u8], out: &mut [u32])
}
kernel! {
    /// Inner products of rows and queries of equal length, in the order of [`super::dot`].
    dots(rows: [&[f32]; TILE], queries: [&[f32]; QUERIES], out: &mut [[f32; TILE]; QUERIES])
}
kernel! {
    /// The same for one query, and rows that may have to come from memory, one after the other.
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
