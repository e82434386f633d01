//! What the NEON kernels of all modules share: loads and stores of slices, and transpositions.

#![allow(unsafe_code)] // only to read and write slices by registers

use std::arch::aarch64::*;

/// A number that registers hold side by side.
///
/// # Safety
/// A register must be 16 bytes of such numbers, whatever their bits.
pub unsafe trait Lane: Copy {
    type Register: Copy;
}

// SAFETY: 16 numbers of 1 byte.
unsafe impl Lane for u8 {
    type Register = uint8x16_t;
}

// SAFETY: 8 numbers of 2 bytes.
unsafe impl Lane for i16 {
    type Register = int16x8_t;
}

// SAFETY: 8 numbers of 2 bytes.
unsafe impl Lane for u16 {
    type Register = uint16x8_t;
}

// SAFETY: 4 numbers of 4 bytes.
unsafe impl Lane for i32 {
    type Register = int32x4_t;
}

#[inline(always)]
pub fn load<T: Lane>(from: &[T]) -> T::Register {
    assert!(size_of_val(from) >= 16);
    // SAFETY: 16 bytes are readable, at any alignment.
    unsafe { from.as_ptr().cast::<T::Register>().read_unaligned() }
}

#[inline(always)]
pub fn store<T: Lane>(to: &mut [T], value: T::Register) {
    assert!(size_of_val(to) >= 16);
    // SAFETY: 16 bytes are writable, at any alignment.
    unsafe { to.as_mut_ptr().cast::<T::Register>().write_unaligned(value) }
}

/// Transposes a square, by stages that interleave register i with register i + N/2.
macro_rules! transposed {
    ($(#[$doc:meta])* $name:ident, $register:ty, $n:literal, $stages:literal, $low:ident, $high:ident) => {
        $(#[$doc])*
        #[inline]
        #[target_feature(enable = "neon")]
        pub fn $name(row: impl Fn(usize) -> $register) -> [$register; $n] {
            let mut v = std::array::from_fn(row);
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
    /// 16 rows of 16 bytes.
    transposed_bytes, uint8x16_t, 16, 4, vzip1q_u8, vzip2q_u8
}
transposed! {
    /// 8 rows of 8 words of 16 bits.
    transposed_words, int16x8_t, 8, 3, vzip1q_s16, vzip2q_s16
}
transposed! {
    /// 4 rows of 4 numbers of 32 bits.
    transposed_numbers, int32x4_t, 4, 2, vzip1q_s32, vzip2q_s32
}
