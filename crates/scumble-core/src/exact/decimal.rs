//! Doubles from and to decimal digits, and the double nearest to a ratio, with the big integers that are needed anyway.
//!
//! The standard library's reader and printer need twelve kilobytes of tables, for which a device has no room. The tests
//! compare with them: the same bits, the same digits.

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{One, Zero};

/// No number that is written here has more digits, or an exponent beyond this.
const MOST_DIGITS: usize = 400;
const MOST_EXPONENT: u32 = 400;

/// Bits of a double after the leading one.
const FRACTION: u32 = 52;
/// Exponent of the smallest double.
const LEAST: i64 = -1074;

/// The double nearest to a JSON number, ties to even; `None` if it is not a number, too large or too small.
pub fn read(text: &str) -> Option<f64> {
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
    let ten = |sum: BigUint, digit: u8| sum * 10u32 + u32::from(digit - b'0');
    let mantissa = whole.bytes().chain(fraction.bytes()).fold(BigUint::ZERO, ten);
    let exponent = exponent.checked_sub(fraction.len() as i32)?;
    if exponent.unsigned_abs() > MOST_EXPONENT + MOST_DIGITS as u32 {
        return None;
    }
    let power = BigUint::from(10u32).pow(exponent.unsigned_abs());
    let magnitude = match exponent {
        _ if mantissa.is_zero() => 0.0,
        0.. => nearest(mantissa * power, BigUint::one())?,
        _ => nearest(mantissa, power)?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// The double nearest to `top / bottom`, both positive, ties to even; `None` when it is 0 or infinite.
pub fn nearest(mut top: BigUint, mut bottom: BigUint) -> Option<f64> {
    // A quotient of 55 or 56 bits: 53 that stay, and at least two that round.
    let shift = 55 - (top.bits() as i64 - bottom.bits() as i64);
    if shift >= 0 {
        top <<= shift as u64;
    } else {
        bottom <<= shift.unsigned_abs();
    }
    let (quotient, rest) = top.div_rem(&bottom);
    let all = quotient.iter_u64_digits().next()?;
    let dropped = (quotient.bits() as i64 - i64::from(FRACTION) - 1).max(LEAST + shift);
    if dropped > 60 {
        return None;
    }
    let (kept, beyond, half) = (all >> dropped, all & ((1 << dropped) - 1), 1 << (dropped - 1));
    let up = beyond > half || (beyond == half && (!rest.is_zero() || kept & 1 == 1));
    let kept = kept + u64::from(up); // at most 2^53: then the sum below carries into the exponent, as it should
    let scale = dropped - shift; // value = kept * 2^scale
    // The leading one of a normal double adds itself to the exponent.
    let bits = kept + (((scale - LEAST) as u64) << FRACTION);
    (bits > 0 && bits < f64::INFINITY.to_bits()).then(|| f64::from_bits(bits))
}

/// The shortest digits that read back as this double, nearest to it among those, as `Display` of the standard library
/// writes them: no exponent.
pub(crate) fn shortest(value: f64) -> String {
    let mut text = String::from(if value.is_sign_negative() && !value.is_nan() { "-" } else { "" });
    match value.abs() {
        value if value.is_nan() => text.push_str("NaN"),
        f64::INFINITY => text.push_str("inf"),
        0.0 => text.push('0'),
        value => {
            let (digits, point) = shortest_digits(value);
            let zeros = |text: &mut String, count: i32| (0..count).for_each(|_| text.push('0'));
            if point <= 0 {
                text.push_str("0.");
                zeros(&mut text, -point);
            }
            for (at, digit) in (0..).zip(&digits) {
                if at > 0 && at == point {
                    text.push('.');
                }
                text.push(char::from(b'0' + digit));
            }
            zeros(&mut text, point - digits.len() as i32);
        }
    }
    text
}

/// The decimal digits of a whole number.
pub fn digits(number: &BigUint) -> String {
    let (ten, mut rest, mut digits) = (BigUint::from(10u32), number.clone(), Vec::new());
    loop {
        let (more, digit) = rest.div_rem(&ten);
        digits.push(b'0' + digit.iter_u64_digits().next().unwrap_or(0) as u8);
        rest = more;
        if rest.is_zero() {
            return digits.into_iter().rev().map(char::from).collect();
        }
    }
}

/// Digits d and a place p with value = 0.d1 d2 .. 10^p, by Steele and White's and Dragon4's rule: stop as soon as the
/// rest is within half a unit of the double's last place, ends included where the mantissa is even.
fn shortest_digits(value: f64) -> (Vec<u8>, i32) {
    let (fraction, biased) = (value.to_bits() & ((1 << FRACTION) - 1), value.to_bits() >> FRACTION);
    let (mantissa, exponent) = match biased {
        0 => (fraction, LEAST),
        _ => (fraction | 1 << FRACTION, biased as i64 - 1 + LEAST),
    };
    // Below a power of two, doubles are twice as close. All in quarters of the last place, so that halves are whole.
    let narrow = fraction == 0 && biased > 1;
    let [mut rest, mut up, mut down] = [4 * mantissa, 2, if narrow { 1 } else { 2 }].map(BigUint::from);
    let mut scale = BigUint::from(4u32);
    match exponent {
        0.. => [&mut rest, &mut up, &mut down].into_iter().for_each(|number| *number <<= exponent as u64),
        _ => scale <<= exponent.unsigned_abs(),
    }
    let even = mantissa % 2 == 0;
    let reaches = |sum: &BigUint, scale: &BigUint| if even { sum >= scale } else { sum > scale };
    let mut point = 0;
    while reaches(&(&rest + &up), &scale) {
        scale *= 10u32;
        point += 1;
    }
    while !reaches(&((&rest + &up) * 10u32), &scale) {
        [&mut rest, &mut up, &mut down].into_iter().for_each(|number| *number *= 10u32);
        point -= 1;
    }
    let mut digits = Vec::new();
    loop {
        [&mut rest, &mut up, &mut down].into_iter().for_each(|number| *number *= 10u32);
        let (digit, left) = rest.div_rem(&scale);
        digits.push(digit.iter_u64_digits().next().unwrap_or(0) as u8);
        let low = if even { left <= down } else { left < down };
        let high = reaches(&(&left + &up), &scale);
        rest = left;
        if low || high {
            if high && (!low || &rest + &rest >= scale) {
                point += carried(&mut digits);
            }
            return (digits, point);
        }
    }
}

/// Adds one to the last digit; 1 when all of them were nines.
fn carried(digits: &mut Vec<u8>) -> i32 {
    while digits.last() == Some(&9) {
        digits.pop();
    }
    match digits.last_mut() {
        Some(last) => {
            *last += 1;
            0
        }
        None => {
            digits.push(1);
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::ToPrimitive;
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
            "5e-324",
            "3e-324",
            "2.2250738585072011e-308",
            "1.7976931348623157e308",
            "2.2250738585072014e-308",
            "123456789012345678901234567890",
            "0.30000000000000004",
            "4503599627370496.5",
            "4503599627370497.5",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(read(text).map(f64::to_bits), Some(expected.to_bits()), "{text}");
        }
        for text in [
            "",
            "-",
            "1.",
            ".5",
            "1e",
            "e5",
            "1e400",
            "1.7976931348623159e308",
            "1e-400",
            "2e-324",
            "0x1",
            "NaN",
            "inf",
            "+1",
            "1e99999999999",
            "1e2147483647",
            "1e-2147483648",
            "0.1e-2147483647",
            "0.1e-2147483648",
            "--1",
            "1.2.3",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    fn agrees(value: f64) {
        assert_eq!(shortest(value), format!("{value}"), "{:#x}", value.to_bits());
        for text in [format!("{value:?}"), format!("{value:e}"), format!("{value:.20e}")] {
            let expected = text.parse::<f64>().ok().filter(|value| value.is_finite());
            assert_eq!(read(&text), expected, "{text}");
        }
    }

    /// Powers of two are where doubles change their distance; a few of each are near a tie.
    #[test]
    fn powers_of_two_and_of_ten_and_their_neighbours() {
        for exponent in -1074..1024 {
            let power = libm::ldexp(1.0, exponent);
            [power, power.next_down(), power.next_up()].into_iter().filter(|value| *value != 0.0).for_each(agrees);
        }
        for exponent in -323..309 {
            let power: f64 = format!("1e{exponent}").parse().unwrap();
            [power, power.next_down(), power.next_up(), -power].into_iter().for_each(agrees);
        }
        for value in [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            assert_eq!(shortest(value), format!("{value}"));
        }
    }

    proptest! {
        #[test]
        fn every_double_is_written_and_read_as_the_standard_library_does(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite() && value != 0.0);
            agrees(value);
        }

        #[test]
        fn whole_numbers_have_their_digits(number: u128, by in 0u32..100) {
            let number = BigUint::from(number) << by;
            prop_assert_eq!(digits(&number), number.to_string());
        }

        #[test]
        fn short_numbers_stay_short(whole in 0u32..1_000_000, places in 0i32..12) {
            agrees(f64::from(whole.max(1)) / 10f64.powi(places));
        }

        #[test]
        fn ratios_round_as_those_of_num_rational(top in 1u128.., bottom in 1u128.., by in 0u32..200) {
            let ratio = num_rational::BigRational::new((num_bigint::BigInt::from(top)) << by, bottom.into());
            prop_assert_eq!(nearest(BigUint::from(top) << by, bottom.into()), ratio.to_f64());
            prop_assert_eq!(nearest(bottom.into(), BigUint::from(top) << by), ratio.recip().to_f64());
        }
    }
}
