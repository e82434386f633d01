//! What the AVX-512 kernels of all modules share.

#![allow(unsafe_code)] // only to read and write slices by registers

use std::arch::x86_64::*;

#[inline]
#[target_feature(enable = "avx512f")]
pub fn load<T>(from: &[T]) -> __m512i {
    assert!(size_of_val(from) >= 64);
    // SAFETY: 64 bytes are readable, at any alignment.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub fn load_floats(from: &[f32]) -> __m512 {
    _mm512_castsi512_ps(load(from))
}

#[inline]
#[target_feature(enable = "avx512f")]
pub fn store<T>(to: &mut [T], value: __m512i) {
    assert!(size_of_val(to) >= 64);
    // SAFETY: 64 bytes are writable, at any alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
}

/// The lower and the upper half.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn halves(v: __m512i) -> [__m256i; 2] {
    [_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v)]
}

/// Words of 16 bits as numbers of 32 bits.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn widened(v: __m512i) -> [__m512i; 2] {
    halves(v).map(|half| _mm512_cvtepi16_epi32(half))
}
