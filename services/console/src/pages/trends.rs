//! Graphs of the last hour and the last day on the front page, as inline SVG. Each graph also states its figures as
//! text, so that it needs neither JavaScript nor colours.

use super::parts::time;
use crate::{terms::explained, text::count};
use maud::{Markup, PreEscaped, html};
use motherlode_picture::figures;
use motherlode_proto::report::v1::{Disk, GetServiceStatusResponse, HistoryPoint};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

const WIDTH: i64 = 120;
const HEIGHT: i64 = 28;
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 24 * HOUR_S;
const GAPS: i64 = 2;
const REASONS: usize = 5;
pub(super) const DAYS_LEFT_MIN: u32 = 14;

type Read<'a> = &'a dyn Fn(&HistoryPoint) -> i64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    Sum,
    Latest,
    Highest,
}

pub(super) const INCREMENTS: &str = "Increments of ";

/// `list` maps a graph's name to the page that lists its figures.
pub(super) fn shown(told: &GetServiceStatusResponse, list: &dyn Fn(&str) -> Option<String>) -> Markup {
    if told.hour.is_empty() && told.day.is_empty() {
        return html! { p.note { "Graphs of the last hour and day appear after the service's first full minute." } };
    }
    let number = |figure: i64| count(figure);
    let graph = |name: &str, is: Figure, read: Read<'_>, shown: &dyn Fn(i64) -> String| {
        graph(told, (name, is, list(name)), read, shown)
    };
    let reasons = reasons(&told.day);
    let pools: BTreeSet<_> = told.day.iter().flat_map(|point| &point.pools).map(|pool| pool.pool_id.as_str()).collect();
    html! {
        div.tiles.trends {
            (graph("Rounds", Figure::Sum, &|of| fit(of.rounds), &number))
            (graph("Stakes", Figure::Sum, &|of| of.stakes_eur_minor, &eur))
            (graph("Wins", Figure::Sum, &|of| of.wins_eur_minor, &eur))
            (graph("p99 latency", Figure::Highest, &|of| fit(of.latency_p99_us), &|us| time(u64::try_from(us).unwrap_or_default())))
            (graph("Refused calls", Figure::Sum, &|of| of.refusals.iter().map(|refusal| fit(refusal.count)).sum(), &number))
            @for reason in &reasons { (graph(reason, Figure::Sum, &|of| refused(of, reason), &number)) }
            @for pool in pools { (graph(&format!("{INCREMENTS}{pool}"), Figure::Latest, &|of| level(of, pool), &eur)) }
            @if let Some(disk) = &told.disk {
                @let (full, growth) = space(disk);
                div.tile { span { "Disk" } b.figure { (full) } small { (growth) } }
            }
        }
        p.note { "Rounds, stakes, wins and increments are totals of the partitions below. Latency, refused calls and \
             disk are figures of the process that serves this page." }
    }
}

fn refused(of: &HistoryPoint, reason: &str) -> i64 {
    of.refusals.iter().find(|refusal| refusal.reason == reason).map_or(0, |refusal| fit(refusal.count))
}

fn level(of: &HistoryPoint, pool: &str) -> i64 {
    of.pools.iter().find(|level| level.pool_id == pool).map_or(0, |level| level.increments_eur_minor)
}

fn reasons(day: &[HistoryPoint]) -> Vec<String> {
    let mut sums = BTreeMap::<&str, u64>::new();
    for refusal in day.iter().flat_map(|point| &point.refusals) {
        *sums.entry(&refusal.reason).or_default() += refusal.count;
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(reason, _)| !reason.starts_with('_')).collect();
    sums.sort_by_key(|(reason, count)| (Reverse(*count), *reason));
    sums.into_iter().take(REASONS).map(|(reason, _)| reason.to_owned()).collect()
}

pub(super) fn space(disk: &Disk) -> (String, String) {
    let used = disk.total_bytes.saturating_sub(disk.free_bytes);
    let share = u128::from(used) * 100 / u128::from(disk.total_bytes.max(1));
    let left = match (disk.growth_bytes_per_day, disk.days_left) {
        (None, _) => "history too short to compute the growth of used space".to_owned(),
        (Some(growth), Some(days)) => {
            format!("grows {} per day, full in {} days", bytes(growth.unsigned_abs()), count(days))
        }
        (Some(_), None) => "does not grow".to_owned(),
    };
    (format!("{share} % full"), format!("{} free, {left}", bytes(disk.free_bytes)))
}

fn bytes(count: u64) -> String {
    let (unit, size) = match count {
        0..1_000_000 => ("kB", 1_000),
        1_000_000..1_000_000_000 => ("MB", 1_000_000),
        1_000_000_000..1_000_000_000_000 => ("GB", 1_000_000_000),
        _ => ("TB", 1_000_000_000_000),
    };
    format!("{}.{} {unit}", count / size, count % size * 10 / size)
}

