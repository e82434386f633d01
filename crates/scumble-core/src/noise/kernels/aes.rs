//! AES-128 in counter mode with VAES, two or four blocks per register: the same bytes as `ctr::Ctr128LE<aes::Aes128>`.

use crate::simd::{Level, avx2, avx512};
use std::arch::x86_64::*;
use zeroize::{Zeroize, Zeroizing};

/// Blocks made at a time, two per register.
const BLOCKS: usize = 16;
/// Four per register.
const WIDE_BLOCKS: usize = 2 * BLOCKS;

/// An expanded key. Wiped when dropped.
pub(in crate::noise) struct Vaes {
    keys: [[u8; 16]; 11],
    wide: bool, // AVX-512: processors that do a whole register at once are twice as fast, and no other is slower
}

impl Drop for Vaes {
    fn drop(&mut self) {
        self.keys.zeroize();
    }
}

impl Vaes {
    /// `None` if this level, or the processor, lacks the instructions.
    pub(in crate::noise) fn new(level: Level, key: &[u8; 16]) -> Option<Self> {
        use std::arch::is_x86_feature_detected as has;
        if level == Level::Scalar || !(has!("avx2") && has!("aes") && has!("vaes")) {
            return None;
        }
        // SAFETY: AES was found.
        let keys = unsafe { expand(key) };
        Some(Self { keys, wide: matches!(level, Level::Avx512(_)) })
    }

    /// The blocks from this counter on, one after another; the last may be cut short.
    pub(in crate::noise) fn fill(&self, counter: u128, out: &mut [u8]) {
        let (whole, rest) = match self.wide {
            true => out.as_chunks_mut::<{ 16 * WIDE_BLOCKS }>(),
            false => (&mut [][..], out),
        };
        // SAFETY: VAES and AVX2 were found when the key was expanded; a level of AVX-512 is found before it is wide.
        unsafe {
            self.write_wide(counter, whole);
            self.write(counter.wrapping_add((WIDE_BLOCKS * whole.len()) as u128), rest);
        }
    }

    #[target_feature(enable = "avx512f,vaes")]
    fn write_wide(&self, mut counter: u128, out: &mut [[u8; 16 * WIDE_BLOCKS]]) {
        let keys = self.keys.map(|key| _mm512_broadcast_i32x4(load(&key)));
        for chunk in out {
            encrypt_wide(&keys, wide_counters(counter), chunk);
            counter = counter.wrapping_add(WIDE_BLOCKS as u128);
        }
    }

    #[target_feature(enable = "avx2,aes,vaes")]
    fn write(&self, mut counter: u128, out: &mut [u8]) {
        let keys = self.round_keys();
        let (whole, rest) = out.as_chunks_mut::<{ 16 * BLOCKS }>();
        for chunk in whole {
            encrypt(&keys, counters(counter), chunk);
            counter = counter.wrapping_add(BLOCKS as u128);
        }
        if !rest.is_empty() {
            let mut last = Zeroizing::new([0u128; BLOCKS]); // by blocks: bytes would be wiped one by one
            encrypt(&keys, counters(counter), &mut *last);
            rest.chunks_mut(16)
                .zip(&*last)
                .for_each(|(out, block)| out.copy_from_slice(&block.to_le_bytes()[..out.len()]));
        }
    }

    /// Encrypts every block by itself.
    pub(in crate::noise) fn encrypt(&self, blocks: &mut [u128]) {
        // SAFETY: VAES and AVX2 were found when the key was expanded.
        unsafe { self.encrypt_each(blocks) }
    }

