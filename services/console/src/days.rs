use crate::{failure::Failure, fields::Fields};
use motherlode_state::date::{parse, text};

pub(crate) const SECONDS: i64 = 86_400;

pub(crate) fn begin(day: &str) -> Result<i64, Failure> {
    parse(day).map(|day| day * SECONDS).ok_or_else(|| Failure::bad("A day must have the form YYYY-MM-DD."))
}

pub(crate) fn field(fields: &Fields, name: &str) -> Result<Option<i64>, Failure> {
    Some(fields.get(name)).filter(|day| !day.is_empty()).map(begin).transpose()
}

/// Returns the start and the length of the given day, minute or second, in milliseconds.
pub(crate) fn moment(fields: &Fields, name: &str) -> Result<Option<(i64, i64)>, Failure> {
    let text = fields.get(name);
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || Failure::bad("A time must have the form YYYY-MM-DD, optionally with HH:MM or HH:MM:SS.");
    let (day, clock) = text.split_once([' ', 'T']).unwrap_or((text, ""));
    let day_ms = parse(day).ok_or_else(wrong)? * SECONDS * 1_000;
    let number = |part: &str, end: i64| {
        let is_number = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit());
        part.parse::<i64>().ok().filter(|number| is_number && *number < end).ok_or_else(wrong)
    };
    let parts: Vec<_> = clock.trim_end_matches('Z').split(':').collect();
    let (seconds, length) = match parts[..] {
        [""] => (0, SECONDS),
        [hours, minutes] => (number(hours, 24)? * 3_600 + number(minutes, 60)? * 60, 60),
        [hours, minutes, seconds] => (number(hours, 24)? * 3_600 + number(minutes, 60)? * 60 + number(seconds, 60)?, 1),
        _ => return Err(wrong()),
    };
    Ok(Some((day_ms + seconds * 1_000, length * 1_000)))
}

pub(crate) fn date(seconds: i64) -> String {
    text(seconds.div_euclid(SECONDS))
}

pub(crate) fn interval(now_ms: i64, length: i64, ago: i64) -> (String, String) {
    let last = now_ms / 1_000 - ago * SECONDS;
    (date(last - (length - 1) * SECONDS), date(last))
}

pub(crate) const OFFERED: [(&str, i64, i64); 3] = [("Today", 1, 0), ("Yesterday", 1, 1), ("7 days", 7, 0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_22_a_day_is_read_as_it_is_written() {
        let second = 1_798_848_000;
        assert_eq!(
            (begin("2027-01-02").ok(), date(second), date(second - 1)),
            (Some(second), "2027-01-02".into(), "2027-01-01".into())
        );
        let fields = Fields::parse(b"from=2027-01-02&to=&at=yesterday");
        assert_eq!(field(&fields, "from").ok(), Some(Some(second)));
        assert_eq!((field(&fields, "to").ok(), field(&fields, "none").ok()), (Some(None), Some(None)));
        let interval = |length, ago| interval(second * 1_000 + 999, length, ago);
        assert_eq!(interval(1, 0), ("2027-01-02".into(), "2027-01-02".into()));
        assert_eq!(
            (interval(1, 1), interval(7, 0).0),
            (("2027-01-01".into(), "2027-01-01".into()), "2026-12-27".into())
        );
        let at = |text: &str| moment(&Fields::parse(format!("at={text}").as_bytes()), "at").ok().flatten();
        let ms = second * 1_000;
        assert_eq!(at("2027-01-02"), Some((ms, 86_400_000)));
        assert_eq!(at("2027-01-02+00:01"), Some((ms + 60_000, 60_000)));
        assert_eq!(at("2027-01-02T01:00:07Z"), Some((ms + 3_607_000, 1_000)));
        for wrong in ["", "yesterday", "2027-01-02T24:00", "2027-01-02T1:00", "2027-01-02+1", "2027-01-02T00:00:60"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
        assert!(moment(&Fields::parse(b"at=x"), "at").is_err());
        assert!(field(&fields, "at").is_err() && begin("2027-02-30").is_err());
    }
}
