//! The kernel for AVX2.

use super::{LIMBS, Limbs, STEP, STEPS, scalar};
use crate::simd::avx2::{load, store};
use std::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub(super) fn add_words(words: &[i16], limbs: &[Limbs], sums: &mut [i64; LIMBS]) {
    let (whole, rest) = words.as_chunks::<STEP>();
    assert!(whole.len() <= STEPS && limbs.len() >= words.len().div_ceil(STEP));
    let mut acc = [_mm256_setzero_si256(); LIMBS];
    for (words, limbs) in whole.iter().zip(limbs) {
        let words = load(words);
        for (acc, limb) in acc.iter_mut().zip(limbs) {
            *acc = _mm256_add_epi32(*acc, _mm256_madd_epi16(words, load(limb)));
        }
    }
    for (sum, acc) in sums.iter_mut().zip(acc) {
        let (low, high) = (_mm256_castsi256_si128(acc), _mm256_extracti128_si256::<1>(acc));
        let four = _mm256_add_epi64(_mm256_cvtepi32_epi64(low), _mm256_cvtepi32_epi64(high));
        let mut lanes = [0i64; 4];
        store(&mut lanes, four);
        *sum += lanes.iter().sum::<i64>();
    }
    scalar::add_words(rest, &limbs[whole.len()..], sums);
}
