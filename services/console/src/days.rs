use crate::{failure::Failure, fields::Fields};
use motherlode_state::date::{parse, text};

pub(crate) const SECONDS: i64 = 86_400;

pub(crate) fn begin(day: &str) -> Result<i64, Failure> {
    parse(day).map(|day| day * SECONDS).ok_or_else(|| Failure::bad("A day must have the form YYYY-MM-DD."))
}

pub(crate) fn field(fields: &Fields, name: &str) -> Result<Option<i64>, Failure> {
    Some(fields.get(name)).filter(|day| !day.is_empty()).map(begin).transpose()
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
        assert!(field(&fields, "at").is_err() && begin("2027-02-30").is_err());
    }
}
