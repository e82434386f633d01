//! The kernels for AVX2.

use super::scalar::{self, rest_of};
use super::{CHUNK, NibbleTables, ROWS, TILE};
use scumble_core::simd::avx2::{Matrix, joined, load, load_floats, prefetch, store, transposed_bytes, twice};
use std::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub(super) fn split_nibbles(rows: &[u8], width: usize, low: &mut [u8], high: &mut [u8]) {
    let mask = _mm256_set1_epi8(15);
    let matrix = Matrix::new(rows, width, ROWS, width);
    let whole = width / 16 * 16;
    for c in (0..whole).step_by(16) {
        for half in [0, 32] {
            // SAFETY: 64 rows and at least c + 16 columns are there.
            let v = transposed_bytes(|r| unsafe { matrix.two(half + r, half + r + 16, c) });
            let (low, high) = (&mut low.as_chunks_mut::<ROWS>().0[c..], &mut high.as_chunks_mut::<ROWS>().0[c..]);
            for (v, (low, high)) in v.into_iter().zip(low.iter_mut().zip(high)) {
                store(&mut low[half..], _mm256_and_si256(v, mask));
                store(&mut high[half..], _mm256_and_si256(_mm256_srli_epi16::<4>(v), mask));
            }
        }
    }
    scalar::split_nibbles_from(whole, rows, width, low, high);
}

#[target_feature(enable = "avx2")]
pub(super) fn distances(
    low: &[u8],
    high: &[u8],
    queries: [&NibbleTables; 2],
    limits: [u16; 2],
    out: &mut [[u16; ROWS]; 2],
    masks: &mut [u64; 2],
) {
    // A byte of a row differs in at most 8 bits: 31 of them fit a byte's sum.
    const PART: usize = 31;
    let zero = _mm256_setzero_si256();
    let mut wide = [[zero; 4]; 2]; // interleaved within halves, put in order at the end
    let (low, high) = (low.as_chunks::<ROWS>().0, high.as_chunks::<ROWS>().0);
    let [first, second] = queries.map(|query| &query[..low.len()]);
    let parts = low.chunks(PART).zip(high.chunks(PART)).zip(first.chunks(PART)).zip(second.chunks(PART));
    for (((low, high), first), second) in parts {
        let mut sums = [[zero; 2]; 2];
        for (((low, high), first), second) in low.iter().zip(high).zip(first).zip(second) {
            let lows = [load(low), load(&low[32..])];
            let highs = [load(high), load(&high[32..])];
            for ([of_low, of_high], sums) in [first, second].into_iter().zip(&mut sums) {
                let (of_low, of_high) = (twice(of_low), twice(of_high));
                for i in 0..2 {
                    let both =
                        _mm256_add_epi8(_mm256_shuffle_epi8(of_low, lows[i]), _mm256_shuffle_epi8(of_high, highs[i]));
                    sums[i] = _mm256_add_epi8(sums[i], both);
                }
            }
        }
        for (wide, sums) in wide.iter_mut().zip(sums) {
            for i in 0..2 {
                wide[2 * i] = _mm256_add_epi16(wide[2 * i], _mm256_unpacklo_epi8(sums[i], zero));
                wide[2 * i + 1] = _mm256_add_epi16(wide[2 * i + 1], _mm256_unpackhi_epi8(sums[i], zero));
            }
        }
    }
    for (((out, wide), limit), mask) in out.iter_mut().zip(wide).zip(limits).zip(masks) {
        let limit = _mm256_set1_epi16(limit as i16);
        *mask = 0;
        for i in 0..2 {
            let (a, b) = (wide[2 * i], wide[2 * i + 1]);
            let [first, second] = joined(a, b);
            store(&mut out[32 * i..], first);
            store(&mut out[32 * i + 16..], second);
            // Packing within halves undoes the interleaving.
            let below = _mm256_packs_epi16(_mm256_cmpgt_epi16(limit, a), _mm256_cmpgt_epi16(limit, b));
            *mask |= u64::from(_mm256_movemask_epi8(below) as u32) << (32 * i);
        }
    }
}

