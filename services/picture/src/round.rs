//! Shows rounds as text or as a page (PL-19). User input (actor, reason) is escaped.

use crate::{
    draw,
    figures::{self, cash},
    markup::{self, table},
    reels, shelf, things,
};
use maud::{Markup, Render, html};
use motherlode_proto::{
    convert::play::hex,
    round::v1::{
        Automatic, CarriedFigure, Choice, JackpotWin, Money, Outcome, Prize, Round, RoundState, Step, Void,
        automatic::Cause, choice, jackpot_win, prize,
    },
};
use motherlode_slots::{GameInfo, game};
use motherlode_state::{Currency, Minor, is_visible};
use std::iter;

pub const MEDIA_TYPE: &str = "text/html; charset=utf-8";

#[derive(Debug, Clone)]
pub struct Section {
    pub title: String,
    pub drawing: String,
    /// Drawings for the web page, such as reel windows. The first section (the bet) also contains hidden definitions of
    /// the symbols that other sections use.
    pub picture: Markup,
    pub facts: Vec<(&'static str, String)>,
}

impl Section {
    fn new(title: impl Into<String>, drawing: String, facts: Vec<(&'static str, String)>) -> Self {
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        Self { title: title.into(), drawing, picture: Markup::default(), facts }
    }
}

/// Windows are drawn only if this program has the game.
#[must_use]
pub fn sections(round: &Round, colour: bool) -> Vec<Section> {
    sections_with(round, colour, &|_, _| None)
}

/// Returns a page's sections, in which each small window is a link. `opens` maps a step and window, both 0-based, to
/// the link.
#[must_use]
pub fn linked(round: &Round, opens: &dyn Fn(usize, usize) -> Option<String>) -> Vec<Section> {
    sections_with(round, false, opens)
}

fn sections_with(round: &Round, colour: bool, opens: &dyn Fn(usize, usize) -> Option<String>) -> Vec<Section> {
    let secured = secured(round);
    let shelves = info(round).map_or_else(Vec::new, |info| shelf::after_steps(info, round));
    let shelves = shelves.into_iter().chain(iter::repeat(Markup::default()));
    let steps = round.steps.iter().enumerate().zip(secured).zip(shelves).map(|(((at, step), secured), shelf)| {
        let of = of_step(round, step, secured, colour, &|window| opens(at, window));
        Section { picture: html! { (of.picture) (shelf) }, ..of }
    });
    [bet(round)].into_iter().chain(steps).chain([end(round)]).collect()
}

#[must_use]
pub fn page(round: &Round) -> String {
    page_of(&round.round_id, &sections(round, false))
}

#[must_use]
pub fn page_of(round_id: &str, sections: &[Section]) -> String {
    let title = format!("Round {round_id}");
    let main = html! {
        h1 { (title) }
        @for (at, Section { title, drawing, picture, facts }) in sections.iter().enumerate() {
            @let anchor = if at == 0 { "bet".to_owned() } else { format!("step-{at}") };
            section id=(anchor) {
                h2 { a href={ "#" (anchor) } { (title) } }
                (picture)
                @if !drawing.is_empty() { div.scroll { pre.drawing { (drawing.trim_matches('\n')) } } }
                div.facts { (table(&["", ""], facts.iter().map(|(what, value)| vec![what.render(), value.render()]))) }
            }
            "\n"
        }
    };
    markup::page(&title, &main)
}

#[must_use]
pub fn text_of(round_id: &str, sections: &[Section]) -> String {
    let mut text = format!("Round {round_id}\n");
    for Section { title, drawing, facts, .. } in sections {
        text += &format!("\n{title}\n{drawing}");
        let width = facts.iter().map(|(what, _)| what.chars().count()).max().unwrap_or_default();
        for (what, value) in facts {
            text += &format!("  {what:<width$}  {value}\n");
        }
    }
    text
}

#[must_use]
pub fn chosen(game: Option<&GameInfo>, choice: &Choice, automatic: Option<&Automatic>) -> String {
    let choice = draw::choice(game, choice);
    let Some(automatic) = automatic else { return format!("the player {choice}") };
    let Automatic { actor, reason, .. } = automatic;
    match automatic.cause() {
        Cause::Skipped => format!("the service {choice} by the game's rule, because the player skipped the choice"),
        Cause::TimeOver => format!("the service {choice} by the game's rule, because the player's time ran out"),
        Cause::Closed if actor.is_empty() => {
            format!("the service {choice} by the game's rule, because the operator closed the round")
        }
        Cause::Closed => {
            format!("the service {choice} by the game's rule, because {actor} closed the round ({reason})")
        }
        Cause::Unspecified => format!("the service {choice} by the game's rule"),
    }
}

fn bet(round: &Round) -> Section {
    let account = round.account.clone().unwrap_or_default();
    let currency = account.currency_code;
    let stake = round.stake.clone().unwrap_or_default();
    let bought = if stake.buy_feature { ", with bought feature" } else { "" };
    let contribution = match round.contribution_eur.as_str() {
        "" => "none".to_owned(),
        eur => format!("{} EUR", figures::grouped(eur)),
    };
    let info = info(round);
    let title = info.map_or_else(String::new, |info| format!(" ({})", info.title));
    let companion = info.and_then(|info| info.companion(round.witch.into()));
    let lines = if stake.lines == 1 { "line" } else { "lines" };
    let facts = vec![
        ("Operator", account.operator_id),
        ("Player", account.player_id),
        ("Game", format!("{} {}{title}", round.game, round.rules_version)),
        ("Model", round.model_hash.clone()),
        ("Time", time(round.start_time.as_ref())),
        ("Session", round.session_name.clone()),
        ("Jurisdiction", round.jurisdiction.clone()),
        (
            "Stake",
            format!(
                "{} {lines}, coins per line: {}, coin value: {} {currency}{bought}",
                stake.lines, stake.coins_per_line, stake.coin_value
            ),
        ),
        ("Witch", companion.map_or_else(String::new, |name| format!("the {name}"))),
        ("Player's progress before the round", carried(info, &round.carried, &currency)),
        ("Bet", money(round.bet.as_ref())),
        ("Free round of campaign", round.campaign_id.clone()),
        ("Added to the jackpot", contribution),
        ("Exchange rate to EUR", round.exchange_rate.clone()),
        ("Balance before", money(round.balance_before.as_ref())),
    ];
    let shown = round.steps.iter().filter_map(|step| step.outcome.as_ref());
    let picture = info.map_or_else(Markup::default, |info| {
        html! { (reels::symbols(&round.game, info, shown)) (shelf::shelf(info, &shelf::figures(&round.carried))) }
    });
    Section { picture, ..Section::new("The bet", String::new(), facts) }
}

fn of_step(
    round: &Round,
    step: &Step,
    secured: Option<Secured>,
    colour: bool,
    opens: &dyn Fn(usize) -> Option<String>,
) -> Section {
    let (info, currency) = (info(round), currency(round));
    let drawing = match (info, &step.outcome, currency) {
        (Some(info), Some(outcome), Some(currency)) => draw::outcome(info, outcome, currency, colour),
        _ => String::new(),
    };
    let drawn = match drawing.is_empty() {
        true => "no picture: this program lacks the version of the game that has the symbols' names",
        false => "",
    };
    let choice = step.choice.clone().unwrap_or_default();
    let seed = if step.seed.is_empty() { "shown when the round is over".to_owned() } else { hex(&step.seed) };
    let draw = step.draw.clone();
    let secured = match (secured, currency) {
        (Some(Secured { secured, at_risk }), Some(currency)) => {
            let cash = |minor: u64| figures::minor(Minor(i64::try_from(minor).unwrap_or(i64::MAX)), currency);
            format!("{}; {} stays at risk", cash(secured), cash(at_risk))
        }
        _ => String::new(),
    };
    let code = currency.map_or("", Currency::code);
    let facts = vec![
        ("Window", drawn.to_owned()),
        ("Choice", chosen(info, &choice, step.automatic.as_ref())),
        ("Reference", step.reference.clone()),
        (
            "The bonus gives",
            step.outcome.as_ref().and_then(|outcome| outcome.prize.as_ref()).map_or_else(String::new, given),
        ),
        ("Secured", secured),
        ("Time", time(step.time.as_ref())),
        ("Log position", step.position.to_string()),
        ("Seed", seed),
        ("Seal (hash of dealt value)", draw.as_ref().map_or_else(String::new, |draw| hex(&draw.seal))),
        ("Client seed", draw.as_ref().map_or_else(String::new, |draw| readable(&draw.client_seed))),
        ("Dealt value", draw.as_ref().map_or_else(String::new, |draw| hex(&draw.dealt))),
        ("Jackpot", jackpots(round, step)),
        ("Win of the step", of_step_alone(round, step)),
        ("Round's win so far", money(step.win.as_ref())),
        ("Balance before the step", money(step.balance_before.as_ref())),
        ("Balance after the step", money(step.balance_after.as_ref())),
        ("Player's progress after the step", carried(info, &step.carried, code)),
    ];
    let picture = match (info, &step.outcome) {
        (Some(info), Some(outcome)) => {
            html! { (reels::windows(info, outcome, opens)) (things::things(info, step.choice.as_ref(), outcome)) }
        }
        _ => Markup::default(),
    };
    Section { picture, ..Section::new(format!("Step {}", step.number), drawing, facts) }
}

fn given(prize: &Prize) -> String {
    match &prize.kind {
        Some(prize::Kind::Multiple(multiple)) => format!(
            "{} times the total bet: {}",
            figures::grouped(&multiple.to_string()),
            figures::counted(prize.coins, "coin")
        ),
        Some(prize::Kind::FreeSpins(spins)) => figures::counted((*spins).into(), "free spin"),
        Some(prize::Kind::Jackpot(_)) => "the progressive jackpot".to_owned(),
        None => String::new(),
    }
}

fn readable(client_seed: &[u8]) -> String {
    match std::str::from_utf8(client_seed) {
        Ok(text) if !text.is_empty() && text.chars().all(is_visible) => format!("{} ({text})", hex(client_seed)),
        _ => hex(client_seed),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Secured {
    secured: u64,
    at_risk: u64,
}

fn secured(round: &Round) -> Vec<Option<Secured>> {
    let mut at_risk = 0;
    let of_step = |step: &Step| {
        let outcome = step.outcome.as_ref();
        let halves = matches!(step.choice, Some(Choice { kind: Some(choice::Kind::Halve(_)) }));
        let halved = halves.then(|| {
            let left = at_risk / 2;
            let secured = at_risk - left;
            at_risk = left;
            Secured { secured, at_risk }
        });
        match outcome {
            Some(Outcome { card: Some(turn), .. }) => at_risk = turn.won_minor,
            Some(outcome) if !halves => at_risk = outcome.round_win_minor,
            _ => {}
        }
        halved
    };
    round.steps.iter().map(of_step).collect()
}

fn end(round: &Round) -> Section {
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
    rows.extend(round.jackpots.iter().map(|won| ("Jackpot", jackpot(won))));
    if let Some(Void { reason, actor, refund, win_taken_back, win_left, position, time: at, reference }) = &round.void {
        rows.extend([
            ("Voided by", actor.clone()),
            ("Reference", reference.clone()),
            ("Reason", reason.clone()),
            ("Void at", format!("{}, log position {position}", time(at.as_ref()))),
            ("Refunded", money(refund.as_ref())),
            ("Win taken back", money(win_taken_back.as_ref())),
            ("Win that the player keeps", money(win_left.as_ref())),
        ]);
    }
    Section::new("The end", String::new(), rows)
}

fn jackpot(won: &JackpotWin) -> String {
    let JackpotWin { pool_id, hit_position, amount, .. } = won;
    let paid = match (won.state(), amount) {
        (jackpot_win::State::SetAside, Some(amount)) => {
            format!("{}, set aside until it fits below the account's maximum balance", cash(amount))
        }
        (jackpot_win::State::Held, _) => {
            "the award is held until the platform decides whether to void the round".to_owned()
        }
        (jackpot_win::State::Voided, _) => "the award is not paid because the round is void".to_owned(),
        (_, Some(amount)) => cash(amount),
        (_, None) => "the award is pending".to_owned(),
    };
    format!("{paid}, pool {pool_id}, hit at log position {hit_position}")
}

fn of_step_alone(round: &Round, step: &Step) -> String {
    let minor = |of: Option<&Step>| of.and_then(|of| of.win.as_ref()).map_or(0, |win| win.amount_minor);
    let before = round.steps.iter().take_while(|of| of.number != step.number).last();
    let amount_minor = minor(Some(step)) - minor(before);
    let currency_code = step.win.clone().unwrap_or_default().currency_code;
    if amount_minor == 0 { String::new() } else { cash(&Money { amount_minor, currency_code }) }
}

fn jackpots(round: &Round, step: &Step) -> String {
    let hit = |won: &&JackpotWin| won.hit_position == step.position;
    round.jackpots.iter().filter(hit).map(jackpot).collect::<Vec<_>>().join("; ")
}

#[must_use]
pub fn info(round: &Round) -> Option<&'static GameInfo> {
    let game = game(&round.game, &round.rules_version)?;
    (hex(&game.model_hash()) == round.model_hash).then(|| game.info())
}

fn currency(round: &Round) -> Option<Currency> {
    round.account.as_ref()?.currency_code.parse().ok()
}

fn carried(info: Option<&GameInfo>, figures: &[CarriedFigure], currency: &str) -> String {
    info.map_or_else(String::new, |info| draw::changes(info, figures, currency))
}

fn money(money: Option<&Money>) -> String {
    money.map(cash).unwrap_or_default()
}

fn time(time: Option<&prost_types::Timestamp>) -> String {
    time.map(figures::time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1::{Account, Outcome, choice};

    fn cents(amount_minor: i64) -> Option<Money> {
        Some(Money { amount_minor, currency_code: "EUR".into() })
    }

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
            void: Some(Void {
                actor: "<b>ann</b>".into(),
                refund: cents(123_456),
                reference: "<i>7</i>".into(),
                ..Void::default()
            }),
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
            "<h2><a href=\"#bet\">The bet</a></h2>",
            "1,234.56 EUR",
            "<h2><a href=\"#step-1\">Step 1</a></h2>",
            &seed,
            "void",
            "&lt;b&gt;ann",
            "&lt;i&gt;7",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(!page.contains("http") && !page.contains("<script") && !page.contains("<b>"), "nothing is loaded");
    }

    #[test]
    fn pl_19_a_steps_money_and_its_jackpot_are_on_the_step() {
        let step = |number, win, position| Step { number, win: cents(win), position, ..Step::default() };
        let won = JackpotWin {
            pool_id: "bewitched".into(),
            hit_position: 9,
            amount: cents(1_234_567),
            ..JackpotWin::default()
        };
        let steps = vec![step(1, 500, 8), step(2, 500, 9), step(3, 0, 10)];
        let sections = sections(&Round { steps, jackpots: vec![won], ..voided() }, false);
        let fact =
            |at: usize, name: &str| sections[at].facts.iter().find(|fact| fact.0 == name).map(|fact| fact.1.as_str());
        let wins = [1, 2, 3].map(|at| fact(at, "Win of the step"));
        assert_eq!(wins, [Some("5.00 EUR"), None, Some("-5.00 EUR")], "the third step lost the win");
        let paid = Some("12,345.67 EUR, pool bewitched, hit at log position 9");
        assert_eq!([1, 2, 3].map(|at| fact(at, "Jackpot")), [None, paid, None]);
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
            chosen(None, &collect, Some(&Automatic { cause: cause.into(), actor, reason }))
        };
        assert_eq!(chosen(None, &collect, None), "the player collects");
        assert_eq!(
            by(Cause::Skipped),
            "the service collects by the game's rule, because the player skipped the choice"
        );
        assert_eq!(by(Cause::TimeOver), "the service collects by the game's rule, because the player's time ran out");
        assert_eq!(
            by(Cause::Closed),
            "the service collects by the game's rule, because ann closed the round (asked to)"
        );
    }
}
