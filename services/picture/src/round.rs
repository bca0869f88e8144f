//! A round as one self-contained page for support (PL-19): what the ledger says of it, nothing else and nothing loaded.
//!
//! The facts as tables, each step as it's drawn for a terminal. What was typed by people (an actor, a reason) is escaped.

use crate::{
    draw,
    figures::cash,
    markup::{self, Markup, plain, table, tag},
};
use motherlode_books::Currency;
use motherlode_proto::{
    convert::play::hex,
    round::v1::{Automatic, Choice, JackpotWin, Money, Round, RoundState, Step, Void, automatic::Cause},
};
use motherlode_slots::{GameInfo, game};

/// What a page is.
pub const MEDIA_TYPE: &str = "text/html; charset=utf-8";

/// The page of a round. Where this program doesn't have the very model that it was played with, its windows aren't drawn.
#[must_use]
pub fn page(round: &Round) -> String {
    let steps = round.steps.iter().map(|step| section(&format!("Step {}", step.number), of_step(round, step)));
    sheet(
        &round.round_id,
        [section("The bet", bet(round))].into_iter().chain(steps).chain([section("The end", end(round))]),
    )
}

/// A page of a round, made of sections.
#[must_use]
pub fn sheet(round_id: &str, sections: impl Iterator<Item = Markup>) -> String {
    let title = format!("Round {round_id}");
    let heading = plain("h1", title.as_str());
    markup::page(&title, [heading].into_iter().chain(sections).collect::<Markup>())
}

/// A section of the page.
#[must_use]
pub fn section(title: &str, inner: impl Into<Markup>) -> Markup {
    plain("section", [plain("h2", title), inner.into()])
}

/// What is drawn for a terminal, letter by letter.
#[must_use]
pub fn drawing(text: &str) -> Markup {
    tag("div", &[("class", "scroll")], plain("pre", text.trim_matches('\n')))
}

/// Who chose what, in words.
#[must_use]
pub fn chosen(choice: &Choice, automatic: Option<&Automatic>) -> String {
    let choice = draw::choice(choice);
    let Some(automatic) = automatic else { return format!("the player {choice}") };
    let Automatic { actor, reason, .. } = automatic;
    match automatic.cause() {
        Cause::Skipped => format!("the player skips, the game's rule {choice}"),
        Cause::TimeOver => format!("the player's time is over, the game's rule {choice}"),
        Cause::Closed => format!("{actor} closes ({reason}), the game's rule {choice}"),
        Cause::Unspecified => format!("the game's rule {choice}"),
    }
}

/// Two columns: what, and its value. Rows without a value are left out.
fn facts(rows: Vec<(&str, String)>) -> Markup {
    let rows = rows.into_iter().filter(|(_, value)| !value.is_empty());
    table(&["", ""], rows.map(|(what, value)| vec![what.into(), value.into()]))
}

fn bet(round: &Round) -> Markup {
    let account = round.account.clone().unwrap_or_default();
    let currency = account.currency_code;
    let stake = round.stake.clone().unwrap_or_default();
    let bought = if stake.buy_feature { ", the feature bought" } else { "" };
    let contribution = match round.contribution_eur.as_str() {
        "" => "none".to_owned(),
        eur => format!("{eur} EUR"),
    };
    facts(vec![
        ("Operator", account.operator_id),
        ("Player", account.player_id),
        ("Game", format!("{} {}", round.game, round.rules_version)),
        ("Model", round.model_hash.clone()),
        ("Time", time(round.start_time.as_ref())),
        ("Session", round.session_name.clone()),
        ("Jurisdiction", round.jurisdiction.clone()),
        (
            "Stake",
            format!("{} lines x {} of {} {currency}{bought}", stake.lines, stake.coins_per_line, stake.coin_value),
        ),
        ("Bet", money(round.bet.as_ref())),
        ("Free, by campaign", round.campaign_id.clone()),
        ("Free round of campaign", round.campaign_id.clone()),
        ("Added to the jackpot", contribution),
        ("EUR for 1 of the currency", round.exchange_rate.clone()),
        ("Balance before", money(round.balance_before.as_ref())),
    ])
}

fn of_step(round: &Round, step: &Step) -> Markup {
    let drawn = match (info(round), &step.outcome, currency(round)) {
        (Some(info), Some(outcome), Some(currency)) => drawing(&draw::outcome(info, outcome, currency, false)),
        _ => plain("p", "This program doesn't have the model, and so no names for what the reels showed."),
    };
    let choice = step.choice.clone().unwrap_or_default();
    let seed = if step.seed.is_empty() { "shown when the round is over".to_owned() } else { hex(&step.seed) };
    let facts = facts(vec![
        ("Choice", chosen(&choice, step.automatic.as_ref())),
        ("Time", time(step.time.as_ref())),
        ("Log position", step.position.to_string()),
        ("Seed", seed),
        ("Win so far", money(step.win.as_ref())),
    ]);
    [drawn, facts].into_iter().collect()
}

