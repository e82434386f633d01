//! What the AVX2 kernels of all modules share: loads and stores of slices, and transpositions.

#![allow(unsafe_code)] // only to read and write slices by registers

use std::arch::x86_64::*;

#[inline]
#[target_feature(enable = "avx2")]
pub fn load<T>(from: &[T]) -> __m256i {
    assert!(size_of_val(from) >= 32);
    // SAFETY: 32 bytes are readable, at any alignment.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn load_half<T>(from: &[T]) -> __m128i {
    assert!(size_of_val(from) >= 16);
    // SAFETY: 16 bytes are readable, at any alignment.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn load_floats(from: &[f32]) -> __m256 {
    _mm256_castsi256_ps(load(from))
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn store<T>(to: &mut [T], value: __m256i) {
    assert!(size_of_val(to) >= 32);
    // SAFETY: 32 bytes are writable, at any alignment.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
}

/// Prefetches the cache line this many bytes after the beginning. A hint that reads nothing: it may point anywhere.
#[inline]
#[target_feature(enable = "avx2")]
pub fn prefetch<T>(from: &[T], ahead: usize) {
    _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().cast::<i8>().wrapping_add(ahead));
}

/// Prefetches all cache lines of these values into the second-level cache.
#[inline]
#[target_feature(enable = "avx2")]
pub fn ask<T>(values: &[T]) {
    for at in (0..size_of_val(values)).step_by(64) {
        _mm_prefetch::<_MM_HINT_T1>(values.as_ptr().cast::<i8>().wrapping_add(at));
    }
}

/// Rows of a matrix, checked once: checks of every 16 bytes would cost more than transposing them.
pub struct Matrix<'a, T> {
    values: &'a [T],
    stride: usize,
    rows: usize,
    columns: usize,
}

impl<'a, T> Matrix<'a, T> {
    pub fn new(values: &'a [T], stride: usize, rows: usize, columns: usize) -> Self {
        assert!(rows == 0 || columns == 0 || (rows - 1) * stride + columns <= values.len(), "rows leave the matrix");
        Self { values, stride, rows, columns }
    }

    /// 16 bytes of two rows from a column on, one in each half.
    ///
    /// # Safety
    /// The rows and the columns must be within the matrix.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub unsafe fn two(&self, first: usize, second: usize, column: usize) -> __m256i {
        // SAFETY: 16 bytes are readable, at any alignment: the caller keeps to the matrix.
        let half = |row: usize| unsafe { _mm_loadu_si128(self.place(row, column).cast()) };
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(half(first)), half(second))
    }

    #[inline]
    fn place(&self, row: usize, column: usize) -> *const T {
        debug_assert!(row < self.rows && column + 16 / size_of::<T>() <= self.columns);
        self.values.as_ptr().wrapping_add(row.wrapping_mul(self.stride).wrapping_add(column))
    }
}

/// The first 16 bytes in both halves: a table for look-ups.
#[inline]
#[target_feature(enable = "avx2")]
pub fn twice<T>(from: &[T]) -> __m256i {
    _mm256_broadcastsi128_si256(load_half(from))
}

/// Packing interleaves the halves of its arguments: this puts the quarters back in order.
#[inline]
#[target_feature(enable = "avx2")]
pub fn in_order(packed: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(packed)
}

/// Unpacking works within halves: this puts the results from the low and the high parts in order.
#[inline]
#[target_feature(enable = "avx2")]
pub fn joined(low: __m256i, high: __m256i) -> [__m256i; 2] {
    [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)]
}

/// Transposes within each half of the registers, by stages that interleave register i with register i + N/2.
macro_rules! transposed {
    ($(#[$doc:meta])* $name:ident, $n:literal, $stages:literal, $low:ident, $high:ident) => {
        $(#[$doc])*
        #[inline]
        #[target_feature(enable = "avx2")]
        pub fn $name(row: impl Fn(usize) -> __m256i) -> [__m256i; $n] {
            let mut v = [_mm256_setzero_si256(); $n];
            for (r, v) in v.iter_mut().enumerate() {
                *v = row(r);
            }
            for _ in 0..$stages {
                let from = v;
                for i in 0..$n / 2 {
                    v[2 * i] = $low(from[i], from[i + $n / 2]);
                    v[2 * i + 1] = $high(from[i], from[i + $n / 2]);
                }
            }
            v
        }
    };
}
transposed! {
    /// 16 rows of 16 bytes, twice.
    transposed_bytes, 16, 4, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8
}
transposed! {
    /// 8 rows of 8 words of 16 bits, twice.
    transposed_words, 8, 3, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16
}
transposed! {
    /// 4 rows of 4 numbers of 32 bits, twice.
    transposed_numbers, 4, 2, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32
}
