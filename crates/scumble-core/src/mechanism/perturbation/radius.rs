//! Clipping a projected row into a ball, in integers: any two rows are then at most 2R apart.

use num_integer::Roots;

/// Scales the row toward zero so that `|x|_2 <= radius`; a row inside the ball stays as it is.
///
/// With `n > |x|_2` and every coordinate replaced by `sign(x_j) floor(|x_j| R / n)`, the squares add up to at most
/// `R^2 |x|^2 / n^2 < R^2`. Any function into the ball would do for privacy; this one keeps the direction.
pub(crate) fn clip_to_radius(x: &mut [i64], radius: u64) {
    let squared = |x: &[i64]| x.iter().try_fold(0u128, |sum, v| sum.checked_add(u128::from(v.unsigned_abs()).pow(2)));
    let norm = match squared(x) {
        Some(squares) if squares <= u128::from(radius).pow(2) => return,
        Some(squares) => squares.sqrt() + 1,
        None => {
            // The norm is above 2^64, outside any such ball. 39 bits of each coordinate keep the direction.
            x.iter_mut().for_each(|v| *v /= 1 << 24);
            squared(x).expect("fewer than 2^49 coordinates").sqrt() + 1
        }
    };
    // The quotient fits: |x_j| < n, so it is below the radius; a radius beyond 63 bits meets coordinates within them.
    x.iter_mut().for_each(|v| {
        let scaled = u128::from(v.unsigned_abs()) * u128::from(radius) / norm;
        *v = v.signum() * i64::try_from(scaled).unwrap_or(i64::MAX);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    fn squares(x: &[i64]) -> BigUint {
        x.iter().map(|v| BigUint::from(v.unsigned_abs()).pow(2)).sum()
    }

    fn check(row: &[i64], radius: u64) {
        let mut x = row.to_vec();
        clip_to_radius(&mut x, radius);
        let ball = BigUint::from(radius).pow(2);
        assert!(squares(&x) <= ball);
        assert!(x.iter().zip(row).all(|(a, b)| i128::from(*a) * i128::from(*b) >= 0), "a sign changed");
        if squares(row) <= ball {
            assert_eq!(x, row);
        }
    }

    #[test]
    fn ends_of_the_integers_are_clipped_too() {
        for radius in [0, 1, 5, 1 << 40, u64::MAX] {
            for row in [vec![], vec![0, 0], vec![3, 4], vec![i64::MIN; 20], vec![i64::MAX, 0, -1], vec![i64::MIN, 1]] {
                check(&row, radius);
            }
        }
    }

    #[test]
    fn a_clipped_row_is_close_to_the_sphere() {
        let mut x: Vec<i64> = (0..100).map(|i| (i - 50) * 1_000_000_007).collect();
        clip_to_radius(&mut x, 1_000_000);
        let norm = squares(&x).sqrt();
        assert!(norm > BigUint::from(999_980u32) && norm <= BigUint::from(1_000_000u32), "{norm}");
    }

    proptest! {
        #[test]
        fn every_row_lies_in_the_ball(row in prop::collection::vec(any::<i64>(), 0..40), shift in 0..63u32, radius: u64) {
            check(&row.iter().map(|v| v >> shift).collect::<Vec<_>>(), radius >> (shift / 2));
        }
    }
}
