//! The kernels for AVX2.

use super::{Attribute, EVALUATIONS, HALF, LimbSums, Limbs, PAIRS, PARTS, Packing, filled, words_of};
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
        Packing::Two => add_rows::<T, { 2 * HALF }>(base, rows, limbs, sums),
        Packing::One => add_rows::<T, HALF>(base, rows, limbs, sums),
        Packing::Half => add_rows::<T, { HALF / 2 }>(base, rows, limbs, sums),
    }
}

/// Two rows share the loads of limbs. N attributes are half a step.
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
    let steps = rows.iter().fold(2 * limbs.len(), |steps, row| steps.min(row.len() / N));
    let whole = rows.map(|row| &row.as_chunks::<N>().0[..steps]);
    for start in (0..steps).step_by(PAIRS) {
        let end = steps.min(start + PAIRS);
        add_halves(base, whole.map(|row| &row[start..end]), limbs, start, sums);
    }
    // What not all rows have, half a step at a time.
    for ((row, whole), sums) in rows.into_iter().zip(whole).zip(sums) {
        let rest = row[whole.as_flattened().len()..].chunks(N);
        for (values, start) in rest.zip(steps..2 * limbs.len()) {
            add_halves::<T, N, 1>(base, [&[filled(base, values)]], limbs, start, std::array::from_mut(sums));
        }
    }
}

/// At most [`PAIRS`] half steps, from half step `start` on. Limb by limb: that many sums fit the registers.
#[inline]
#[target_feature(enable = "avx2")]
fn add_halves<T: Attribute, const N: usize, const R: usize>(
    base: i32,
    rows: [&[[T; N]]; R],
    limbs: &[Limbs],
    start: usize,
    sums: &mut [LimbSums; R],
) {
    let steps = rows[0].len();
    assert!(steps <= PAIRS && rows.iter().all(|row| row.len() == steps), "sums of 32 bits hold no more");
    for part in 0..PARTS {
        let mut acc = [[_mm256_setzero_si256(); EVALUATIONS]; R];
        for at in 0..steps {
            let limbs = &limbs[(start + at) / 2].as_chunks::<EVALUATIONS>().0[part];
            let mut words = [_mm256_setzero_si256(); R];
            for (words, row) in words.iter_mut().zip(rows) {
                *words = load(&words_of::<T, N, HALF>(base, &row[at]));
            }
            for (t, limb) in limbs.iter().enumerate() {
                let limb = load(&limb[(start + at) % 2]);
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
