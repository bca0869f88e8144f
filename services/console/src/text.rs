use maud::{Markup, html};
use motherlode_picture::figures;
use motherlode_proto::round::v1::Money;
use prost_types::Timestamp;

pub(crate) fn money(money: Option<&Money>) -> String {
    money.map_or_else(|| "–".to_owned(), figures::cash)
}

pub(crate) fn when(time: Option<&Timestamp>) -> Markup {
    match time.map(figures::time) {
        Some(time) => html! { time datetime=(time) { (time) } },
        None => html! { "–" },
    }
}

pub(crate) fn since(time: Option<&Timestamp>, now_ms: i64) -> Markup {
    html! { (when(time)) @if let Some(time) = time { " (" (age(now_ms / 1_000 - time.seconds)) ")" } }
}

fn age(seconds: i64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let (size, unit) = units.into_iter().find(|(size, _)| seconds.abs() >= *size).unwrap_or((1, "s"));
    let number = seconds.abs() / size;
    if seconds < 0 { format!("in {number} {unit}") } else { format!("{number} {unit} ago") }
}

pub(crate) fn eur(figure: &str) -> String {
    match figure {
        "" => "–".to_owned(),
        figure => format!("{} EUR", figures::grouped(figure)),
    }
}

pub(crate) fn count(number: impl ToString) -> String {
    figures::grouped(&number.to_string())
}

pub(crate) fn words(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase().replace('_', " ")
}

pub(crate) fn percent(share: &str) -> String {
    let (sign, digits) = share.strip_prefix('-').map_or(("", share), |digits| ("-", digits));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return share.to_owned();
    }
    let sign = if digits.bytes().all(|byte| byte == b'0' || byte == b'.') { "" } else { sign };
    let part = format!("{part:0<2}");
    let (before, after) = part.split_at(2);
    let before = format!("{whole}{before}");
    let before = match before.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    match after {
        "" => format!("{sign}{before} %"),
        after => format!("{sign}{before}.{after} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_23_a_time_is_shown_with_its_age() {
        for (seconds, told) in
            [(0, "0 s ago"), (59, "59 s ago"), (360, "6 min ago"), (93_600, "1 d ago"), (-7_200, "in 2 h")]
        {
            assert_eq!(age(seconds), told);
        }
        let shown = since(Some(&Timestamp { seconds: 60, nanos: 0 }), 180_000).into_string();
        assert!(shown.ends_with("</time> (2 min ago)"), "{shown}");
    }

    #[test]
    fn a_share_is_told_in_percent_with_all_its_digits() {
        for (share, told) in [
            ("0.9460", "94.60 %"),
            ("1", "100 %"),
            ("0.05", "5 %"),
            ("0.0512345", "5.12345 %"),
            ("12.5", "1250 %"),
            ("-0.001", "-0.1 %"),
            ("0", "0 %"),
            ("-0.0000", "0.00 %"),
            ("", ""),
            ("none", "none"),
        ] {
            assert_eq!(percent(share), told, "{share}");
        }
    }
}
