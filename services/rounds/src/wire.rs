use crate::{
    award::Award,
    draws::StepDraw,
    view::{JackpotView, RoundView, StepView, VoidView},
};
use motherlode_proto::{
    convert::{event::automatic_to_wire, play::hex},
    round::v1::{Account, Awaiting, CarriedFigure, Draw, JackpotWin, Money, Round, Stake, Step, Void, jackpot_win},
};
use motherlode_state::{Currency, Minor, SmolStr, StreamId};
use prost_types::Timestamp;

#[must_use]
pub fn money(amount: Minor, currency: Currency) -> Money {
    Money { amount_minor: amount.0, currency_code: currency.code().to_owned() }
}

#[must_use]
pub fn timestamp(unix_ms: i64) -> Timestamp {
    let nanos = i32::try_from(unix_ms.rem_euclid(1000) * 1_000_000).unwrap_or_default();
    Timestamp { seconds: unix_ms.div_euclid(1000), nanos }
}

#[must_use]
pub fn account_of(stream: &StreamId, currency: Currency) -> Account {
    let (operator_id, player_id) = match stream {
        StreamId::Player { operator, player } => (operator.clone(), player.clone()),
        _ => Default::default(),
    };
    Account { operator_id: operator_id.into(), player_id: player_id.into(), currency_code: currency.code().to_owned() }
}

#[must_use]
pub fn jackpot(of: &JackpotView) -> JackpotWin {
    let (state, amount) = match of.award {
        Award::Pending => (jackpot_win::State::Pending, None),
        Award::Held => (jackpot_win::State::Held, None),
        Award::Voided => (jackpot_win::State::Voided, None),
        Award::SetAside(amount, currency) => (jackpot_win::State::SetAside, Some(money(amount, currency))),
        Award::Paid(amount, currency) => (jackpot_win::State::Paid, Some(money(amount, currency))),
    };
    JackpotWin { state: state.into(), pool_id: of.pool.to_string(), hit_position: of.hit, amount }
}

#[must_use]
pub fn round(view: RoundView, stream: &StreamId) -> Round {
    let currency = view.started.currency;
    let cash = |amount: Minor| Some(money(amount, currency));
    let awaiting = match (&view.voided, view.steps.last()) {
        (Some(_), _) => Awaiting::Nothing.into(),
        (None, Some(step)) => step.outcome.awaiting,
        (None, None) => Awaiting::Spin.into(),
    };
    let (state, win, carried) = (view.state(), view.win(), view.carried());
    let (balance_before, balance_after) = (view.balance_before, view.balance_after());
    let RoundView { name, started, terms, companion, time_ms, steps, credited, settled, voided, jackpots, .. } = view;
    let figure = |(key, value): (&str, i64)| CarriedFigure { key: key.to_owned(), value };
    Round {
        round_id: name,
        account: Some(account_of(stream, currency)),
        stake: Some(Stake {
            coin_value: started.coin_value.to_string(),
            lines: terms.lines,
            coins_per_line: terms.coins_per_line,
            buy_feature: terms.buy_feature,
        }),
        model_hash: hex(&started.model_hash),
        game: started.game.into(),
        rules_version: started.rules_version.into(),
        bet: cash(started.bet),
        win: cash(win),
        state: state.into(),
        awaiting,
        start_time: Some(timestamp(time_ms)),
        steps: steps.into_iter().map(|of| step(of, currency)).collect(),
        jackpots: jackpots.iter().map(jackpot).collect(),
        contribution_eur: started.contribution.map_or_else(String::new, |part| part.amount.to_string()),
        exchange_rate: if currency.is_real() { started.rate.to_string() } else { String::new() },
        balance_before: cash(balance_before),
        balance_after: cash(balance_after),
        session_name: started.session.map_or_else(String::new, |session| hex(&session)),
        jurisdiction: started.jurisdiction.into(),
        void: voided.map(|of| void(of, settled.unwrap_or(credited), currency)),
        campaign_id: started.campaign.unwrap_or_default().into(),
        witch: i32::try_from(companion).unwrap_or_default(),
        carried: carried.into_iter().map(figure).collect(),
        credited: Some(credited).filter(|credited| *credited > Minor::ZERO).and_then(cash),
        check_url: String::new(),
    }
}

fn step(of: StepView, currency: Currency) -> Step {
    let figure = |(key, value): &(SmolStr, i64)| CarriedFigure { key: key.to_string(), value: *value };
    Step {
        carried: of.collected().iter().map(figure).collect(),
        number: of.logged.step,
        position: of.position,
        seed: of.seed.map_or_else(Vec::new, |seed| seed.to_vec()),
        draw: of.draw.map(draw),
        choice: Some(of.choice),
        outcome: Some(of.outcome),
        win: Some(money(of.logged.win, currency)),
        time: Some(timestamp(of.time_ms)),
        automatic: of.logged.automatic.as_ref().map(automatic_to_wire),
        balance_before: Some(money(of.balance_before, currency)),
        balance_after: Some(money(of.balance_after, currency)),
        reference: of.reference,
    }
}

fn draw(of: StepDraw) -> Draw {
    let bytes = |bytes: Option<[u8; 32]>| bytes.map_or_else(Vec::new, |bytes| bytes.to_vec());
    Draw { number: of.name.number, client_seed: of.client_seed, seal: bytes(of.seal), dealt: bytes(of.dealt) }
}

fn void(of: VoidView, credited: Minor, currency: Currency) -> Void {
    Void {
        reason: of.reason,
        actor: of.actor,
        refund: Some(money(of.refund, currency)),
        win_taken_back: Some(money(of.win_taken_back, currency)),
        win_left: Some(money(Minor(credited.0.saturating_sub(of.win_taken_back.0)), currency)),
        position: of.position,
        time: Some(timestamp(of.time_ms)),
        reference: of.reference,
    }
}
