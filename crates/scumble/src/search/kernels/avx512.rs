//! The kernels for AVX-512: it counts the bits of words, and has twice as many registers to choose from.

use super::avx2::{add_lanes, end};
pub(super) use super::avx2::{dot, dots_one, look_up};
use super::{CHUNK, QUERIES, ROWS, TILE, Turned, avx2};
use scumble_core::simd::avx2::{load_floats, prefetch, store as store_half};
use scumble_core::simd::avx512::{load, store};
use std::arch::x86_64::*;

/// Words of 64 bits in a register.
const WORDS: usize = 8;

/// Bytes of a register.
const BYTES: usize = 64;

#[target_feature(enable = "avx2,fma,avx512f,avx512dq")]
pub(super) fn dots(rows: [&[f32]; TILE], queries: &[&[f32]], out: &mut [[f32; TILE]]) {
    match queries.len() {
        0..=3 => some_dots::<3>(rows, queries, out),
        _ => some_dots::<QUERIES>(rows, queries, out),
    }
}

/// The sums of AVX2, two rows per register: each half meets the query, which stands in both.
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512dq")]
fn some_dots<const Q: usize>(rows: [&[f32]; TILE], queries: &[&[f32]], out: &mut [[f32; TILE]]) {
    let steps = rows[0].len() / CHUNK;
    // Loops, because the compiler does not put closures with these instructions into calls of `map`.
    let (mut tile, mut asked) = ([&[[0.0; CHUNK]][..]; TILE], [&[[0.0; CHUNK]][..]; Q]);
    for r in 0..TILE {
        tile[r] = &rows[r].as_chunks().0[..steps];
    }
    for q in 0..Q {
        asked[q] = &queries[q.min(queries.len() - 1)].as_chunks().0[..steps]; // the last once more
    }
    let [a, b, c, d] = tile;
    let (mut low, mut high) = ([_mm512_setzero_ps(); Q], [_mm512_setzero_ps(); Q]);
    for at in 0..steps {
        let first = beside(load_floats(&a[at]), load_floats(&b[at]));
        let second = beside(load_floats(&c[at]), load_floats(&d[at]));
        for q in 0..Q {
            let query = _mm512_broadcast_f32x8(load_floats(&asked[q][at]));
            low[q] = _mm512_fmadd_ps(query, first, low[q]);
            high[q] = _mm512_fmadd_ps(query, second, high[q]);
        }
    }
    if let (Some(a), Some(b), Some(c), Some(d)) = (end(rows[0]), end(rows[1]), end(rows[2]), end(rows[3])) {
        let (first, second) = (beside(a, b), beside(c, d));
        for q in 0..queries.len() {
            let query = _mm512_broadcast_f32x8(end(queries[q]).expect("as long as the rows"));
            low[q] = _mm512_fmadd_ps(query, first, low[q]);
            high[q] = _mm512_fmadd_ps(query, second, high[q]);
        }
    }
    for ((low, high), out) in low.into_iter().zip(high).zip(out) {
        let [a, c] = [_mm512_castps512_ps256(low), _mm512_castps512_ps256(high)];
        add_lanes([a, _mm512_extractf32x8_ps::<1>(low), c, _mm512_extractf32x8_ps::<1>(high)], out);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn beside(a: __m256, b: __m256) -> __m512 {
    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(a), b)
}

/// Word j of row r at `8 * (j * ROWS + r)`, the last filled with zeros.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn turn(rows: &[u8], width: usize, lanes: &mut [u8]) {
    for (start, lanes) in (0..width).step_by(BYTES).zip(lanes.chunks_mut(WORDS * 8 * ROWS)) {
        let bytes = BYTES.min(width - start);
        for (group, rows) in rows.chunks_exact(WORDS * width).enumerate().take(ROWS / WORDS) {
            let words = transposed(std::array::from_fn(|r| load_some(&rows[r * width + start..][..bytes])));
            for (lane, words) in lanes.chunks_exact_mut(8 * ROWS).zip(words).take(bytes.div_ceil(8)) {
                store(&mut lane[BYTES * group..], words);
            }
        }
    }
}

/// At most 64 bytes, filled with zeros.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_some(bytes: &[u8]) -> __m512i {
    let mask = u64::MAX.checked_shr((BYTES - bytes.len().min(BYTES)) as u32).unwrap_or(0);
    // SAFETY: only the bytes of the mask are read, and those are there.
    unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
}

