//! The kernels for AVX2.

use super::{CHUNK, QUERIES, ROWS, TILE, Turned, nibbles, nibbles_mut, scalar};
use scumble_core::simd::avx2::{Matrix, joined, load, load_floats, prefetch, store, transposed_bytes, twice};
use std::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub(super) fn turn(rows: &[u8], width: usize, lanes: &mut [u8]) {
    let mask = _mm256_set1_epi8(15);
    let matrix = Matrix::new(rows, width, ROWS, width);
    let whole = width / 16 * 16;
    let [low, high] = nibbles_mut(lanes, width);
    for c in (0..whole).step_by(16) {
        for half in [0, 32] {
            // SAFETY: 64 rows and at least c + 16 columns are there.
            let v = transposed_bytes(|r| unsafe { matrix.two(half + r, half + r + 16, c) });
            for (v, (low, high)) in v.into_iter().zip(low[c..].iter_mut().zip(&mut high[c..])) {
                store(&mut low[half..], _mm256_and_si256(v, mask));
                store(&mut high[half..], _mm256_and_si256(_mm256_srli_epi16::<4>(v), mask));
            }
        }
    }
    scalar::turn_from(whole, rows, width, lanes);
}

#[target_feature(enable = "avx2")]
pub(super) fn distances(
    lanes: &[u8],
    queries: [&Turned; 2],
    limits: [u16; 2],
    out: &mut [[u16; ROWS]; 2],
    masks: &mut [u64; 2],
) {
    // A byte of a row differs in at most 8 bits: 31 of them fit a byte's sum.
    const PART: usize = 31;
    let zero = _mm256_setzero_si256();
    let mut wide = [[zero; 4]; 2]; // interleaved within halves, put in order at the end
    let [low, high] = nibbles(lanes, queries[0].tables.len());
    let [first, second] = queries.map(|query| &query.tables[..low.len()]);
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
    // Memory is the limit: rows that come 16 KiB later are prefetched now.
    scalar::row_distances(rows, query, out, |row| prefetch(row, 16 << 10));
}

#[target_feature(enable = "avx2")]
pub(super) fn look_up(row: &[u8], tables: &[[[f32; 8]; 256]], sums: &mut [f32; 8]) {
    scalar::look_up(row, tables, sums);
}

/// Queries whose sums fit sixteen registers.
const HALF: usize = QUERIES / 2;

#[target_feature(enable = "avx2,fma")]
pub(super) fn dots(rows: [&[f32]; TILE], queries: &[&[f32]], out: &mut [[f32; TILE]]) {
    for (queries, out) in queries.chunks(HALF).zip(out.chunks_mut(HALF)) {
        let mut sums = [[0.0; TILE]; HALF];
        let queries = std::array::from_fn(|q| queries[q.min(queries.len() - 1)]); // the last once more
        three_dots(rows, queries, &mut sums);
        out.iter_mut().zip(sums).for_each(|(out, sums)| *out = sums);
    }
}

/// Twelve running sums of eight lanes. A step holds three queries and reads one row after the other: with the sums these are
/// all sixteen registers, and one that spilled would make every step wait for its store.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn three_dots(rows: [&[f32]; TILE], queries: [&[f32]; HALF], out: &mut [[f32; TILE]; HALF]) {
    let steps = rows[0].len() / CHUNK;
    let (row_ends, query_ends) = (rows.map(|row| end(row)), queries.map(|query| end(query)));
    let rows = rows.map(|row| &row.as_chunks::<CHUNK>().0[..steps]);
    let queries = queries.map(|query| &query.as_chunks::<CHUNK>().0[..steps]);
    let mut sums = [[_mm256_setzero_ps(); HALF]; TILE];
    for at in 0..steps {
        let queries = queries.map(|query| load_floats(&query[at]));
        for (sums, row) in sums.iter_mut().zip(rows) {
            let row = load_floats(&row[at]);
            sums.iter_mut().zip(queries).for_each(|(sum, query)| *sum = _mm256_fmadd_ps(query, row, *sum));
        }
    }
    for (sums, row) in sums.iter_mut().zip(row_ends) {
        for (sum, query) in sums.iter_mut().zip(query_ends) {
            if let (Some(row), Some(query)) = (row, query) {
                *sum = _mm256_fmadd_ps(query, row, *sum);
            }
        }
    }
    for (q, out) in out.iter_mut().enumerate() {
        add_lanes(sums.map(|sums| sums[q]), out);
    }
}

/// Row after row, as they come from memory: read side by side, they would come at a third of its speed.
#[target_feature(enable = "avx2,fma")]
pub(super) fn dots_one(rows: [&[f32]; TILE], query: &[f32], out: &mut [f32; TILE]) {
    let last = end(query);
    let query = query.as_chunks::<CHUNK>().0;
    let mut sums = [_mm256_setzero_ps(); TILE];
    for (sum, row) in sums.iter_mut().zip(rows) {
        for (at, (row, query)) in row.as_chunks::<CHUNK>().0.iter().zip(query).enumerate() {
            if at % 2 == 0 {
                prefetch(row, 16 << 10); // a line of what comes 16 KiB later
            }
            *sum = _mm256_fmadd_ps(load_floats(query), load_floats(row), *sum);
        }
        if let (Some(row), Some(query)) = (end(row), last) {
            *sum = _mm256_fmadd_ps(query, row, *sum);
        }
    }
    add_lanes(sums, out);
}

/// The eight lanes of each sum, added in pairs.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_lanes([a, b, c, d]: [__m256; TILE], out: &mut [f32; TILE]) {
    let pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    let four = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps::<1>(pairs));
    // SAFETY: four floats are writable, at any alignment.
    unsafe { _mm_storeu_ps(out.as_mut_ptr(), four) }
}

/// What whole registers leave of a row, filled with zeros.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn end(row: &[f32]) -> Option<__m256> {
    let rest = row.as_chunks::<CHUNK>().1;
    let mut filled = [0.0; CHUNK];
    filled[..rest.len()].copy_from_slice(rest);
    (!rest.is_empty()).then(|| load_floats(&filled))
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    scalar::dot(a, b)
}
