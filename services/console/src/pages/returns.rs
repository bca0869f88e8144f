use super::{
    days,
    parts::{section, table},
};
use crate::{
    failure::Failure,
    stops::part,
    text::{count, money, percent},
    visit::Visit,
};
use maud::{Markup, PreEscaped, html};
use motherlode_proto::{
    ledger::v1::{ListSwitchesRequest, Switch},
    report::v1::{FeatureFrequency, ListReturnsRequest, Return, ReturnDay, r#return::Weighting},
    spin::v1::GetGameResponse,
};
use std::cmp::Reverse;

const STAKES_MAX: usize = 40;

pub(super) async fn returned(visit: &Visit, game: &str) -> Result<Markup, Failure> {
    if !visit.may("ListReturns") {
        return Ok(Markup::default());
    }
    let request = ListReturnsRequest { game: game.to_owned(), days: !game.is_empty(), ..Default::default() };
    let answer = visit.api.report().list_returns(request).await;
    section("Returns", answer, |answer| {
        let head = ["Game", "Weighed", "Rounds", "Returned", "Expected", "Band", "Verdict"];
        html! {
            @if answer.totals.is_empty() { p { "No round has been settled yet." } }
            @else { (table("Returns", &head, answer.totals.iter().map(total).collect())) }
            p.note { "The column \"Expected\" shows the exact expected return of the rounds played, without jackpots. \
                 Rows weighed by round also exclude features for which players collect over many rounds, so their \
                 expected return can be far below the published return. Rows weighed by stake include these features." }
            @if !game.is_empty() {
                @for total in answer.totals.iter().filter(|of| !of.features.is_empty()) { (features(total)) }
                (days::at_stakes(&answer.returns))
                @if !answer.returns.is_empty() { (at_stakes(answer.returns)) }
            }
        }
    })
}

pub(super) async fn verdict(visit: &Visit, told: &GetGameResponse) -> Result<Markup, Failure> {
    if !visit.may("ListReturns") {
        return Ok(Markup::default());
    }
    let summary = told.summary.clone().unwrap_or_default();
    let request = ListReturnsRequest { game: summary.game.clone(), days: true, ..Default::default() };
    let answer = visit.api.report().list_returns(request).await?.into_inner();
    let of_version = |of: &&Return| of.rules_version == summary.rules_version;
    let sums = answer.totals.iter().filter(of_version).filter(|of| of.weighting() == Weighting::Stake);
    let Some(sum) = sums.max_by_key(|of| of.rounds) else {
        return Ok(html! { p { "No round of this version has been settled yet." } });
    };
    let out: Vec<_> =
        answer.returns.iter().chain(&answer.totals).filter(of_version).filter(|of| of.out_of_band).collect();
    let first = out.iter().filter_map(|of| first_outside(of)).min();
    let off = visit.api.ledger().list_switches(ListSwitchesRequest {}).await?.into_inner().switched_off;
    let covers = |of: &Switch| {
        (of.game.is_empty() || of.game == summary.game)
            && (of.rules_version.is_empty() || of.rules_version == summary.rules_version)
    };
    let off: Vec<_> = off.into_iter().filter_map(|off| off.switch).filter(covers).map(|switch| part(&switch)).collect();
    Ok(html! {
        (judged(&told.rtp, sum, out.len(), first))
        p.note { "Model " code { (summary.model_hash) } ", rules version " (summary.rules_version) " of " (summary.rules_date) ": "
            @if off.is_empty() { "accepts new rounds." } @else { strong { "switched off" } " for " (off.join(", ")) "." } }
    })
}

/// Returns the first day on which the return measured so far was outside the stake's permitted band. The width of the
/// band is inversely proportional to the square root of the number of rounds.
fn first_outside(of: &Return) -> Option<&str> {
    let number = |text: &str| text.parse::<f64>().unwrap_or_default();
    let bet = number(&of.bet.as_ref()?.amount_minor.to_string());
    let float = |rounds: u64| f64::from(u32::try_from(rounds).unwrap_or(u32::MAX));
    let is_outside = |day: &&ReturnDay| {
        let off = number(&day.wins_minor) / (bet * float(day.rounds)) - number(&of.held_theoretical_rtp);
        let wider = (float(of.rounds) / float(day.rounds)).sqrt();
        off > number(&of.band) * wider || -off > number(&of.band_below) * wider
    };
    of.days.iter().filter(|day| day.rounds > 0).find(is_outside).map(|day| day.date.as_str())
}

fn judged(published: &str, sum: &Return, out: usize, first: Option<&str>) -> Markup {
    let tile = |name: &str, figure: Markup| html! { div.tile { span { (name) } b { (figure) } } };
    html! {
        div.tiles {
            (tile("Verdict", html! { @if out == 0 { "Within its bands" } @else { strong.bad { "Outside its band" } "; rows outside their band in the tables below: " (count(out)) } }))
            @if let Some(first) = first { (tile("First day on which a stake's cumulative return was outside its tolerance", html! { (first) })) }
            (tile("Published", html! { (percent(published)) }))
            (tile(&format!("Actual return of bets in {}", sum.currency_code), html! { (percent(&sum.held_rtp)) }))
            (tile("Tolerance around the expected return", html! { "−" (percent(&sum.band_below)) " to +" (percent(&sum.band)) }))
            (tile("Rounds; rounds at one stake that give an equally precise return", html! { (count(sum.rounds)) ", " (count(&sum.effective_rounds)) }))
        }
    }
}

fn total(of: &Return) -> Vec<Markup> {
    let weighed = match of.weighting() {
        Weighting::Round => "by round",
        _ => "by stake",
    };
    let named = [html! { (of.game) " " (of.rules_version) }, html! { (of.currency_code) ", " (weighed) }];
    named.into_iter().chain(comparison(of)).collect()
}

fn features(total: &Return) -> Markup {
    let row = |of: &FeatureFrequency| {
        vec![
            html! { (of.title) },
            html! { (count(of.rounds)) },
            html! { (percent(&of.frequency)) },
            html! { (percent(&of.theoretical_frequency)) },
            html! { (of.standard_errors) " σ" },
        ]
    };
    let (version, currency) = (&total.rules_version, &total.currency_code);
    let head = ["Feature", "Rounds", "Actual frequency", "Expected frequency", "Distance"];
    html! {
        h3 { (format!("Features of rules version {version}, bets in {currency}")) }
        (table(&format!("Features of rules version {version}, bets in {currency}"), &head, total.features.iter().map(row).collect()))
    }
}

fn at_stakes(mut all: Vec<Return>) -> Markup {
    all.sort_by_key(|of| (!of.out_of_band, Reverse(of.rounds)));
    let row = |of: &Return| {
        let stake = of.stake.clone().unwrap_or_default();
        let bought = if stake.buy_feature { ", with bought feature" } else { "" };
        let staked = html! { (money(of.bet.as_ref())) ": " (stake.lines) " × " (stake.coins_per_line) " of " (stake.coin_value) (bought) };
        [html! { (of.rules_version) }, staked].into_iter().chain(comparison(of)).collect()
    };
    let head = ["Rules", "Bet", "Rounds", "Returned", "Expected", "Band", "Verdict"];
    html! {
        h3 { "At each stake" }
        (table("Returns at each stake", &head, all.iter().take(STAKES_MAX).map(row).collect()))
        @if all.len() > STAKES_MAX {
            p { "The table shows " (count(STAKES_MAX)) " stakes of " (count(all.len())) ". " a href="/reports" { "The report" } " has all." }
        }
    }
}

fn comparison(of: &Return) -> [Markup; 5] {
    [
        html! { (count(of.rounds)) },
        html! { (percent(&of.held_rtp)) },
        html! { (percent(&of.held_theoretical_rtp)) },
        band(of),
        html! { @if of.out_of_band { strong.bad { "outside its band" } } @else { "within its band" } },
    ]
}

fn band(of: &Return) -> Markup {
    let number = |text: &str| text.parse::<f64>().unwrap_or_default();
    let (above, below) = (number(&of.band), number(&of.band_below));
    let off = number(&of.held_rtp) - number(&of.held_theoretical_rtp);
    let share = if off >= 0.0 { off / above.max(1e-9) } else { off / below.max(1e-9) };
    let at = format!("{:.1}", 60.0 + share.clamp(-1.15, 1.15) * 50.0);
    let told = format!("−{} to +{}", percent(&of.band_below), percent(&of.band));
    html! {
        svg.gauge viewBox="0 0 120 16" role="img" aria-label={ "Band " (told) } {
            (PreEscaped(format!(
                "<rect class=\"band\" x=\"10\" y=\"4\" width=\"100\" height=\"8\" rx=\"4\"/><line class=\"exact\" x1=\"60\" y1=\"2\" x2=\"60\" y2=\"14\"/><circle class=\"{}\" cx=\"{at}\" cy=\"8\" r=\"4\"/>",
                if of.out_of_band { "out" } else { "bar" }
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::Stake;

    #[test]
    fn pl_23_features_are_shown_beside_their_chances() {
        let of = FeatureFrequency {
            title: "Treasure".into(),
            rounds: 1_234,
            frequency: "0.012340".into(),
            theoretical_frequency: "0.012360".into(),
            standard_errors: "-0.06".into(),
            ..FeatureFrequency::default()
        };
        let total = Return {
            rules_version: "1.0.1".into(),
            currency_code: "EUR".into(),
            features: vec![of],
            ..Return::default()
        };
        let told = features(&total).into_string();
        for part in
            ["Features of rules version 1.0.1, bets in EUR", "Treasure", "1,234", "1.2340 %", "1.2360 %", "-0.06 σ"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn pl_23_a_games_verdict_names_what_is_out_of_its_band() {
        let sum = Return { currency_code: "EUR".into(), held_rtp: "0.5".into(), rounds: 1_200, ..Return::default() };
        let fair = judged("0.9460", &sum, 0, None).into_string();
        assert!(fair.contains("Within its bands") && fair.contains("94.60 %") && fair.contains("50 %"), "{fair}");
        let out = judged("0.9460", &sum, 2, Some("2027-01-03")).into_string();
        assert!(
            out.contains("Outside its band</strong>; rows outside their band in the tables below: 2")
                && out.contains("1,200"),
            "{out}"
        );
    }

    #[test]
    fn pl_23_the_first_day_out_of_the_band_allows_for_its_fewer_rounds() {
        let day = |date: &str, rounds, wins: &str| ReturnDay { date: date.into(), rounds, wins_minor: wins.into() };
        let mut of = Return {
            bet: Some(motherlode_proto::round::v1::Money { amount_minor: 10, currency_code: "EUR".into() }),
            rounds: 400,
            held_theoretical_rtp: "0.9".into(),
            band: "0.1".into(),
            band_below: "0.2".into(),
            // The band's upper bound is 1.9 on the first day, 1.1 on the second and 1.0 on the third.
            days: vec![day("2027-01-01", 4, "72"), day("2027-01-02", 100, "1300"), day("2027-01-03", 400, "9000")],
            ..Return::default()
        };
        assert_eq!(first_outside(&of), Some("2027-01-02"));
        of.days[1].wins_minor = "1000".into();
        assert_eq!(first_outside(&of), Some("2027-01-03"));
        of.days[2].wins_minor = "3700".into();
        assert_eq!(first_outside(&of), None);
    }

    #[test]
    fn pl_23_stakes_out_of_their_band_come_first_and_the_page_has_a_bound() {
        let at = |lines: u32, rounds, out_of_band| Return {
            stake: Some(Stake { lines, coins_per_line: 1, coin_value: "0.01".to_owned(), buy_feature: false }),
            rounds,
            out_of_band,
            ..Return::default()
        };
        let told = at_stakes(vec![at(1, 10, false), at(2, 900, false), at(3, 5, true)]).into_string();
        let place = |lines: u32| told.find(&format!("{lines} × 1 of 0.01"));
        assert!(place(3) < place(2) && place(2) < place(1) && place(1).is_some(), "{told}");
        assert!(!told.contains("The report"), "{told}");
        let told = at_stakes((1..=900).map(|lines| at(lines, 1, false)).collect()).into_string();
        assert!(told.len() < 40_000 && told.contains("40 stakes of 900"), "{} bytes", told.len());
    }
}
