//! A game's return over time, with the interval that contains the return of a correct game with a probability of 95 %.

use super::parts::{section, table};
use crate::{
    failure::Failure,
    text::{count, money, percent},
    visit::Visit,
};
use maud::{Markup, PreEscaped, html};
use motherlode_proto::{
    report::v1::{ListRevenueRequest, Return, ReturnDay, Revenue},
    spin::v1::GetGameResponse,
};
use std::{cmp::Reverse, collections::BTreeMap};

const ROWS: i32 = 500;
const POINTS: usize = 60;
const STAKES: usize = 4;
/// Number of standard errors by which the 95 % interval extends to each side of the mean.
const ERRORS: f64 = 1.959_963_985;
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 180.0;
const TOP: f64 = 16.0;
const LEFT: f64 = 52.0;

#[derive(Debug, Clone, PartialEq)]
struct Day {
    date: String,
    rounds: u64,
    bets: i128,
    wins: i128,
}

pub(super) async fn course(visit: &Visit, told: &GetGameResponse) -> Result<Markup, Failure> {
    if !visit.may("ListRevenue") {
        return Ok(Markup::default());
    }
    let game = told.summary.clone().unwrap_or_default().game;
    let request = ListRevenueRequest { game, page_size: ROWS, ..Default::default() };
    let answer = visit.api.report().list_revenue(request).await;
    section("Return over time", answer, |answer| {
        let (currency, days) = days(&answer.rows);
        match days.len() {
            0 => html! { p { "No activity." } },
            _ => shown(&currency, &days, told),
        }
    })
}

fn days(rows: &[Revenue]) -> (String, Vec<Day>) {
    let mut rounds: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        *rounds.entry(&row.currency_code).or_default() += row.rounds + row.free_rounds;
    }
    let Some((currency, _)) = rounds.into_iter().max_by_key(|(_, rounds)| *rounds) else {
        return (String::new(), vec![]);
    };
    let mut by_day: BTreeMap<&str, (u64, i128, i128)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.currency_code == currency) {
        let minor = |text: &str| text.parse::<i128>().unwrap_or_default();
        let day = by_day.entry(&row.date).or_default();
        day.0 += row.rounds + row.free_rounds;
        day.1 += minor(&row.bets_minor) + minor(&row.free_bets_minor)
            - minor(&row.refunds_minor)
            - minor(&row.free_bets_returned_minor);
        day.2 += minor(&row.wins_minor) - minor(&row.wins_taken_back_minor);
    }
    let mut sum = (0, 0, 0);
    let mut add = |(date, of): (&str, (u64, i128, i128))| {
        sum = (sum.0 + of.0, sum.1 + of.1, sum.2 + of.2);
        Day { date: date.to_owned(), rounds: sum.0, bets: sum.1, wins: sum.2 }
    };
    (currency.to_owned(), by_day.into_iter().map(&mut add).collect())
}

impl Day {
    fn rtp_millionths(&self) -> Option<i128> {
        (self.bets > 0).then(|| self.wins * 1_000_000 / self.bets)
    }

    fn rtp(&self) -> String {
        self.rtp_millionths().map_or_else(String::new, |rtp| format!("{}.{:06}", rtp / 1_000_000, rtp % 1_000_000))
    }
}

fn shown(currency: &str, days: &[Day], told: &GetGameResponse) -> Markup {
    let row = |day: &Day| {
        let rtp = day.rtp();
        vec![
            html! { (day.date) },
            html! { (count(day.rounds)) },
            html! { (if rtp.is_empty() { "–".to_owned() } else { percent(&rtp) }) },
        ]
    };
    let label = format!("Cumulative return by day, the calculated return {} and its 95 % band", percent(&told.rtp));
    html! {
        p.note { (format!("Cumulative return of all rounds in {currency}, from booked bets and wins without jackpots. ")) "If all bets are equal, \
             a fair game's return is within the band in 95 of 100 cases." }
        p.legend { span.swatch.part0 {} "Return" span.swatch.part1 {} "Exact" span.swatch.band {} "Band" }
        svg.course viewBox={ "0 0 " (WIDTH) " " (HEIGHT + TOP + 18.0) } role="img" aria-label=(label) { (PreEscaped(plotted(days, &told.rtp, &told.std_dev_bets))) }
        details { summary { "In figures" } (table("Cumulative return by day", &["Day", "Rounds", "Return"], days.iter().rev().take(POINTS).map(row).collect())) }
    }
}