/// Eight registers of eight words: word j of register r becomes word r of register j.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed(v: [__m512i; WORDS]) -> [__m512i; WORDS] {
    let pairs: [_; 4] = std::array::from_fn(|i| {
        let (a, b) = (v[2 * i], v[2 * i + 1]);
        [_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)]
    });
    let mut out = v;
    for odd in 0..2 {
        let [a, b, c, d] = pairs.map(|pair| pair[odd]);
        let ([a, b], [c, d]) = (quarters(a, b), quarters(c, d));
        [out[odd], out[4 + odd]] = quarters(a, c);
        [out[2 + odd], out[6 + odd]] = quarters(b, d);
    }
    out
}

/// The quarters 0 and 2 of two registers, and the quarters 1 and 3.
#[inline]
#[target_feature(enable = "avx512f")]
fn quarters(a: __m512i, b: __m512i) -> [__m512i; 2] {
    [_mm512_shuffle_i64x2::<0b10_00_10_00>(a, b), _mm512_shuffle_i64x2::<0b11_01_11_01>(a, b)]
}

/// Eight rows of 64 bytes at a time; other lengths take the kernel of AVX2.
#[target_feature(enable = "avx2,popcnt,avx512f,avx512bw,avx512vl,avx512vpopcntdq")]
pub(super) fn plain_distances(rows: &[u8], query: &[u8], out: &mut [u32]) {
    if query.len() != BYTES {
        return avx2::plain_distances(rows, query, out);
    }
    let (eights, rest) = rows.as_chunks::<BYTES>().0.as_chunks::<WORDS>();
    let (outs, out_rest) = out.as_chunks_mut::<WORDS>();
    let words = load(query);
    for (rows, out) in eights.iter().zip(outs) {
        let mut counts = [_mm512_setzero_si512(); WORDS];
        for (count, row) in counts.iter_mut().zip(rows) {
            prefetch(row, 16 << 10); // memory is the limit: what comes 16 KiB later is prefetched now
            *count = _mm512_popcnt_epi64(_mm512_xor_si512(load(row), words));
        }
        // A word's count is at most 64: four rows share a word of four times 16 bits.
        let [a, b, c, d, e, f, g, h] = counts;
        let four = |a, b, c, d| {
            let (ab, cd) =
                (_mm512_or_si512(a, _mm512_slli_epi64::<16>(b)), _mm512_or_si512(c, _mm512_slli_epi64::<16>(d)));
            _mm512_or_si512(ab, _mm512_slli_epi64::<32>(cd))
        };
        let (first, second) = (four(a, b, c, d), four(e, f, g, h));
        let both = _mm512_add_epi16(_mm512_unpacklo_epi64(first, second), _mm512_unpackhi_epi64(first, second));
        let half = _mm256_add_epi16(_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64::<1>(both));
        let all = _mm_add_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
        store_half(out, _mm256_cvtepu16_epi32(all));
    }
    avx2::plain_distances(rest.as_flattened(), query, out_rest);
}

/// The sums of all rows for both queries stay in sixteen registers.
#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq")]
pub(super) fn distances(
    lanes: &[u8],
    queries: [&Turned; 2],
    limits: [u16; 2],
    out: &mut [[u16; ROWS]; 2],
    masks: &mut [u64; 2],
) {
    let mut sums = [[_mm512_setzero_si512(); ROWS / WORDS]; 2];
    let words = queries[0].words.iter().zip(&queries[1].words);
    for (lane, (first, second)) in lanes.as_chunks::<{ 8 * ROWS }>().0.iter().zip(words) {
        let queries = [_mm512_set1_epi64(*first as i64), _mm512_set1_epi64(*second as i64)];
        for (i, rows) in lane.as_chunks::<BYTES>().0.iter().enumerate() {
            let rows = load(rows);
            for (sums, query) in sums.iter_mut().zip(queries) {
                sums[i] = _mm512_add_epi64(sums[i], _mm512_popcnt_epi64(_mm512_xor_si512(rows, query)));
            }
        }
    }
    for (((sums, out), limit), mask) in sums.into_iter().zip(out).zip(limits).zip(masks) {
        let limit = _mm512_set1_epi64(limit.into());
        *mask = 0;
        // Most blocks have nothing below the limit, which the least of them tells.
        let least = sums.into_iter().reduce(|a, b| _mm512_min_epu64(a, b)).expect("there are eight");
        if _mm512_cmplt_epu64_mask(least, limit) != 0 {
            for (i, (out, sums)) in out.as_chunks_mut::<WORDS>().0.iter_mut().zip(sums).enumerate() {
                // SAFETY: eight words of 16 bits are writable, at any alignment.
                unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), _mm512_cvtepi64_epi16(sums)) }
                *mask |= u64::from(_mm512_cmplt_epu64_mask(sums, limit)) << (WORDS * i);
            }
        }
    }
}