#[target_feature(enable = "avx2,popcnt")]
pub(super) fn plain_distances(rows: &[u8], query: &[u8], out: &mut [u32]) {
    // Memory is the limit: rows that come 3 KiB later are asked for now.
    scalar::row_distances(rows, query, out, |row| prefetch(row, 3 << 10));
}

#[target_feature(enable = "avx2")]
pub(super) fn look_up(row: &[u8], tables: &[[[f32; 8]; 256]], sums: &mut [f32; 8]) {
    scalar::look_up(row, tables, sums);
}

/// Multiplies and adds are separate, and the sixteen lanes are added one after the other: no rounding differs.
#[target_feature(enable = "avx2")]
pub(super) fn dots(tile: &[f32], query: &[f32], out: &mut [f32; TILE]) {
    let (chunks, rest) = query.as_chunks::<CHUNK>();
    let (body, tail) = tile.split_at(chunks.len() * CHUNK * TILE);
    let body = body.as_chunks::<{ CHUNK * TILE }>().0;
    // `sum` of floats starts from -0. Eight sums at a time, one for each row: more would not fit the registers.
    let mut sum = _mm256_set1_ps(-0.0);
    for lanes in [half_of_the_lanes::<0>(chunks, body), half_of_the_lanes::<8>(chunks, body)] {
        for lane in across(&lanes) {
            sum = _mm256_add_ps(sum, lane);
        }
    }
    store(out, _mm256_castps_si256(sum));
    out.iter_mut().enumerate().for_each(|(r, out)| *out += rest_of(rest, tail, r));
}

/// Lanes `FROM` to `FROM + 7` of every row's sixteen running sums.
#[inline]
#[target_feature(enable = "avx2")]
fn half_of_the_lanes<const FROM: usize>(chunks: &[[f32; CHUNK]], body: &[[f32; CHUNK * TILE]]) -> [__m256; TILE] {
    let mut lanes = [_mm256_setzero_ps(); TILE];
    for (query, rows) in chunks.iter().zip(body) {
        let query = load_floats(&query[FROM..]);
        for (r, lanes) in lanes.iter_mut().enumerate() {
            *lanes = _mm256_add_ps(*lanes, _mm256_mul_ps(query, load_floats(&rows[r * CHUNK + FROM..])));
        }
    }
    lanes
}

/// Transposes 8 x 8 floats.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn across(v: &[__m256; 8]) -> [__m256; 8] {
    let mut pairs = [_mm256_setzero_ps(); 8];
    for i in 0..4 {
        pairs[2 * i] = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
    let mut fours = [_mm256_setzero_ps(); 8]; // columns 0 to 3 (and 4 to 7 above) of rows 0 to 3, then of rows 4 to 7
    for i in 0..2 {
        let (low, high) = ((pairs[4 * i], pairs[4 * i + 2]), (pairs[4 * i + 1], pairs[4 * i + 3]));
        fours[4 * i] = _mm256_shuffle_ps::<0b01_00_01_00>(low.0, low.1);
        fours[4 * i + 1] = _mm256_shuffle_ps::<0b11_10_11_10>(low.0, low.1);
        fours[4 * i + 2] = _mm256_shuffle_ps::<0b01_00_01_00>(high.0, high.1);
        fours[4 * i + 3] = _mm256_shuffle_ps::<0b11_10_11_10>(high.0, high.1);
    }
    let mut all = [_mm256_setzero_ps(); 8];
    for i in 0..4 {
        all[i] = _mm256_permute2f128_ps::<0x20>(fours[i], fours[i + 4]);
        all[i + 4] = _mm256_permute2f128_ps::<0x31>(fours[i], fours[i + 4]);
    }
    all
}
