//! The kernels for NEON. Inner products and look-ups are the plain code, which the compiler vectorises with what every such
//! processor has.

pub(super) use super::scalar::{dot, dots, dots_one, look_up};
use super::{ROWS, Turned, nibbles, nibbles_mut, scalar};
use scumble_core::simd::neon::{load, store, transposed_bytes};
use std::arch::aarch64::*;

/// A byte of a row differs in at most 8 bits: this many of them fit a byte's sum.
const PART: usize = 31;

#[target_feature(enable = "neon")]
pub(super) fn turn(rows: &[u8], width: usize, lanes: &mut [u8]) {
    let whole = width / 16 * 16;
    let [low, high] = nibbles_mut(lanes, width);
    for (r, rows) in (0..ROWS).step_by(16).zip(rows[..ROWS * width].chunks_exact(16 * width)) {
        // Cut to one length: a column is then checked once for all rows.
        let rows: [_; 16] = std::array::from_fn(|i| &rows[i * width..][..whole]);
        let (low, high) = (low.as_chunks_mut::<16>().0, high.as_chunks_mut::<16>().0);
        for (c, (low, high)) in (0..whole).step_by(16).zip(low.iter_mut().zip(high)) {
            let v = transposed_bytes(|i| load(&rows[i][c..]));
            for (v, (low, high)) in v.into_iter().zip(low.iter_mut().zip(high)) {
                store(&mut low[r..], vandq_u8(v, vdupq_n_u8(15)));
                store(&mut high[r..], vshrq_n_u8::<4>(v));
            }
        }
    }
    scalar::turn_from(whole, rows, width, lanes);
}

#[target_feature(enable = "neon")]
pub(super) fn distances(
    lanes: &[u8],
    queries: [&Turned; 2],
    limits: [u16; 2],
    out: &mut [[u16; ROWS]; 2],
    masks: &mut [u64; 2],
) {
    *out = [[0; ROWS]; 2];
    let [low, high] = nibbles(lanes, queries[0].tables.len());
    let [first, second] = queries.map(|query| &query.tables[..low.len()]);
    let parts = low.chunks(PART).zip(high.chunks(PART)).zip(first.chunks(PART)).zip(second.chunks(PART));
    for (((low, high), first), second) in parts {
        let mut sums = [[vdupq_n_u8(0); ROWS / 16]; 2];
        for (((low, high), first), second) in low.iter().zip(high).zip(first).zip(second) {
            let tables = [first, second].map(|[of_low, of_high]| [load(of_low), load(of_high)]);
            for i in 0..ROWS / 16 {
                let (low, high) = (load(&low[16 * i..]), load(&high[16 * i..]));
                for (sums, [of_low, of_high]) in sums.iter_mut().zip(tables) {
                    let both = vaddq_u8(vqtbl1q_u8(of_low, low), vqtbl1q_u8(of_high, high));
                    sums[i] = vaddq_u8(sums[i], both);
                }
            }
        }
        for (out, sums) in out.iter_mut().zip(sums) {
            for (out, sum) in out.as_chunks_mut::<16>().0.iter_mut().zip(sums) {
                let (low, high) = (vaddw_u8(load(out), vget_low_u8(sum)), vaddw_high_u8(load(&out[8..]), sum));
                store(out, low);
                store(&mut out[8..], high);
            }
        }
    }
    let bits = load(&[1u16, 2, 4, 8, 16, 32, 64, 128]);
    for ((out, limit), mask) in out.iter().zip(limits).zip(masks) {
        let byte = |eight: &[u16; 8]| vaddvq_u16(vandq_u16(vcltq_u16(load(eight), vdupq_n_u16(limit)), bits));
        *mask = out.as_chunks().0.iter().rev().fold(0, |mask, eight| mask << 8 | u64::from(byte(eight)));
    }
}

#[target_feature(enable = "neon")]
pub(super) fn plain_distances(rows: &[u8], query: &[u8], out: &mut [u32]) {
    // The usual lengths as constants: their loops are unrolled.
    match query.len() {
        32 => whole_registers::<2>(rows, query, out),
        64 => whole_registers::<4>(rows, query, out),
        128 => whole_registers::<8>(rows, query, out),
        _ => any_bytes(rows, query, out),
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn whole_registers<const N: usize>(rows: &[u8], query: &[u8], out: &mut [u32]) {
    let query = query.as_chunks::<16>().0;
    for (row, out) in rows.as_chunks::<16>().0.as_chunks::<N>().0.iter().zip(out) {
        *out = differing(row, query);
    }
}

#[target_feature(enable = "neon")]
fn any_bytes(rows: &[u8], query: &[u8], out: &mut [u32]) {
    let (registers, rest) = query.as_chunks::<16>();
    for (row, out) in rows.chunks_exact(query.len()).zip(out) {
        let (row_registers, row_rest) = row.as_chunks::<16>();
        let whole: u32 = row_registers.chunks(PART).zip(registers.chunks(PART)).map(|(a, b)| differing(a, b)).sum();
        *out = whole + row_rest.iter().zip(rest).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
    }
}

/// How many bits differ, of at most [`PART`] registers.
#[inline]
#[target_feature(enable = "neon")]
fn differing(row: &[[u8; 16]], query: &[[u8; 16]]) -> u32 {
    let mut sums = vdupq_n_u8(0);
    for (row, query) in row.iter().zip(query) {
        sums = vaddq_u8(sums, vcntq_u8(veorq_u8(load(row), load(query))));
    }
    vaddlvq_u8(sums).into()
}
