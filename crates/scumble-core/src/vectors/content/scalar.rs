//! The plain kernel.

use super::{LIMBS, Limbs, STEP};

pub(super) fn add_words(words: &[i16], limbs: &[Limbs], sums: &mut [i64; LIMBS]) {
    for (words, limbs) in words.chunks(STEP).zip(limbs) {
        for (sum, limbs) in sums.iter_mut().zip(limbs) {
            let products = words.iter().zip(limbs).map(|(&word, &limb)| i32::from(word) * i32::from(limb));
            *sum += i64::from(products.sum::<i32>()); // 16 products of at most 2^25
        }
    }
}