    #[target_feature(enable = "avx2,aes,vaes")]
    fn encrypt_each(&self, blocks: &mut [u128]) {
        let keys = self.round_keys();
        let (whole, rest) = blocks.as_chunks_mut::<BLOCKS>();
        for chunk in whole {
            encrypt(&keys, registers(chunk), chunk);
        }
        if !rest.is_empty() {
            let mut last = Zeroizing::new([0; BLOCKS]);
            last[..rest.len()].copy_from_slice(rest);
            encrypt(&keys, registers(&last), &mut *last);
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn round_keys(&self) -> [__m256i; 11] {
        self.keys.map(|key| _mm256_broadcastsi128_si256(load(&key)))
    }
}

/// Two blocks in every register.
#[inline]
#[target_feature(enable = "avx2")]
fn registers(blocks: &[u128; BLOCKS]) -> [__m256i; BLOCKS / 2] {
    let mut v = [_mm256_setzero_si256(); BLOCKS / 2];
    v.iter_mut().zip(blocks.as_chunks::<2>().0).for_each(|(v, two)| *v = avx2::load(two));
    v
}

/// The blocks from this counter on.
#[inline]
#[target_feature(enable = "avx2")]
fn counters(counter: u128) -> [__m256i; BLOCKS / 2] {
    let (low, high) = (counter as u64 as i64, (counter >> 64) as i64);
    let mut v = [_mm256_setzero_si256(); BLOCKS / 2];
    if counter as u64 <= u64::MAX - BLOCKS as u64 {
        let first = _mm256_set_epi64x(high, low.wrapping_add(1), high, low);
        for (i, v) in v.iter_mut().enumerate() {
            let step = 2 * i as i64;
            *v = _mm256_add_epi64(first, _mm256_set_epi64x(0, step, 0, step));
        }
    } else {
        // Once in 2^64 blocks the low half carries into the high one.
        for (i, v) in v.iter_mut().enumerate() {
            let [a, b] = [0, 1].map(|j| counter.wrapping_add(2 * i as u128 + j));
            *v = _mm256_set_epi64x((b >> 64) as i64, b as i64, (a >> 64) as i64, a as i64);
        }
    }
    v
}

/// Writes the blocks in the registers, encrypted.
#[inline]
#[target_feature(enable = "avx2,aes,vaes")]
fn encrypt<T>(keys: &[__m256i; 11], mut v: [__m256i; BLOCKS / 2], out: &mut [T]) {
    assert_eq!(size_of_val(out), 16 * BLOCKS);
    v = v.map(|v| _mm256_xor_si256(v, keys[0]));
    for key in &keys[1..10] {
        v = v.map(|v| _mm256_aesenc_epi128(v, *key));
        in_this_order(&mut v);
    }
    let each = 2 * out.len() / BLOCKS;
    for (v, out) in v.into_iter().zip(out.chunks_exact_mut(each)) {
        avx2::store(out, _mm256_aesenclast_epi128(v, keys[10]));
    }
}

/// Keeps the compiler from finishing one register before it begins the next: each waits for its last round.
macro_rules! in_this_order {
    ($name:ident, $features:literal, $register:ident, $class:ident) => {
        #[inline]
        #[target_feature(enable = $features)]
        fn $name(v: &mut [$register; 8]) {
            let [a, b, c, d, e, f, g, h] = v;
            // SAFETY: no instruction at all.
            unsafe {
                std::arch::asm!(
                    "/* {} {} {} {} {} {} {} {} */",
                    inout($class) * a,
                    inout($class) * b,
                    inout($class) * c,
                    inout($class) * d,
                    inout($class) * e,
                    inout($class) * f,
                    inout($class) * g,
                    inout($class) * h,
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
        }
    };
}
in_this_order!(in_this_order, "avx2", __m256i, ymm_reg);
in_this_order!(in_this_order_wide, "avx512f", __m512i, zmm_reg);

/// The blocks from this counter on, four in every register.
#[inline]
#[target_feature(enable = "avx512f")]
fn wide_counters(counter: u128) -> [__m512i; WIDE_BLOCKS / 4] {
    let (low, high) = (counter as u64 as i64, (counter >> 64) as i64);
    let mut v = [_mm512_setzero_si512(); WIDE_BLOCKS / 4];
    if counter as u64 <= u64::MAX - WIDE_BLOCKS as u64 {
        let first = _mm512_set_epi64(
            high,
            low.wrapping_add(3),
            high,
            low.wrapping_add(2),
            high,
            low.wrapping_add(1),
            high,
            low,
        );
        for (i, v) in v.iter_mut().enumerate() {
            let step = 4 * i as i64;
            *v = _mm512_add_epi64(first, _mm512_set_epi64(0, step, 0, step, 0, step, 0, step));
        }
    } else {
        // Once in 2^64 blocks the low half carries into the high one.
        for (i, v) in v.iter_mut().enumerate() {
            let blocks: [u128; 4] = std::array::from_fn(|j| counter.wrapping_add((4 * i + j) as u128));
            *v = avx512::load(&blocks);
        }
    }
    v
}

/// Writes the blocks in the registers, encrypted.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn encrypt_wide(keys: &[__m512i; 11], mut v: [__m512i; WIDE_BLOCKS / 4], out: &mut [u8; 16 * WIDE_BLOCKS]) {
    v = v.map(|v| _mm512_xor_si512(v, keys[0]));
    macro_rules! rounds { // a loop is not unrolled, and takes the registers apart
        ($($at:literal)*) => {$(
            v = v.map(|v| _mm512_aesenc_epi128(v, keys[$at]));
            in_this_order_wide(&mut v);
        )*};
    }
    rounds!(1 2 3 4 5 6 7 8 9);
    for (v, out) in v.into_iter().zip(out.as_chunks_mut::<64>().0) {
        avx512::store(out, _mm512_aesenclast_epi128(v, keys[10]));
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are readable, at any alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// The eleven round keys.
#[target_feature(enable = "sse2,aes")]
fn expand(key: &[u8; 16]) -> [[u8; 16]; 11] {
    let mut key = load(key);
    let mut keys = [[0; 16]; 11];
    macro_rules! round {
        ($($at:literal: $constant:literal)*) => {$({
            let word = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<$constant>(key));
            key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
            key = _mm_xor_si128(key, _mm_slli_si128::<8>(key));
            key = _mm_xor_si128(key, word);
            // SAFETY: 16 bytes are writable, at any alignment.
            unsafe { _mm_storeu_si128(keys[$at].as_mut_ptr().cast(), key) };
        })*};
    }
    // SAFETY: 16 bytes are writable, at any alignment.
    unsafe { _mm_storeu_si128(keys[0].as_mut_ptr().cast(), key) };
    round!(1: 1 2: 2 3: 4 4: 8 5: 16 6: 32 7: 64 8: 128 9: 27 10: 54);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::cipher::{KeyIvInit, StreamCipher};

    /// Against the crates, for lengths around registers, blocks and chunks, and across both carries of the counter.
    #[test]
    fn bytes_are_those_of_the_crates() {
        let key: [u8; 16] = std::array::from_fn(|i| (37 * i + 5) as u8);
        for fast in Level::all().filter_map(|level| Vaes::new(level, &key)) {
            for counter in [0u128, 7, u64::MAX as u128 - 3, (9 << 64) - 20, u128::MAX - 5] {
                for length in [4096, 0, 5, 16, 256, 272, 32, 240, 4080, 512, 1029, 496, 528] {
                    let mut plain = ctr::Ctr128LE::<aes::Aes128>::new(&key.into(), &counter.to_le_bytes().into());
                    let (mut a, mut b) = (vec![1; length], vec![0; length]);
                    fast.fill(counter, &mut a);
                    plain.apply_keystream(&mut b);
                    assert_eq!(a, b, "{counter} {length} {}", fast.wide);
                }
            }
        }
    }
}