pub(super) fn at_stakes(all: &[Return]) -> Markup {
    let mut most: Vec<_> = all.iter().filter(|of| !of.days.is_empty() && !of.std_dev.is_empty()).collect();
    most.sort_by_key(|of| Reverse(of.rounds));
    let plot = |of: &Return| {
        let bet = of.bet.as_ref().map_or(0, |bet| i128::from(bet.amount_minor));
        let day = |day: &ReturnDay| Day {
            date: day.date.clone(),
            rounds: day.rounds,
            bets: bet * i128::from(day.rounds),
            wins: day.wins_minor.parse().unwrap_or_default(),
        };
        let days: Vec<_> = of.days.iter().map(day).collect();
        let stake = of.stake.clone().unwrap_or_default();
        let named = html! { (money(of.bet.as_ref())) ", " (stake.lines) " × " (stake.coins_per_line) " of " (stake.coin_value) ": " (count(of.rounds)) " rounds" };
        let label = format!(
            "Cumulative return by day, the calculated return {} and its 95 % band",
            percent(&of.theoretical_rtp)
        );
        html! {
            figure.stake {
                figcaption { (named) }
                svg.course viewBox={ "0 0 " (WIDTH) " " (HEIGHT + TOP + 18.0) } role="img" aria-label=(label) { (PreEscaped(plotted(&days, &of.theoretical_rtp, &of.std_dev))) }
            }
        }
    };
    html! {
        @if !most.is_empty() {
            h3 { "Return over time, at the most played stakes" }
            p.note { "Cumulative return of all rounds at each stake. A collected feature is paid for by bets at several stakes, but its win is counted at only one of these stakes." }
            div.stakes { @for of in most.into_iter().take(STAKES) { (plot(of)) } }
        }
    }
}

fn thinned(days: &[Day]) -> Vec<&Day> {
    let most = POINTS.min(days.len());
    (0..most).filter_map(|at| days.get(at * days.len().saturating_sub(1) / most.saturating_sub(1).max(1))).collect()
}

