//! The plain kernels.

use super::{Attribute, LimbSums, Limbs, Packing, STEP, filled, words_of};

pub(super) fn add_u8(packing: Packing, base: i32, rows: &[&[u8]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

pub(super) fn add_i16(packing: Packing, base: i32, rows: &[&[i16]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

pub(super) fn add_i32(packing: Packing, base: i32, rows: &[&[i32]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    add(packing, base, rows, limbs, sums);
}

fn add<T: Attribute>(packing: Packing, base: i32, rows: &[&[T]], limbs: &[Limbs], sums: &mut [LimbSums]) {
    for (row, sums) in rows.iter().zip(sums) {
        for (values, limbs) in row.chunks(packing.attributes()).zip(limbs) {
            let words: [i16; STEP] = match packing {
                Packing::Two => words_of::<T, { 2 * STEP }, STEP>(base, &filled(base, values)),
                Packing::One => words_of::<T, STEP, STEP>(base, &filled(base, values)),
                Packing::Half => words_of::<T, { STEP / 2 }, STEP>(base, &filled(base, values)),
            };
            for (sum, limbs) in sums.as_flattened_mut().iter_mut().zip(limbs) {
                let products =
                    words.iter().zip(limbs.as_flattened()).map(|(&word, &limb)| i32::from(word) * i32::from(limb));
                *sum += i64::from(products.sum::<i32>()); // 32 products of at most 2^25
            }
        }
    }
}
