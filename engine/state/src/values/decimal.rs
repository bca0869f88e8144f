//! Parses and formats exact decimals as integers in units of `10^-places`; nothing is rounded.

/// Returns `None` if the text is not a decimal, has more than `places` decimal places, or overflows.
pub(crate) fn parse(text: &str, places: u32) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let decimals = u32::try_from(part.len()).ok()?;
    if !all_digits(whole) || !all_digits(part) || (decimals > places && part != "0") {
        return None;
    }
    let mut value: i128 = whole.parse().ok()?;
    for place in 0..places {
        let digit = part.as_bytes().get(place as usize).map_or(0, |b| b - b'0');
        value = value.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    Some(if negative { -value } else { value })
}

/// Writes the decimal digits of an integer to `room`; faster than `format!`.
#[must_use]
pub fn digits(number: u64, room: &mut [u8; 20]) -> &str {
    let (mut start, mut left) = (room.len(), number);
    loop {
        start -= 1;
        room[start] = b'0' + u8::try_from(left % 10).unwrap_or_default();
        left /= 10;
        if left == 0 {
            break;
        }
    }
    std::str::from_utf8(&room[start..]).unwrap_or_default()
}

pub(crate) fn format(value: i128, places: u32, keep: usize) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let width = places as usize;
    let digits = format!("{:0>1$}", value.unsigned_abs(), width + 1);
    let (whole, part) = digits.split_at(digits.len() - width);
    let trimmed = part.trim_end_matches('0');
    let part = &part[..trimmed.len().max(keep.min(width))];
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

/// Returns `None` if the denominator is not positive, or on overflow.
pub(crate) fn divide_half_even(numerator: i128, denominator: i128) -> Option<i128> {
    if denominator <= 0 {
        return None;
    }
    let (quotient, remainder) = match (i64::try_from(numerator), i64::try_from(denominator)) {
        (Ok(numerator), Ok(by)) => (numerator.div_euclid(by).into(), numerator.rem_euclid(by).into()),
        _ => (numerator.div_euclid(denominator), numerator.rem_euclid(denominator)),
    };
    let up = match remainder.cmp(&(denominator - remainder)) {
        core::cmp::Ordering::Less => false,
        core::cmp::Ordering::Greater => true,
        core::cmp::Ordering::Equal => quotient % 2 != 0,
    };
    quotient.checked_add(i128::from(up))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_formatting() {
        let powers = (0..20).map(|power| 10_u64.pow(power)).flat_map(|power| [power - 1, power, power + 1]);
        for number in powers.chain([u64::MAX]) {
            assert_eq!(digits(number, &mut [7; 20]), number.to_string());
        }
    }

    #[test]
    fn a_division_is_the_same_in_64_bits_and_in_more() {
        for numerator in [0, 1, 4, 5, 6, 14, 15, 16, 25, 35, i128::from(i64::MAX)] {
            for signed in [numerator, -numerator] {
                let wide = divide_half_even(signed << 60, 10 << 60);
                assert_eq!(divide_half_even(signed, 10), wide, "{signed} / 10");
            }
        }
        assert_eq!([25, 35, -25, -35].map(|of| divide_half_even(of, 10)), [Some(2), Some(4), Some(-2), Some(-4)]);
    }
}
