use toml::value::{Datetime, Offset};

/// Converts a TOML time; `None` without date, time or offset.
pub(crate) fn unix_ms(time: &Datetime) -> Option<i64> {
    let (date, clock) = (time.date?, time.time?);
    let offset_minutes = match time.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(minutes),
    };
    let days = days_since_1970(date.year.into(), date.month.into(), date.day.into());
    let minutes = days * 24 * 60 + i64::from(clock.hour) * 60 + i64::from(clock.minute) - offset_minutes;
    Some(
        (minutes * 60 + i64::from(clock.second.unwrap_or(0))) * 1000
            + i64::from(clock.nanosecond.unwrap_or(0) / 1_000_000),
    )
}

/// Counts Gregorian days. Years begin in March, so a leap day is the last day.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // Five months that begin with March or August have 153 days.
    let of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + leap_days + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_unix_clock() {
        // Results of `date -u -d ... +%s`.
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-12-31T23:59:59Z", 1_798_761_599),
            ("2027-01-01T01:00:00+01:00", 1_798_761_600),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] {
            assert_eq!(unix_ms(&text.parse().unwrap()), Some(seconds * 1000), "{text}");
        }
        for partial in ["2027-01-01", "2027-01-01T00:00:00"] {
            assert_eq!(unix_ms(&partial.parse().unwrap()), None, "{partial}");
        }
    }
}