fn eur(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{} EUR", figures::grouped(&format!("{}.{:02}", cents / 100, cents % 100)))
}

fn fit(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn graph(
    told: &GetServiceStatusResponse,
    (name, is, list): (&str, Figure, Option<String>),
    read: Read<'_>,
    shown: &dyn Fn(i64) -> String,
) -> Markup {
    let figure = |points: &[HistoryPoint]| {
        let all = points.iter().map(read);
        shown(match is {
            Figure::Sum => all.fold(0, i64::saturating_add),
            Figure::Latest => all.last().unwrap_or_default(),
            Figure::Highest => all.max().unwrap_or_default(),
        })
    };
    html! {
        div.tile {
            span {
                @match list { Some(list) => a href=(list) { (name) }, None => (explained(name)) }
                @if is == Figure::Highest { ", highest" }
            }
            @if is == Figure::Latest { b.figure { (figure(&told.hour)) } }
            @else { b.figure { (figure(&told.hour)) " " small { "1 hour" } } b.figure { (figure(&told.day)) " " small { "1 day" } } }
            (line(&told.hour, read, HOUR_S, 60))
            (line(&told.day, read, DAY_S, 900))
        }
    }
}

/// Draws the points in an interval of `length_s` seconds that ends at the last point. Missing points interrupt the
/// line.
fn line(points: &[HistoryPoint], read: Read<'_>, length_s: i64, every_s: i64) -> Markup {
    let seconds = |point: &HistoryPoint| point.start_time.map_or(0, |time| time.seconds);
    let end = points.last().map_or(0, seconds);
    let values = points.iter().map(read);
    let (least, most) = (values.clone().min().unwrap_or_default().min(0), values.max().unwrap_or_default().max(1));
    let (mut path, mut before) = (String::new(), None);
    for point in points {
        let at = seconds(point);
        let x = WIDTH - (end - at).saturating_mul(WIDTH) / length_s;
        let y = i128::from(HEIGHT - 2) * (i128::from(most) - i128::from(read(point)))
            / (i128::from(most) - i128::from(least))
            + 1;
        let moves = before.is_none_or(|before| at - before > GAPS * every_s);
        let _ = write!(path, "{}{x} {y}", if moves { "M" } else { "L" });
        before = Some(at);
    }
    // A line of length 0 is drawn as a dot, because the line has round caps.
    if points.len() == 1 {
        path.push_str("h0");
    }
    let drawn = format!("<path d=\"{path}\"/>");
    html! { svg.spark.trend viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" { (PreEscaped(drawn)) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::report::v1::{PoolLevel, RefusalCount};
    use prost_types::Timestamp;

    fn point(minute: i64, rounds: u64) -> HistoryPoint {
        HistoryPoint {
            start_time: Some(Timestamp { seconds: minute * 60, nanos: 0 }),
            rounds,
            stakes_eur_minor: 123_456,
            latency_p99_us: 900 + rounds,
            refusals: vec![RefusalCount { reason: "LOSS_LIMIT".into(), count: 2 }],
            pools: vec![PoolLevel { pool_id: "bewitched".into(), increments_eur_minor: 100 * minute }],
            ..HistoryPoint::default()
        }
    }

    #[test]
    fn pl_23_graphs_state_their_figures_and_fit_the_page() {
        let hour: Vec<_> = (0..60).map(|minute| point(minute, minute.unsigned_abs())).collect();
        let day: Vec<_> = (0..96).map(|quarter| point(quarter * 15, 1_000)).collect();
        let disk = Disk {
            free_bytes: 3_500_000_000,
            total_bytes: 10_000_000_000,
            growth_bytes_per_day: Some(500_000_000),
            days_left: Some(7),
        };
        let page = shown(&GetServiceStatusResponse { hour, day, disk: Some(disk), ..Default::default() }, &|graph| {
            (graph == "Rounds").then(|| "/reports/revenue".to_owned())
        })
        .into_string();
        for told in [
            "<a href=\"/reports/revenue\">Rounds</a>",
            "1,770 <small>1 hour",
            "96,000 <small>1 day",
            "74,073.60 EUR",
            "LOSS_LIMIT",
            "Increments of bewitched",
            "59.00 EUR",
            "serves this page",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
        let disk = "65 % full</b><small>3.5 GB free, grows 500.0 MB per day, full in 7 days</small>";
        assert!(page.contains(disk), "{page}");
        assert!(page.len() < 25_000, "{} bytes", page.len());
        assert!(shown(&GetServiceStatusResponse::default(), &|_| None).into_string().contains("first full minute"));
    }

    #[test]
    fn a_pause_interrupts_the_line() {
        let points = [point(0, 1), point(1, 0), point(9, 3)];
        let drawn = line(&points, &|of| fit(of.rounds), HOUR_S, 60).into_string();
        assert!(drawn.contains("d=\"M102 18L104 27M120 1\""), "{drawn}");
    }
}
