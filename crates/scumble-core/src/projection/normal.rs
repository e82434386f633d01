//! The normal quantile in integers: 64 random bits to `w = 2^16 z`, off the true quantile by at most 1.
//!
//! The tail probability `t/2^64`, t odd, is cut by its leading zeros and the next 3 bits; on each piece z is a cubic of
//! the following 32 bits. Its error is below 0.01 of a unit, the rest is the rounding to an integer.

use super::normal_table::CUBICS;

/// The largest weight: that of the uniform 0, a tail of 2^-64 or 9.16 standard deviations.
pub(super) const LARGEST: i32 = 600_001;

/// The weight of 64 random bits: bit 63 is the sign (1 means plus), the rest the uniform.
#[inline]
pub(super) fn weight(bits: u64) -> i32 {
    let t = bits << 1 | 1;
    let octave = t.leading_zeros();
    let t = t << octave;
    let [c0, c1, c2, c3] = CUBICS[(octave << 3) as usize | (t >> 60 & 7) as usize].map(i64::from);
    let y = (t >> 28 & 0xffff_ffff) as i64;
    // |c| < 2^31 and y < 2^32: no product leaves 63 bits.
    let z = [c2, c1, c0].into_iter().fold(c3, |z, c| c + ((z * y) >> 32));
    let w = ((z + 1024) >> 11) as i32;
    if bits >> 63 == 1 { w } else { -w }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_weight_is_that_of_the_deepest_tail() {
        assert_eq!(weight(1 << 63), LARGEST);
        assert_eq!(weight(0), -LARGEST);
        assert_eq!(weight(u64::MAX), 0);
        // Rising uniform, falling weight: across every border of two pieces it moves by a rounding at most.
        for octave in 0..64 {
            for part in 0..8u64 {
                let border = ((8 + part) << 60) >> octave;
                let (below, above) = (border.saturating_sub(2) / 2, border / 2 + 1);
                let [below, above] = [below, above].map(|u| weight(1 << 63 | u));
                assert!(below >= above && (octave > 40 || below - above <= 1), "{octave} {part}");
            }
        }
    }

    #[test]
    fn weights_are_the_references_and_within_one_of_the_true_quantile() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/vectors/v1/projection.json")).unwrap();
        assert_eq!(vectors["quantile_table"], serde_json::json!(CUBICS.as_slice()));
        let points = vectors["quantile"].as_array().unwrap();
        for point in points {
            let bits = u64::from_str_radix(point["word"].as_str().unwrap(), 16).unwrap();
            let exact: f64 = point["exact"].as_str().unwrap().parse().unwrap();
            assert_eq!(i64::from(weight(bits)), point["weight"].as_i64().unwrap(), "{bits:016x}");
            // 1/2 from the rounding to an integer; the cubic itself is within 2^-17 z-units by far.
            assert!((f64::from(weight(bits)) - exact).abs() < 0.51, "{bits:016x}: {exact}");
        }
        assert!(points.len() > 1000);
    }
}