fn end(round: &Round) -> Markup {
    let state = match round.state() {
        RoundState::Open => "open",
        RoundState::Settled => "settled",
        RoundState::Voided => "void",
        RoundState::Unspecified => "",
    };
    let mut rows = vec![
        ("State", state.to_owned()),
        ("Win", money(round.win.as_ref())),
        ("Balance after", money(round.balance_after.as_ref())),
    ];
    for JackpotWin { pool_id, hit_position, amount, .. } in &round.jackpots {
        let paid = amount.as_ref().map_or("the award is pending".to_owned(), cash);
        rows.push(("Jackpot", format!("{paid}, pool {pool_id}, hit at log position {hit_position}")));
    }
    if let Some(Void { reason, actor, refund, win_taken_back, win_left, position, time: at }) = &round.void {
        rows.extend([
            ("Voided by", actor.clone()),
            ("Reason", reason.clone()),
            ("Void at", format!("{}, log position {position}", time(at.as_ref()))),
            ("Refunded", money(refund.as_ref())),
            ("Win taken back", money(win_taken_back.as_ref())),
            ("Win left to the player", money(win_left.as_ref())),
        ]);
    }
    facts(rows)
}

fn info(round: &Round) -> Option<&'static GameInfo> {
    let game = game(&round.game, &round.rules_version)?;
    (hex(&game.model_hash()) == round.model_hash).then(|| game.info())
}

fn currency(round: &Round) -> Option<Currency> {
    round.account.as_ref()?.currency_code.parse().ok()
}

fn money(money: Option<&Money>) -> String {
    money.map(cash).unwrap_or_default()
}

/// A time as RFC 3339 writes it, in UTC.
fn time(time: Option<&prost_types::Timestamp>) -> String {
    time.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::{Account, Outcome, choice};

    fn cents(amount_minor: i64) -> Option<Money> {
        Some(Money { amount_minor, currency_code: "EUR".into() })
    }

    /// A round of a version that no program has, voided by somebody who typed markup.
    fn voided() -> Round {
        let kind = Some(choice::Kind::Collect(choice::Collect {}));
        let step = Step { number: 1, seed: vec![7; 32], choice: Some(Choice { kind }), ..Step::default() };
        Round {
            round_id: "demo/alice/17".into(),
            account: Some(Account { currency_code: "EUR".into(), ..Account::default() }),
            game: "bewitched".into(),
            rules_version: "0.0".into(),
            bet: cents(123_456),
            state: RoundState::Voided.into(),
            steps: vec![Step { outcome: Some(Outcome::default()), ..step }],
            void: Some(Void { actor: "<b>ann</b>".into(), refund: cents(123_456), ..Void::default() }),
            ..Round::default()
        }
    }

    #[test]
    fn pl_19_the_page_has_every_part_and_escapes_what_was_typed() {
        let page = page(&voided());
        assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
        let seed = "07".repeat(32);
        for part in [
            "<h1>Round demo/alice/17</h1>",
            "<h2>The bet</h2>",
            "1,234.56 EUR",
            "<h2>Step 1</h2>",
            &seed,
            "void",
            "&lt;b&gt;ann",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("http") && !page.contains("<script") && !page.contains("<b>"), "nothing is loaded");
    }

    #[test]
    fn np_12_an_open_round_shows_no_seed_on_its_page() {
        let mut round = voided();
        (round.state, round.void) = (RoundState::Open.into(), None);
        round.steps[0].seed.clear();
        assert!(page(&round).contains("shown when the round is over"));
    }

    #[test]
    fn pl_03_a_step_says_who_chose_it() {
        let collect = Choice { kind: Some(choice::Kind::Collect(choice::Collect {})) };
        let by = |cause: Cause| {
            let (actor, reason) = ("ann".to_owned(), "asked to".to_owned());
            chosen(&collect, Some(&Automatic { cause: cause.into(), actor, reason }))
        };
        assert_eq!(chosen(&collect, None), "the player collects");
        assert_eq!(by(Cause::Skipped), "the player skips, the game's rule collects");
        assert_eq!(by(Cause::TimeOver), "the player's time is over, the game's rule collects");
        assert_eq!(by(Cause::Closed), "ann closes (asked to), the game's rule collects");
    }
}
