//! The kernels for AVX-512. Counting bits by look-ups is bound by a unit that is as wide in AVX2, and one query by memory:
//! they are its kernels.

use super::avx2::across;
pub(super) use super::avx2::{distances, look_up, plain_distances, split_nibbles};
use super::scalar::rest_of;
use super::{CHUNK, TILE};
use scumble_core::simd::avx2;
use scumble_core::simd::avx512::{halves, load_floats};
use std::arch::x86_64::*;

/// Multiplies and adds are separate, and the sixteen lanes are added one after the other: no rounding differs.
#[target_feature(enable = "avx512f")]
pub(super) fn dots(tile: &[f32], query: &[f32], out: &mut [f32; TILE]) {
    let (chunks, rest) = query.as_chunks::<CHUNK>();
    let (body, tail) = tile.split_at(chunks.len() * CHUNK * TILE);
    let mut lanes = [_mm512_setzero_ps(); TILE];
    for (query, rows) in chunks.iter().zip(body.as_chunks::<{ CHUNK * TILE }>().0) {
        let query = load_floats(query);
        for (row, lanes) in rows.as_chunks::<CHUNK>().0.iter().zip(&mut lanes) {
            *lanes = _mm512_add_ps(*lanes, _mm512_mul_ps(query, load_floats(row)));
        }
    }
    let mut sum = _mm256_set1_ps(-0.0); // `sum` of floats starts from -0
    for half in 0..2 {
        for lane in across(&lanes.map(|lanes| _mm256_castsi256_ps(halves(_mm512_castps_si512(lanes))[half]))) {
            sum = _mm256_add_ps(sum, lane);
        }
    }
    avx2::store(out, _mm256_castps_si256(sum));
    out.iter_mut().enumerate().for_each(|(r, out)| *out += rest_of(rest, tail, r));
}
