//! The kernels for AVX-512: a register of words times a limb, added to a running sum, is one instruction.

use super::{Attribute, EVALUATIONS, LIMBS, LimbSums, Limbs, PAIRS, Packing, STEP, filled, words_of};
use crate::simd::avx2;
use crate::simd::avx512::load;
use std::arch::x86_64::*;

/// Steps between two widenings: the two halves of a register are added in 32 bits before.
const STEPS: usize = PAIRS / 2;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn add_u8(packing: Packing, base: i32, rows: &[&[u8]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn add_i16(packing: Packing, base: i32, rows: &[&[i16]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) fn add_i32(packing: Packing, base: i32, rows: &[&[i32]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn add<T: Attribute>(packing: Packing, base: i32, rows: &[&[T]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    match packing {
        Packing::Two => add_rows::<T, { 2 * STEP }>(base, rows, limbs, sums),
        Packing::One => add_rows::<T, STEP>(base, rows, limbs, sums),
        Packing::Half => add_rows::<T, { STEP / 2 }>(base, rows, limbs, sums),
    }
}

/// Two rows share the loads of limbs. N attributes are a step.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
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
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
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

/// At most [`STEPS`] steps, with the sums of all limbs of two rows in registers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn add_steps<T: Attribute, const N: usize, const R: usize>(
    base: i32,
    rows: [&[[T; N]]; R],
    limbs: &[Limbs],
    sums: &mut [LimbSums; R],
) {
    assert!(limbs.len() <= STEPS && rows.iter().all(|row| row.len() == limbs.len()), "sums of 32 bits hold no more");
    let mut acc = [[_mm512_setzero_si512(); LIMBS]; R];
    for (at, limbs) in limbs.iter().enumerate() {
        let mut words = [_mm512_setzero_si512(); R];
        for (words, row) in words.iter_mut().zip(rows) {
            *words = load(&words_of::<T, N, STEP>(base, &row[at]));
        }
        for (l, limb) in limbs.iter().enumerate() {
            let limb = load(limb.as_flattened());
            for (acc, words) in acc.iter_mut().zip(words) {
                acc[l] = _mm512_dpwssd_epi32(acc[l], words, limb);
            }
        }
    }
    for (sums, acc) in sums.iter_mut().zip(acc) {
        for (sums, acc) in sums.iter_mut().zip(acc.as_chunks::<EVALUATIONS>().0) {
            let all = _mm256_add_epi64(avx2::load(sums), totals(*acc));
            avx2::store(sums, all);
        }
    }
}

/// The sum of the sixteen numbers of each register.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn totals([a, b, c, d]: [__m512i; EVALUATIONS]) -> __m256i {
    let two = |a, b| _mm512_add_epi32(_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
    let wide = |v| {
        let even = _mm512_srai_epi64::<32>(_mm512_slli_epi64::<32>(v));
        _mm512_add_epi64(even, _mm512_srai_epi64::<32>(v))
    };
    let (ab, cd) = (wide(two(a, b)), wide(two(c, d)));
    let four = _mm512_add_epi64(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    // a c a c b d b d: the two pairs of each half are added.
    let four = _mm512_add_epi64(four, _mm512_shuffle_i64x2::<0b10_11_00_01>(four, four));
    let order = _mm512_setr_epi64(0, 4, 1, 5, 0, 0, 0, 0);
    _mm512_castsi512_si256(_mm512_permutexvar_epi64(order, four))
}