fn plotted(days: &[Day], exact: &str, spread: &str) -> String {
    let days = thinned(days);
    let number = |text: &str| text.parse::<f64>().unwrap_or_default();
    let (exact, spread) = (number(exact), number(spread));
    let float = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let half = |day: &Day| ERRORS * spread / float(day.rounds.max(1)).sqrt();
    let rtp = |day: &Day| number(&day.rtp());
    let top = days
        .iter()
        .copied()
        .map(|day| rtp(day).max(exact + half(day).min(exact)))
        .fold((exact * 1.1).max(0.01), f64::max);
    let step = (WIDTH - LEFT) / float(u64::try_from(days.len().saturating_sub(1)).unwrap_or(1).max(1));
    let across = |at: usize| if days.len() == 1 { LEFT + (WIDTH - LEFT) / 2.0 } else { LEFT + step * float(at as u64) };
    let down = |share: f64| TOP + HEIGHT * (1.0 - (share / top).clamp(0.0, 1.0));
    let point = |at: usize, share: f64| format!("{:.1},{:.1}", across(at), down(share));
    let each = |of: &dyn Fn(&Day) -> f64| {
        days.iter().copied().enumerate().map(|(at, day)| point(at, of(day))).collect::<Vec<_>>()
    };
    let (above, mut below) = (each(&|day| exact + half(day)), each(&|day| exact - half(day)));
    below.reverse();
    let line = |y: f64, label: &str| {
        format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{WIDTH}\" y2=\"{y:.1}\"/><text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            LEFT - 6.0,
            y + 4.0
        )
    };
    let share = |share: f64| line(down(share), &format!("{:.0} %", share * 100.0));
    let zero = if exact * 12.0 < top { String::new() } else { share(0.0) };
    let scale = [zero, share(exact), share(top)].concat();
    let band = format!("<polygon class=\"band\" points=\"{} {}\"/>", above.join(" "), below.join(" "));
    let middle =
        format!("<line class=\"exact\" x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{WIDTH}\" y2=\"{0:.1}\"/>", down(exact));
    let played = format!("<polyline class=\"k\" points=\"{}\"/>", each(&rtp).join(" "));
    let dot = days.last().map(|last| {
        let (x, y) = (across(days.len() - 1), down(rtp(last)));
        format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}: {}</title></circle>",
            last.date,
            percent(&last.rtp())
        )
    });
    let (first, last) = (days.first().map_or("", |day| &day.date), days.last().map_or("", |day| &day.date));
    let y = TOP + HEIGHT + 14.0;
    let ends = match first == last {
        true => format!("<text class=\"end\" x=\"{WIDTH}\" y=\"{y}\">{last}</text>"),
        false => format!(
            "<text x=\"{LEFT}\" y=\"{y}\">{first}</text><text class=\"end\" x=\"{WIDTH}\" y=\"{y}\">{last}</text>"
        ),
    };
    [band, scale, middle, played, dot.unwrap_or_default(), ends].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::{Money, Stake};

    fn row(date: &str, currency: &str, rounds: u64, bets: &str, wins: &str) -> Revenue {
        let (date, currency_code) = (date.to_owned(), currency.to_owned());
        Revenue { date, currency_code, rounds, bets_minor: bets.into(), wins_minor: wins.into(), ..Revenue::default() }
    }

    #[test]
    fn pl_23_the_return_is_that_of_all_rounds_up_to_each_day_less_what_was_voided() {
        let voided = Revenue {
            refunds_minor: "100".into(),
            wins_taken_back_minor: "40".into(),
            ..row("2027-01-02", "EUR", 2, "300", "140")
        };
        let rows = [
            row("2027-01-02", "EUR", 3, "500", "450"),
            voided,
            row("2027-01-01", "EUR", 1, "100", "20"),
            row("2027-01-01", "SEK", 5, "9", "9"),
        ];
        let (currency, days) = days(&rows);
        assert_eq!(currency, "EUR", "six rounds of eleven");
        assert_eq!(days[0], Day { date: "2027-01-01".into(), rounds: 1, bets: 100, wins: 20 });
        assert_eq!(days[1], Day { date: "2027-01-02".into(), rounds: 6, bets: 800, wins: 570 });
        assert_eq!((days[0].rtp(), days[1].rtp()), ("0.200000".into(), "0.712500".into()));
        let drawn = plotted(&days, "0.95", "5");
        assert_eq!(drawn.matches("<polygon class=\"band\"").count(), 1);
        assert!(drawn.contains("<title>2027-01-02: 71.2500 %</title>"), "{drawn}");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }

    #[test]
    fn pl_23_each_stakes_return_is_drawn_in_its_own_band_the_most_played_first() {
        let day = |date: &str, rounds, wins: &str| ReturnDay { date: date.into(), rounds, wins_minor: wins.into() };
        let at = |lines: u32, rounds| Return {
            stake: Some(Stake { lines, coins_per_line: 1, coin_value: "0.01".into(), buy_feature: false }),
            bet: Some(Money { amount_minor: i64::from(lines), currency_code: "EUR".into() }),
            rounds,
            theoretical_rtp: "0.960000".into(),
            std_dev: "4.0".into(),
            days: vec![day("2027-01-01", rounds / 2, "0"), day("2027-01-02", rounds, "12")],
            ..Return::default()
        };
        let all: Vec<_> = (1..=6).map(|lines| at(lines, 10 * u64::from(lines))).collect();
        let told = at_stakes(&all).into_string();
        assert_eq!(told.matches("<polygon class=\"band\"").count(), STAKES);
        assert!(told.find("6 × 1 of 0.01: 60 rounds") < told.find("5 × 1 of 0.01: 50 rounds"), "{told}");
        assert!(told.contains("<title>2027-01-02: 3.3333 %</title>"), "{told}");
        let unknown = Return { std_dev: String::new(), ..at(1, 10) };
        assert_eq!(at_stakes(&[unknown]).into_string(), "", "without mathematics there is no band");
    }

    #[test]
    fn a_year_has_a_bound_and_keeps_its_ends() {
        let day = |at: u64| Day { date: format!("day {at}"), rounds: at + 1, bets: 100, wins: 90 };
        for count in [1, 2, 59, 60, 61, 366] {
            let days: Vec<_> = (0..count).map(day).collect();
            let thin = thinned(&days);
            assert_eq!(thin.len(), days.len().min(POINTS));
            assert_eq!((thin[0], thin.last().copied()), (&days[0], days.last()), "{count}");
            assert!(plotted(&days, "0.95", "5").len() < 6_000, "{count}");
        }
        assert!(thinned(&[]).is_empty());
    }

    #[test]
    fn pl_23_days_without_a_bet_have_no_return() {
        assert_eq!(days(&[]), (String::new(), vec![]));
        let (_, days) = days(&[row("2027-01-01", "EUR", 1, "0", "0")]);
        assert_eq!(days[0].rtp(), "");
        assert!(!plotted(&days, "", "").contains("NaN"));
    }
}
