use motherlode_proto::round::v1::Money;
use motherlode_slots::par::{Exact, decimal};
use motherlode_state::{CoinValue, Currency, Minor};

#[must_use]
pub fn iso(unix_ms: i64) -> String {
    let (seconds, ms) = (unix_ms.div_euclid(1_000), unix_ms.rem_euclid(1_000));
    let time = prost_types::Timestamp { seconds, nanos: 0 }.to_string();
    format!("{}.{ms:03}Z", time.trim_end_matches('Z'))
}

#[must_use]
pub fn time(time: &prost_types::Timestamp) -> String {
    iso(time.seconds.saturating_mul(1_000).saturating_add(i64::from(time.nanos) / 1_000_000))
}

#[must_use]
pub fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) = digits.split_at(digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len()));
    let mut text = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

#[must_use]
pub fn cash(money: &Money) -> String {
    match money.currency_code.parse::<Currency>() {
        Ok(currency) => minor(Minor(money.amount_minor), currency),
        Err(_) => format!("{} minor units of {}", grouped(&money.amount_minor.to_string()), money.currency_code),
    }
}

#[must_use]
pub fn minor(amount: Minor, currency: Currency) -> String {
    format!("{} {currency}", grouped(&amount.to_decimal(currency)))
}

#[must_use]
pub fn coin_view(amount: Minor, currency: Currency, coin: CoinValue) -> i64 {
    let minor_micros = 1_000_000 / 10_i128.pow(currency.digits());
    let coins = (i128::from(amount.0) * minor_micros).checked_div_euclid(i128::from(coin.0)).unwrap_or_default();
    i64::try_from(coins).unwrap_or(i64::MAX)
}

#[must_use]
pub fn percent(share: &Exact, places: usize) -> String {
    format!("{} %", decimal(&(share * Exact::from_integer(100.into())), places))
}

#[must_use]
pub fn chance(chance: &Exact) -> String {
    const PLACES: usize = 18;
    const PLACES_MAX: usize = 60;
    let ten = Exact::from_integer(10.into());
    let mut least = (0..PLACES).fold(Exact::from_integer(100_000_000.into()), |least, _| least / &ten);
    let mut places = PLACES;
    while places < PLACES_MAX && *chance > Exact::from_integer(0.into()) && *chance < least {
        least /= &ten;
        places += 1;
    }
    decimal(chance, places)
}

#[must_use]
pub fn number(exact: &Exact) -> f64 {
    decimal(exact, 17).parse().unwrap_or(f64::NAN)
}

#[must_use]
pub fn once_in(chance: &Exact, places: usize) -> String {
    if *chance == Exact::from_integer(0.into()) {
        return "never".to_owned();
    }
    format!("once in {}", grouped(&decimal(&chance.recip(), places)))
}

/// Formats `parts` so that the printed figures add up to `whole` as printed by [`decimal`]. The parts with the largest
/// remainders are rounded up, so the error of each part is less than one unit of the last place.
#[must_use]
pub fn parts(whole: &Exact, parts: &[&Exact], places: usize) -> Vec<String> {
    let unit = (0..places).fold(Exact::from_integer(1.into()), |unit, _| unit / Exact::from_integer(10.into()));
    let one = Exact::from_integer(1.into());
    let mut floors: Vec<_> = parts.iter().map(|part| (*part / &unit).floor()).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let lost = |place: &usize| parts[*place] / &unit - (parts[*place] / &unit).floor();
    order.sort_by_key(|place| std::cmp::Reverse(lost(place)));
    let printed = rounded(&(whole / &unit));
    let mut lacking = floors.iter().fold(printed, |rest, floor| rest - floor);
    for place in order {
        if lacking >= one {
            floors[place] += &one;
            lacking -= &one;
        }
    }
    floors.iter().map(|units| decimal(&(units * &unit), places)).collect()
}

fn rounded(units: &Exact) -> Exact {
    let half = Exact::new(1.into(), 2.into());
    let floor = units.floor();
    let two = Exact::from_integer(2.into());
    let odd = (&floor / &two).floor() * &two != floor;
    let rest = units - &floor;
    if rest > half || (rest == half && odd) { floor + Exact::from_integer(1.into()) } else { floor }
}

pub fn count(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|char| !matches!(char, '_' | ',')).collect();
    match digits.parse::<u64>() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(_) => Err("must be a whole number, such as 1_000_000".to_owned()),
    }
}

pub(crate) fn coins(coins: u64) -> String {
    format!("{} {}", grouped(&coins.to_string()), if coins == 1 { "coin" } else { "coins" })
}

pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(&count.to_string()), if count == 1 { "" } else { "s" })
}

pub(crate) fn minor_units(minor: u64, currency: Currency) -> String {
    self::minor(Minor(i64::try_from(minor).unwrap_or(i64::MAX)), currency)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: i64, denominator: i64) -> Exact {
        Exact::new(numerator.into(), denominator.into())
    }

    #[test]
    fn pl_19_times_are_written_as_iso_8601_to_the_millisecond() {
        assert_eq!(iso(1_795_341_600_123), "2026-11-22T10:00:00.123Z");
        assert_eq!((iso(0), iso(-1)), ("1970-01-01T00:00:00.000Z".to_owned(), "1969-12-31T23:59:59.999Z".to_owned()));
        let of = prost_types::Timestamp { seconds: 1_795_341_600, nanos: 7_999_999 };
        assert_eq!(time(&of), "2026-11-22T10:00:00.007Z");
    }

    #[test]
    fn pl_19_a_currency_behind_a_number_is_not_grouped() {
        assert_eq!(grouped("2149 JPY"), "2,149 JPY");
        assert_eq!(grouped("-1234567 JPY"), "-1,234,567 JPY");
        assert_eq!((grouped("1234.567 KWD"), grouped("149 JPY")), ("1,234.567 KWD".to_owned(), "149 JPY".to_owned()));
        assert_eq!((grouped("never"), grouped("12 of 1234")), ("never".to_owned(), "12 of 1234".to_owned()));
    }

    #[test]
    fn digits_are_grouped_from_the_point_leftwards() {
        let cases = [("0", "0"), ("999", "999"), ("1000", "1,000"), ("-1234567.891", "-1,234,567.891"), ("", "")];
        for (plain, wanted) in cases {
            assert_eq!(grouped(plain), wanted);
        }
    }

    #[test]
    fn dm_18_the_coin_view_divides_cash_by_the_coin_value_and_rounds_down() {
        let view = |minor, currency: &str, coin: &str| {
            coin_view(Minor(minor), currency.parse().unwrap(), coin.parse().unwrap())
        };
        assert_eq!(view(8, "EUR", "0.004"), 20);
        assert_eq!((view(9, "EUR", "0.004"), view(1, "EUR", "0.004"), view(0, "EUR", "0.004")), (22, 2, 0));
        assert_eq!((view(999, "EUR", "0.1"), view(999, "EUR", "2")), (99, 4));
        assert_eq!((view(999, "JPY", "2"), view(999, "KWD", "0.1")), (499, 9));
        assert_eq!(view(i64::MAX, "EUR", "0.01"), i64::MAX);
    }

    #[test]
    fn cash_has_the_digits_of_its_currency() {
        let cash = |amount_minor, code: &str| cash(&Money { amount_minor, currency_code: code.to_owned() });
        assert_eq!(cash(123_450, "EUR"), "1,234.50 EUR");
        assert_eq!(cash(123_450, "JPY"), "123,450 JPY");
        assert_eq!(cash(-5, "KWD"), "-0.005 KWD");
        assert_eq!(cash(5, "XXX"), "5 minor units of XXX");
    }

    #[test]
    fn printed_parts_add_up_to_the_printed_whole() {
        let third = ratio(1, 3);
        assert_eq!(parts(&ratio(1, 1), &[&third, &third, &third], 2), ["0.34", "0.33", "0.33"]);
        let sevenths: Vec<_> = [1, 2, 4].map(|n| ratio(n, 7)).to_vec();
        let printed = parts(&ratio(1, 1), &sevenths.iter().collect::<Vec<_>>(), 3);
        assert_eq!(printed, ["0.143", "0.286", "0.571"]);
        let sum: i64 = printed.iter().map(|part| part.replace('.', "").parse::<i64>().unwrap()).sum();
        assert_eq!(sum, 1000);
    }

    #[test]
    fn a_small_chance_keeps_nine_digits() {
        assert_eq!(chance(&ratio(1, 8)), "0.125000000000000000");
        assert_eq!(chance(&ratio(0, 1)), "0.000000000000000000");
        let small = ratio(1, 1_000_000_000_000_000_000) / ratio(3, 1);
        assert_eq!(chance(&small), format!("0.{}333333333", "0".repeat(18)));
    }

    #[test]
    fn a_count_may_have_separators_and_is_never_nothing() {
        assert_eq!(count("1_000_000"), Ok(1_000_000));
        assert_eq!(count("1,000"), Ok(1_000));
        assert_eq!(count("0"), Err("must be at least 1".to_owned()));
        for bad in ["", "-1", "1e6", "many", "1.5"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }
}
