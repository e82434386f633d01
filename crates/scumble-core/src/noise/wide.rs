//! Uniform integers beside [`SecretRng::below`]: up to 128 bits with a private bound, and 32 bits where many are needed.

use super::SecretRng;
use num_bigint::BigUint;

impl SecretRng {
    /// A uniform integer in `0..=most`, exactly.
    ///
    /// `most` may depend on private data: 192 random bits make a second draw as rare as 2^-64, so the time of a draw
    /// reveals nothing about it.
    pub fn up_to(&mut self, most: u128) -> u128 {
        loop {
            let bits = [self.next_u64(), self.next_u64(), self.next_u64()];
            let product = times_bound(bits, most);
            // As in `below`: the low 192 bits say whether the draw falls into the uneven part.
            if product[2] != 0 || !in_uneven_part(&product[..3], most) {
                return u128::from(product[4]) << 64 | u128::from(product[3]);
            }
        }
    }

    /// A uniform integer below a public `bound`, exactly, from 32 random bits.
    #[inline]
    pub(crate) fn below_u32(&mut self, bound: u32) -> u32 {
        loop {
            let product = u64::from(self.next_u32()) * u64::from(bound);
            // The uneven part is shorter than `bound`: the division is hardly ever needed.
            if product as u32 >= bound || product as u32 >= bound.wrapping_neg() % bound {
                return (product >> 32) as u32;
            }
        }
    }
}

/// `bits (most + 1)`, without ever writing down `most + 1`, which may be 2^128. Least limb first.
fn times_bound(bits: [u64; 3], most: u128) -> [u64; 5] {
    let mut product = [bits[0], bits[1], bits[2], 0, 0];
    for (shift, factor) in [most as u64, (most >> 64) as u64].into_iter().enumerate() {
        let mut carry = 0;
        for (i, &limb) in bits.iter().enumerate() {
            let sum = u128::from(limb) * u128::from(factor) + u128::from(product[shift + i]) + carry;
            product[shift + i] = sum as u64;
            carry = sum >> 64;
        }
        for limb in &mut product[shift + 3..] {
            let sum = u128::from(*limb) + carry;
            *limb = sum as u64;
            carry = sum >> 64;
        }
    }
    product
}

#[cold]
fn in_uneven_part(low: &[u64], most: u128) -> bool {
    let low = low.iter().rev().fold(BigUint::ZERO, |sum, &limb| (sum << 64) + limb);
    low < (BigUint::from(1u32) << 192) % (BigUint::from(most) + 1u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_are_exact() {
        let mut rng = SecretRng::for_tests(1);
        assert!((0..100).all(|_| rng.up_to(0) == 0));
        // A bound of 2^128 returns fresh bits: no two draws agree.
        assert_ne!(rng.up_to(u128::MAX), rng.up_to(u128::MAX));
        assert!((0..1000).all(|_| rng.up_to(1 << 127) <= 1 << 127));
    }

    #[test]
    fn law_by_chi_square() {
        // Values below 3 * 2^100, distinguished by their upper third and by their lowest two bits.
        let mut rng = SecretRng::for_tests(2);
        let mut counts = [0i64; 12];
        for _ in 0..120_000 {
            let value = rng.up_to(3 * (1 << 100) - 1);
            counts[(value >> 100) as usize * 4 + (value & 3) as usize] += 1;
        }
        let chi: i64 = counts.iter().map(|c| (c - 10_000).pow(2)).sum::<i64>() / 10_000;
        assert!(chi < 49, "{counts:?}"); // 11 degrees of freedom, alpha = 1e-6
    }

    #[test]
    fn small_bounds_by_chi_square() {
        let mut rng = SecretRng::for_tests(3);
        let mut counts = [0i64; 7];
        (0..70_000).for_each(|_| counts[rng.below_u32(7) as usize] += 1);
        let chi: i64 = counts.iter().map(|c| (c - 10_000).pow(2)).sum::<i64>() / 10_000;
        assert!(chi < 38, "{counts:?}"); // 6 degrees of freedom, alpha = 1e-6
        // A bound just above 2^31 rejects nearly every second draw; without that, small values were twice as likely.
        let low = (0..40_000).filter(|_| rng.below_u32((1 << 31) + 1) < 1 << 30).count() as i64;
        assert!((low - 20_000).abs() < 550, "{low}"); // 5.5 standard deviations
    }

    #[test]
    fn uneven_part_is_what_does_not_divide() {
        // 2^192 mod 3 = 1: exactly one of the 2^192 draws is rejected for three outcomes.
        assert!(in_uneven_part(&[0, 0, 0], 2));
        assert!(!in_uneven_part(&[1, 0, 0], 2));
        assert!(!in_uneven_part(&[0, 0, 0], u128::MAX)); // 2^128 divides 2^192
    }

    proptest! {
        #[test]
        fn product_is_exact(bits: [u64; 3], most: u128) {
            let wide = |limbs: &[u64]| limbs.iter().rev().fold(BigUint::ZERO, |sum, &limb| (sum << 64) + limb);
            prop_assert_eq!(wide(&times_bound(bits, most)), wide(&bits) * (BigUint::from(most) + 1u32));
        }
    }
}
