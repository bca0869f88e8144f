pub const DAY_MS: i64 = 86_400_000;

#[must_use]
pub fn day_of(time_ms: i64) -> i64 {
    time_ms.div_euclid(DAY_MS)
}

#[must_use]
pub fn text(day: i64) -> String {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march_month + 2) / 5 + 1, (march_month + 2) % 12 + 1);
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let parse = |text: &str, digits| text.parse::<i64>().ok().filter(|_| text.len() == digits);
    let (year, month, day) = (parse(year, 4)?, parse(month, 2)?, parse(day, 2)?);
    let march_year = year - i64::from(month <= 2);
    let (era, of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let found = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (self::text(found) == text).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_24_days_have_their_dates_and_what_is_no_date_has_none() {
        for (day, text) in [(0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (20_778, "2026-11-21")] {
            assert_eq!((super::text(day), parse(text)), (text.to_owned(), Some(day)));
        }
        assert!((-200_000..200_000).all(|day| text(day).len() != 10 || parse(&text(day)) == Some(day)));
        for bad in ["", "2026-02-29", "2026-13-01", "2026-1-01", "2026-01-00", "+026-01-01", "2026-01-01x", "x"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
