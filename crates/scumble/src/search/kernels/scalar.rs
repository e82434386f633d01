//! The plain kernels.

use super::{CHUNK, ROWS, TILE, Turned, nibbles, nibbles_mut};

pub(super) fn turn(rows: &[u8], width: usize, lanes: &mut [u8]) {
    turn_from(0, rows, width, lanes);
}

/// The same from a byte of the rows on.
pub(super) fn turn_from(first: usize, rows: &[u8], width: usize, lanes: &mut [u8]) {
    let [low, high] = nibbles_mut(lanes, width);
    for (r, row) in rows.chunks_exact(width).enumerate().take(ROWS) {
        for ((byte, low), high) in row.iter().zip(&mut *low).zip(&mut *high).skip(first) {
            low[r] = byte & 15;
            high[r] = byte >> 4;
        }
    }
}

pub(super) fn distances(
    lanes: &[u8],
    queries: [&Turned; 2],
    limits: [u16; 2],
    out: &mut [[u16; ROWS]; 2],
    masks: &mut [u64; 2],
) {
    for (((query, limit), out), mask) in queries.into_iter().zip(limits).zip(out).zip(masks) {
        out.fill(0);
        let [low, high] = nibbles(lanes, query.tables.len());
        for ((low, high), [of_low, of_high]) in low.iter().zip(high).zip(&query.tables) {
            for ((sum, &low), &high) in out.iter_mut().zip(low).zip(high) {
                *sum += u16::from(of_low[usize::from(low)] + of_high[usize::from(high)]);
            }
        }
        *mask = out.iter().rev().fold(0, |mask, &distance| mask << 1 | u64::from(distance < limit));
    }
}

pub(super) fn plain_distances(rows: &[u8], query: &[u8], out: &mut [u32]) {
    row_distances(rows, query, out, |_| ());
}

/// Calls `ahead` with each row before it counts its bits.
#[inline(always)]
pub(super) fn row_distances(rows: &[u8], query: &[u8], out: &mut [u32], ahead: impl Fn(&[u8])) {
    // The usual lengths as constants: their loops are unrolled.
    match query.len() {
        32 => whole_words::<4>(rows, query, out, ahead),
        64 => whole_words::<8>(rows, query, out, ahead),
        128 => whole_words::<16>(rows, query, out, ahead),
        _ => any_bytes(rows, query, out, ahead),
    }
}

fn word(bytes: &[u8; 8]) -> u64 {
    u64::from_ne_bytes(*bytes)
}

#[inline(always)]
fn whole_words<const WORDS: usize>(rows: &[u8], query: &[u8], out: &mut [u32], ahead: impl Fn(&[u8])) {
    let query: [u64; WORDS] = std::array::from_fn(|i| word(&query.as_chunks().0[i]));
    for (row, out) in rows.as_chunks::<8>().0.as_chunks::<WORDS>().0.iter().zip(out) {
        ahead(row.as_flattened());
        let mut sums = [0; 4];
        for i in 0..WORDS {
            sums[i % 4] += (word(&row[i]) ^ query[i]).count_ones();
        }
        *out = sums.iter().sum();
    }
}

#[inline(always)]
fn any_bytes(rows: &[u8], query: &[u8], out: &mut [u32], ahead: impl Fn(&[u8])) {
    let (words, rest) = query.as_chunks::<8>();
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        ahead(row);
        let (row_words, row_rest) = row.as_chunks::<8>();
        let sum: u32 = row_words.iter().zip(words).map(|(a, b)| (word(a) ^ word(b)).count_ones()).sum();
        *out = sum + row_rest.iter().zip(rest).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
    }
}

pub(super) fn dots(rows: [&[f32]; TILE], queries: &[&[f32]], out: &mut [[f32; TILE]]) {
    for (out, query) in out.iter_mut().zip(queries) {
        out.iter_mut().zip(rows).for_each(|(out, row)| *out = dot(query, row));
    }
}

pub(super) fn dots_one(rows: [&[f32]; TILE], query: &[f32], out: &mut [f32; TILE]) {
    out.iter_mut().zip(rows).for_each(|(out, row)| *out = dot(query, row));
}

/// The definition of an inner product: running sum l takes every eighth product from l on, each with one rounding, and the
/// eight are added in pairs of neighbours.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; CHUNK];
    let mut add = |a: &[f32; CHUNK], b: &[f32; CHUNK]| {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum = a.mul_add(*b, *sum));
    };
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    a.iter().zip(b).for_each(|(a, b)| add(a, b));
    if !a_rest.is_empty() {
        let [mut a, mut b] = [[0.0; CHUNK]; 2];
        a[..a_rest.len()].copy_from_slice(a_rest);
        b[..b_rest.len()].copy_from_slice(b_rest);
        add(&a, &b);
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

#[inline(always)]
pub(super) fn look_up(row: &[u8], tables: &[[[f32; 8]; 256]], sums: &mut [f32; 8]) {
    let mut total = [0.0f32; 8];
    for (table, &byte) in tables.iter().zip(row) {
        let entry = &table[usize::from(byte)];
        total.iter_mut().zip(entry).for_each(|(sum, part)| *sum += part);
    }
    *sums = total;
}
