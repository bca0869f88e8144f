//! A replayed round as the message that `GetRound` answers with: so that both are shown by the same code.

use motherlode_audit::{Replayed, ReplayedStep, ReplayedVoid};
use motherlode_books::{Currency, Minor, StreamId};
use motherlode_proto::{
    convert::{event::automatic_to_wire, play::hex, shown},
    round::v1::{
        Account, Awaiting, CarriedFigure, JackpotWin, Money, Round, RoundState, Stake, Step, Void, jackpot_win,
    },
};
use motherlode_slots::game;
use prost_types::Timestamp;

/// The round. Its steps' outcomes are those of the replay.
pub(super) fn round(name: &str, stream: &StreamId, replayed: &Replayed) -> Round {
    let Replayed { started, terms, voided, settled, .. } = replayed;
    let currency = started.currency;
    let cash = |amount: Minor| Some(money(amount, currency));
    let (operator_id, player_id) = match stream {
        StreamId::Player { operator, player } => (operator.to_string(), player.to_string()),
        _ => Default::default(),
    };
    let mut round = Round {
        round_id: name.to_owned(),
        account: Some(Account { operator_id, player_id, currency_code: currency.code().to_owned() }),
        game: started.game.clone(),
        rules_version: started.rules_version.clone(),
        model_hash: hex(&started.model_hash),
        stake: Some(Stake {
            coin_value: started.coin_value.to_string(),
            lines: terms.lines,
            coins_per_line: terms.coins_per_line,
            buy_feature: terms.buy_feature,
        }),
        bet: cash(started.bet),
        win: cash(replayed.steps.last().map_or(Minor::ZERO, |step| step.logged.win)),
        state: match (voided, settled) {
            (Some(_), _) => RoundState::Voided,
            (None, Some(_)) => RoundState::Settled,
            (None, None) => RoundState::Open,
        }
        .into(),
        awaiting: replayed.steps.last().map_or(Awaiting::Spin.into(), |step| step.outcome.awaiting),
        start_time: Some(timestamp(replayed.time_ms)),
        steps: replayed.steps.iter().map(|of| step(of, currency)).collect(),
        jackpots: vec![],
        contribution_eur: started.contribution.as_ref().map_or_else(String::new, |part| part.amount.to_string()),
        exchange_rate: if currency.is_real() { started.rate.to_string() } else { String::new() },
        balance_before: cash(replayed.balance_before),
        balance_after: cash(replayed.steps.last().map_or(replayed.balance_before, |step| step.balance_after)),
        session_name: started.session.map_or_else(String::new, |session| hex(&session)),
        jurisdiction: started.jurisdiction.clone(),
        void: voided.as_ref().map(|void| of_void(void, settled.unwrap_or(replayed.credited), currency)),
        campaign_id: started.campaign.clone().unwrap_or_default(),
        witch: i32::try_from(replayed.witch).unwrap_or_default(),
        carried: carried(replayed),
        credited: Some(replayed.credited).filter(|credited| *credited > Minor::ZERO).and_then(cash),
    };
    for jackpot in &replayed.jackpots {
        let state = match (jackpot.paid, jackpot.set_aside) {
            (Some(_), _) => jackpot_win::State::Paid,
            (None, Some(_)) => jackpot_win::State::SetAside,
            (None, None) => jackpot_win::State::Pending,
        };
        let amount = jackpot.paid.or(jackpot.set_aside).map(|(amount, currency, _)| money(amount, currency));
        let (pool_id, hit_position) = (jackpot.pool.clone(), jackpot.hit);
        round.jackpots.push(JackpotWin { state: state.into(), pool_id, hit_position, amount });
    }
    if let Some(void) = voided {
        round.balance_after = cash(void.balance_after);
        round.awaiting = Awaiting::Nothing.into();
    }
    complete(&mut round, replayed);
    round
}

/// Adds what only resolving the round again tells. A step that cannot be resolved has its verdict; nothing is added then.
fn complete(round: &mut Round, replayed: &Replayed) {
    let over = round.state() != RoundState::Open;
    let outcomes = round.steps.iter_mut().filter_map(|step| step.outcome.as_mut());
    let steps = replayed.steps.iter().map(|step| &step.logged).zip(outcomes);
    let _ = shown::complete(&replayed.started, steps, over);
}

/// What the replay of a step came to.
pub(super) fn verdict(step: &ReplayedStep) -> String {
    match &step.differs {
        None => format!("gives the logged {} bytes", step.logged.outcome.len()),
        Some(how) => format!("DIFFERS in {how}"),
    }
}

fn step(of: &ReplayedStep, currency: Currency) -> Step {
    Step {
        number: of.logged.step,
        position: of.position,
        seed: of.logged.seed.to_vec(),
        choice: Some(of.choice.clone()),
        outcome: Some(of.outcome.clone()),
        win: Some(money(of.logged.win, currency)),
        time: Some(timestamp(of.time_ms)),
        automatic: of.logged.automatic.as_ref().map(automatic_to_wire),
        balance_before: Some(money(of.balance_before, currency)),
        balance_after: Some(money(of.balance_after, currency)),
        reference: of.reference.clone(),
        carried: of.collected.iter().map(|(key, value)| CarriedFigure { key: key.clone(), value: *value }).collect(),
    }
}

fn of_void(void: &ReplayedVoid, settled: Minor, currency: Currency) -> Void {
    Void {
        reason: void.reason.clone(),
        actor: void.actor.clone(),
        refund: Some(money(void.refund, currency)),
        win_taken_back: Some(money(void.win_taken_back, currency)),
        win_left: Some(money(Minor(settled.0 - void.win_taken_back.0), currency)),
        position: void.position,
        time: Some(timestamp(void.time_ms)),
        reference: void.reference.clone(),
    }
}

/// What the player carried into the round.
fn carried(replayed: &Replayed) -> Vec<CarriedFigure> {
    let known = game(&replayed.started.game, &replayed.started.rules_version);
    let keys = known.map_or(&[][..], |game| game.carries().keys);
    let figures = keys.iter().zip(&replayed.terms.carried).filter(|(_, value)| **value != 0);
    figures.map(|(key, value)| CarriedFigure { key: (*key).to_owned(), value: *value }).collect()
}

fn money(amount: Minor, currency: Currency) -> Money {
    Money { amount_minor: amount.0, currency_code: currency.code().to_owned() }
}

fn timestamp(unix_ms: i64) -> Timestamp {
    let nanos = i32::try_from(unix_ms.rem_euclid(1_000) * 1_000_000).unwrap_or_default();
    Timestamp { seconds: unix_ms.div_euclid(1_000), nanos }
}
