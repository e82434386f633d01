//! The kernels for AVX2.

use super::{Attribute, EVALUATIONS, LimbSums, Limbs, PARTS, Packing, STEP, STEPS, filled, words_of};
use crate::simd::avx2::{load, store};
use std::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub(super) fn add_u8(packing: Packing, base: i32, rows: &[&[u8]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

#[target_feature(enable = "avx2")]
pub(super) fn add_i16(packing: Packing, base: i32, rows: &[&[i16]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

#[target_feature(enable = "avx2")]
pub(super) fn add_i32(packing: Packing, base: i32, rows: &[&[i32]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

#[inline]
#[target_feature(enable = "avx2")]
fn add<T: Attribute>(packing: Packing, base: i32, rows: &[&[T]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    match packing {
        Packing::Two => add_rows::<T, { 2 * STEP }>(base, rows, limbs, sums),
        Packing::One => add_rows::<T, STEP>(base, rows, limbs, sums),
        Packing::Half => add_rows::<T, { STEP / 2 }>(base, rows, limbs, sums),
    }
}

/// Two rows share the loads of limbs. N attributes are a step.
#[inline]
#[target_feature(enable = "avx2")]
fn add_rows<T: Attribute, const N: usize>(base: i32, rows: &[&[T]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    let ((pairs, row), (sums, sum)) = (rows.as_chunks::<2>(), sums[..rows.len()].as_chunks_mut::<2>());
    for (rows, sums) in pairs.iter().zip(sums) {
        add_chunks::<T, N, 2>(base, *rows, limbs, sums);
    }
    if let ([row], [sum]) = (row, sum) {
        add_chunks::<T, N, 1>(base, [row], limbs, std::array::from_mut(sum));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn add_chunks<T: Attribute, const N: usize, const R: usize>(
    base: i32,
    rows: [&[T]; R],
    limbs: &[Limbs],
    sums: &mut [LimbSums; R],
) {
    let steps = rows.iter().fold(limbs.len(), |steps, row| steps.min(row.len() / N));
    let whole = rows.map(|row| &row.as_chunks::<N>().0[..steps]);
    for start in (0..steps).step_by(STEPS) {
        let end = steps.min(start + STEPS);
        add_steps(base, whole.map(|row| &row[start..end]), &limbs[start..end], sums);
    }
    // What not all rows have, step by step.
    for ((row, whole), sums) in rows.into_iter().zip(whole).zip(sums) {
        let rest = row[whole.as_flattened().len()..].chunks(N);
        for (values, limbs) in rest.zip(limbs[steps..].chunks(1)) {
            add_steps::<T, N, 1>(base, [&[filled(base, values)]], limbs, std::array::from_mut(sums));
        }
    }
}

/// At most [`STEPS`] steps. Limb by limb: so many sums fit the registers.
#[inline]
#[target_feature(enable = "avx2")]
fn add_steps<T: Attribute, const N: usize, const R: usize>(
    base: i32,
    rows: [&[[T; N]]; R],
    limbs: &[Limbs],
    sums: &mut [LimbSums; R],
) {
    assert!(limbs.len() <= STEPS && rows.iter().all(|row| row.len() == limbs.len()), "sums of 32 bits hold no more");
    for part in 0..PARTS {
        let mut acc = [[_mm256_setzero_si256(); EVALUATIONS]; R];
        for (at, limbs) in limbs.iter().enumerate() {
            let limbs = &limbs.as_chunks::<EVALUATIONS>().0[part];
            let mut words = [_mm256_setzero_si256(); R];
            for (words, row) in words.iter_mut().zip(rows) {
                *words = load(&words_of(base, &row[at]));
            }
            for (t, limb) in limbs.iter().enumerate() {
                let limb = load(limb);
                for (acc, words) in acc.iter_mut().zip(words) {
                    acc[t] = _mm256_add_epi32(acc[t], _mm256_madd_epi16(words, limb));
                }
            }
        }
        for (sums, acc) in sums.iter_mut().zip(acc) {
            let all = _mm256_add_epi64(load(&sums[part]), totals(acc));
            store(&mut sums[part], all);
        }
    }
}

/// The sum of the eight numbers of each register.
#[inline]
#[target_feature(enable = "avx2")]
fn totals(mut v: [__m256i; EVALUATIONS]) -> __m256i {
    for v in &mut v {
        let (low, high) = (_mm256_castsi256_si128(*v), _mm256_extracti128_si256::<1>(*v));
        *v = _mm256_add_epi64(_mm256_cvtepi32_epi64(low), _mm256_cvtepi32_epi64(high));
    }
    let two = |a, b| _mm256_add_epi64(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let [a, b, c, d] = v;
    let (ab, cd) = (two(a, b), two(c, d));
    _mm256_add_epi64(_mm256_permute2x128_si256::<0x20>(ab, cd), _mm256_permute2x128_si256::<0x31>(ab, cd))
}
