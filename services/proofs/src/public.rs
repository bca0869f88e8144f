use motherlode_proto::round::v1::{Account, Automatic, Round, RoundState, Step, Void};
use motherlode_runtime::{Reason, Refusal};

/// Returns the same refusal for missing rounds, open rounds and wrong link keys, to hide which rounds exist.
pub(crate) fn unknown_round() -> Refusal {
    Refusal::new(Reason::RoundUnknown, "there is no such round, or the link is incomplete")
}

/// Returns the round without balances, session, actors, remarks and the operator's costs; `None` if the round is open.
/// The function lists every field, so that the author of a new field must decide here whether it is public.
pub(crate) fn without_private_fields(round: Round) -> Option<Round> {
    let ended = matches!(round.state(), RoundState::Settled | RoundState::Voided);
    let Round {
        round_id,
        account,
        game,
        rules_version,
        model_hash,
        stake,
        bet,
        win,
        state,
        awaiting,
        start_time,
        steps,
        jackpots,
        contribution_eur: _,
        exchange_rate: _,
        balance_before: _,
        balance_after: _,
        session_name: _,
        jurisdiction: _,
        void,
        campaign_id: _,
        witch,
        carried,
        credited,
        check_url: _,
    } = round;
    let public = Round {
        round_id,
        account: account.map(|of| Account { currency_code: of.currency_code, ..Account::default() }),
        game,
        rules_version,
        model_hash,
        stake,
        bet,
        win,
        state,
        awaiting,
        start_time,
        steps: steps.into_iter().map(step).collect(),
        jackpots,
        void: void.map(voided),
        witch,
        carried,
        credited,
        ..Round::default()
    };
    ended.then_some(public)
}

fn step(step: Step) -> Step {
    let Step {
        number,
        position,
        seed,
        choice,
        outcome,
        win,
        time,
        automatic,
        balance_before: _,
        balance_after: _,
        carried,
        reference: _,
        draw,
    } = step;
    let automatic = automatic.map(|of| Automatic { cause: of.cause, ..Automatic::default() });
    Step { number, position, seed, choice, outcome, win, time, automatic, carried, draw, ..Step::default() }
}

fn voided(void: Void) -> Void {
    let Void { reason: _, actor: _, refund, win_taken_back, win_left: _, position, time, reference: _ } = void;
    Void { refund, win_taken_back, position, time, ..Void::default() }
}
