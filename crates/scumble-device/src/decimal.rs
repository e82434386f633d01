//! Decimal digits to the nearest double, by big integers that the module has anyway.
//!
//! The standard library's reader needs tables of ten kilobytes. Campaigns have few numbers, and time enough.

use num_bigint::BigUint;

/// Digits and exponents beyond these are none of a campaign.
const MOST_DIGITS: usize = 400;
const MOST_EXPONENT: i32 = 400;

/// The double nearest to a JSON number, ties to even; `None` for what is no number, and for what is too large or too
/// small for a normal double.
pub fn double(text: &str) -> Option<f64> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (digits, exponent) = text.split_once(['e', 'E']).map_or(Some((text, 0)), |(digits, exponent)| {
        Some((digits, exponent.strip_prefix('+').unwrap_or(exponent).parse::<i32>().ok()?))
    })?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let ends_in_dot = digits.ends_with('.');
    if whole.is_empty() || ends_in_dot || !plain(whole) || !plain(fraction) || digits.len() > MOST_DIGITS {
        return None;
    }
    let mantissa = BigUint::parse_bytes([whole, fraction].concat().as_bytes(), 10)?;
    let exponent =
        exponent.checked_sub(fraction.len() as i32).filter(|e| e.abs() <= MOST_EXPONENT + MOST_DIGITS as i32)?;
    let magnitude = nearest(&mantissa, exponent)?;
    Some(if negative { -magnitude } else { magnitude })
}

/// `mantissa * 10^exponent`, rounded.
fn nearest(mantissa: &BigUint, exponent: i32) -> Option<f64> {
    if mantissa.bits() == 0 {
        return Some(0.0);
    }
    let power = BigUint::from(10u32).pow(exponent.unsigned_abs());
    let (mut top, mut bottom) = if exponent >= 0 { (mantissa * power, 1u32.into()) } else { (mantissa.clone(), power) };
    // A quotient of 55 or 56 bits: 53 that stay, and at least two that round.
    let shift = 55 - (top.bits() as i64 - bottom.bits() as i64);
    if shift >= 0 {
        top <<= shift as u64;
    } else {
        bottom <<= shift.unsigned_abs();
    }
    let quotient = &top / &bottom;
    let exact = &quotient * &bottom == top;
    let bits = quotient.bits() as i64;
    let all = quotient.iter_u64_digits().next()?;
    let dropped = bits - 53;
    let (kept, rest, half) = (all >> dropped, all & ((1 << dropped) - 1), 1 << (dropped - 1));
    let up = rest > half || (rest == half && (!exact || kept & 1 == 1));
    let kept = kept + u64::from(up); // 2^53 at the most, which is a double too
    let scale = dropped - shift; // value = kept * 2^scale
    let (kept, scale) = if kept == 1 << 53 { (1 << 52, scale + 1) } else { (kept, scale) };
    let biased = scale + 1075;
    (1..2047).contains(&biased).then(|| f64::from_bits((biased as u64) << 52 | (kept & ((1 << 52) - 1))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_numbers() {
        for text in [
            "0",
            "-0",
            "1",
            "0.1",
            "-2.5",
            "1e-6",
            "1E+3",
            "9007199254740993",
            "9007199254740992.5",
            "5e-300",
            "1.7976931348623157e308",
            "2.2250738585072014e-308",
            "123456789012345678901234567890",
            "0.30000000000000004",
            "4503599627370496.5",
            "4503599627370497.5",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(double(text).map(f64::to_bits), Some(expected.to_bits()), "{text}");
        }
        for text in [
            "",
            "-",
            "1.",
            ".5",
            "1e",
            "e5",
            "1e400",
            "1e-400",
            "0x1",
            "NaN",
            "inf",
            "+1",
            "1e99999999999",
            "--1",
            "1.2.3",
        ] {
            assert_eq!(double(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_normal_double_reads_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_normal());
            for text in [format!("{value:?}"), format!("{value:e}"), format!("{value:.20e}")] {
                prop_assert_eq!(double(&text), Some(text.parse::<f64>().unwrap()), "{}", text);
            }
        }
    }
}
