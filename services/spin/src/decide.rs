//! From the player's state and a request to the events of one commit. Pure.

use crate::{
    answer::Answer,
    automatic::{AutomaticStep, next_step},
    bet::{Bet, Move},
    dealer::{Dealer, Dealing, DrawRequest, Undecided, key_lost},
    free_rounds::check_open,
    pace::{Now, Pace},
    play_rules::PlayRules,
    stake::{bet_in, offered, whole_bet},
    state::State,
};
use motherlode_ledger::{Proposal, fields::round_name};
use motherlode_proto::{convert::play::choice_to_wire, round::v1 as wire};
use motherlode_rounds::{
    Live, StepEvents, Unresolvable, collection, gamble_max_minor, minor_micros, shown, terms_to_log,
};
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::{Carried, Choice, ChoiceRefused, Game, Outcome, Stake, Terms};
use motherlode_state::{
    Automatic, CoinValue, Contribution, Currency, Event, FxRate, Generations, LoggedTerms, Minor, OpenRound,
    PlayerState, RoundStarted, RoundTerms, Seal, SmolStr, StepResolved, StreamId, Switch, contribution,
};
use prost::Message;

pub(crate) struct PlayDecision {
    pub(crate) proposal: Proposal,
    pub(crate) answer: Answer,
}

pub(crate) struct NewRound<'a> {
    player: &'a PlayerState,
    pub(crate) started: RoundStarted,
    live: Live,
    witch: Option<Event>,
}

pub(crate) fn spin(
    state: &State,
    bet: &Bet,
    rules: &PlayRules,
    at: (&Pace, Now),
    from: &Drawing<'_>,
    outcome: &mut Outcome,
) -> Result<PlayDecision, Undecided> {
    let stream = &bet.account.stream;
    let NewRound { player, started, mut live, witch } = open(state, bet, rules, at)?;
    let dealing =
        from.dealer.deal(player, &state.generations, &from.to(stream, &bet.request_id, (started.round, 1)))?;
    live.resolve(&Choice::Spin, dealing.seed, outcome).map_err(|refused| internal(&refused))?;
    let step = Step { number: 1, choice: &Choice::Spin, dealing, why: None };
    let (events, answer) =
        resolved(stream, player, &live, Of::Bet(started, witch), (step, from.dealer, &state.generations), outcome)?;
    let events = with_series(bet.series.as_ref(), events);
    Ok(PlayDecision { proposal: proposal(stream, player, &bet.request_id, bet.fingerprint, events), answer })
}

pub(crate) fn open<'a>(
    state: &'a State,
    bet: &Bet,
    rules: &PlayRules,
    (pace, now): (&Pace, Now),
) -> Result<NewRound<'a>, Refusal> {
    let stream = &bet.account.stream;
    offered(bet.game, &bet.ladders, bet.account.currency, bet.coin_value, bet.campaign.is_some())?;
    if let Some(player) = &state.player {
        rules.seated(player, bet, now)?;
    }
    switched_on(state)?;
    let player = state.player.as_ref().ok_or_else(motherlode_ledger::unknown_account)?;
    let currency = bet.account.currency;
    let balance = player.balance(currency).ok_or_else(motherlode_ledger::unknown_account)?;
    let amount = whole_bet(currency, bet.coin_value, bet.coins)?;
    let game = bet.game.name();
    if let Some(open) = player.open_round_of(game, currency) {
        return Err(Refusal::new(Reason::RoundInProgress, "the player has an open round of this game")
            .with("round_id", round_name(stream, open.started.round)));
    }
    let (witch, accompanied_by) = pick_witch(player, bet)?;
    match &bet.campaign {
        Some(campaign) => check_open(player.campaign(campaign), campaign, now.log_ms)?,
        None if balance < amount => return Err(insufficient(bet, balance, amount)),
        None => {}
    }
    let rate = state.rate(currency).ok_or_else(|| {
        Refusal::new(Reason::RateUnknown, "no exchange rate to EUR is set for this currency")
            .with("currency_code", currency)
    })?;
    rules.allow(state, player, bet, amount, (pace, now))?;
    let contribution = pooled(state, bet, amount, rate)?;
    let terms = Terms {
        jackpot: contribution.is_some(),
        double: bet.double,
        minor_micros: minor_micros(currency),
        gamble_max_minor: match bet.double {
            true => gamble_max_minor(bet.game, currency, rate).map_err(|error| internal(&error))?,
            false => 0,
        },
        carried: carried(player, bet.game, currency, amount),
    };
    let live = Live::begin(bet.game, bet.stake, terms).map_err(|refused| internal(&refused))?;
    let started = RoundStarted {
        round: player.rounds_started + 1,
        game: game.into(),
        rules_version: bet.game.rules_version().into(),
        model_hash: bet.game.model_hash(),
        currency,
        bet: amount,
        coin_value: bet.coin_value,
        stake: LoggedTerms::Terms(RoundTerms {
            witch: accompanied_by,
            ..terms_to_log(&bet.stake, &terms, bet.game.carries())
        }),
        rate,
        contribution,
        session: rules.session(),
        jurisdiction: rules.logged_jurisdiction(),
        campaign: bet.campaign.clone(),
    };
    Ok(NewRound { player, started, live, witch })
}

/// Adds the commit's series (PL-42).
pub(crate) fn with_series(series: Option<&SmolStr>, mut events: Vec<Event>) -> Vec<Event> {
    events.extend(series.map(|series| Event::PartOf { request_id: series.clone() }));
    events
}

fn proposal(
    stream: &StreamId,
    player: &PlayerState,
    request_id: &SmolStr,
    fingerprint: [u8; 16],
    events: Vec<Event>,
) -> Proposal {
    let (stream, expected_version) = (stream.clone(), Some(player.head.version));
    Proposal { stream, expected_version, request_id: request_id.clone(), fingerprint, events }
}

/// The refusal names the switch that is off (PL-25).
fn switched_on(state: &State) -> Result<(), Refusal> {
    let Some((switch, off)) = &state.switched_off else { return Ok(()) };
    let reason = match switch {
        Switch { rules_version, .. } if !rules_version.is_empty() => Reason::VersionDisabled,
        Switch { game, .. } if !game.is_empty() => Reason::GameDisabled,
        Switch { operator, .. } if !operator.is_empty() => Reason::OperatorDisabled,
        _ => Reason::ServiceDisabled,
    };
    Err(Refusal::new(reason, format!("{switch} takes no new rounds: {}", off.reason))
        .with("operator_id", &switch.operator)
        .with("game", &switch.game)
        .with("rules_version", &switch.rules_version)
        .with("reason", &off.reason)
        .with("position", off.position))
}

pub(crate) fn choose(state: &State, play: &Move, from: &Drawing<'_>) -> Result<PlayDecision, Undecided> {
    let stream = &play.round.stream;
    let name = round_name(stream, play.round.number);
    let player = state.player.as_ref().ok_or_else(|| motherlode_ledger::unknown_round(&name))?;
    let Some(open) = player.open_round(play.round.number) else {
        return Err(match play.round.number <= player.rounds_started {
            true => Refusal::new(Reason::AlreadySettled, "the round is not open").with("round_id", name),
            false => motherlode_ledger::unknown_round(&name),
        }
        .into());
    };
    let dealt_of = from.dealer.dealt_of(stream, &state.generations);
    let mut live = Live::rebuild(open, &name, &dealt_of).map_err(|error| unresolvable(&error, &name))?;
    let number = next_step(open);
    // A choice that is not awaited is refused, not sealed.
    let dealing =
        from.dealer.deal(player, &state.generations, &from.to(stream, &play.request_id, (play.round.number, number)));
    let dealing = match dealing {
        Err(Undecided::Unsealed(..)) if live.awaiting() != play.choice.awaited() => {
            let refused = ChoiceRefused::NotAwaited { awaiting: live.awaiting() };
            return Err(refused_choice(refused, &name).into());
        }
        dealing => dealing?,
    };
    let mut outcome = Outcome::default();
    live.resolve(&play.choice, dealing.seed, &mut outcome).map_err(|refused| refused_choice(refused, &name))?;
    let step = Step { number, choice: &play.choice, dealing, why: None };
    let (events, answer) =
        resolved(stream, player, &live, Of::Open(open), (step, from.dealer, &state.generations), &outcome)?;
    let events = with_series(play.series.as_ref(), events);
    Ok(PlayDecision { proposal: proposal(stream, player, &play.request_id, play.fingerprint, events), answer })
}

/// By the game's rule; `None` without an open round or a reason.
pub(crate) fn automatic(
    state: &State,
    asked: &AutomaticStep,
    dealer: &Dealer,
) -> Option<Result<PlayDecision, Undecided>> {
    let stream = &asked.round.stream;
    let player = state.player.as_ref()?;
    let open = player.open_round(asked.round.number)?;
    let why = (asked.why)(open)?;
    let decided = || {
        let name = round_name(stream, asked.round.number);
        let mut live = Live::rebuild(open, &name, &dealer.dealt_of(stream, &state.generations))
            .map_err(|error| unresolvable(&error, &name))?;
        let choice =
            live.automatic().ok_or_else(|| internal(&ChoiceRefused::NotAwaited { awaiting: live.awaiting() }))?;
        let mut outcome = Outcome::default();
        let (from, number) = (Drawing { dealer, client_seed: &[], sealed: None }, next_step(open));
        let dealing = dealer.deal(
            player,
            &state.generations,
            &from.to(stream, &asked.request_id, (asked.round.number, number)),
        )?;
        live.resolve(&choice, dealing.seed, &mut outcome).map_err(|refused| internal(&refused))?;
        let step = Step { number, choice: &choice, dealing, why: Some(why) };
        let (mut events, answer) =
            resolved(stream, player, &live, Of::Open(open), (step, dealer, &state.generations), &outcome)?;
        events.extend(asked.acted.clone());
        Ok(PlayDecision { proposal: proposal(stream, player, &asked.request_id, asked.fingerprint, events), answer })
    };
    Some(decided())
}

fn carried(player: &PlayerState, game: &dyn Game, currency: Currency, bet: Minor) -> Carried {
    match game.carries().keys {
        [] => Carried::default(),
        _ => {
            let scope = collection::scope(game, currency, bet);
            collection::carried_by(game, player, &scope)
        }
    }
}

struct Step<'a> {
    number: u32,
    choice: &'a Choice,
    dealing: Dealing,
    why: Option<Automatic>,
}

#[allow(clippy::large_enum_variant, reason = "most steps are of a bet")]
enum Of<'a> {
    Bet(RoundStarted, Option<Event>),
    Open(&'a OpenRound),
}

pub(crate) struct Drawing<'a> {
    pub(crate) dealer: &'a Dealer,
    pub(crate) client_seed: &'a [u8],
    pub(crate) sealed: Option<Seal>,
}

impl Drawing<'_> {
    pub(crate) fn to<'a>(
        &'a self,
        stream: &'a StreamId,
        request_id: &'a str,
        (round, step): (u64, u32),
    ) -> DrawRequest<'a> {
        DrawRequest { stream, request_id, round, step, client_seed: self.client_seed, sealed: self.sealed }
    }
}

fn resolved(
    stream: &StreamId,
    player: &PlayerState,
    live: &Live,
    of: Of<'_>,
    (step, dealer, generations): (Step, &Dealer, &Generations),
    outcome: &Outcome,
) -> Result<(Vec<Event>, Answer), Refusal> {
    let (started, earlier) = match &of {
        Of::Bet(started, _) => (started, None),
        Of::Open(open) => (&*open.started, Some(*open)),
    };
    let round = started.round;
    let collection = outcome.carried.and_then(|after| {
        let scope = collection::scope(live.game, started.currency, started.bet);
        let before = collection::carried_by(live.game, player, &scope);
        collection::change(live.game, &scope, &before, &after)
    });
    let due = StepEvents::from_outcome(outcome, started.contribution.is_some(), collection)
        .map_err(|error| internal(&error))?;
    let mut bytes = Vec::with_capacity(128);
    live.write(outcome, &mut bytes);
    let revealed = match due.over {
        true => Some(dealer.revealed(stream, round, (earlier, generations), step.dealing.dealt)?),
        false => None,
    };
    let Step { number, choice, dealing: Dealing { draw, .. }, why } = step;
    let step = StepResolved {
        round,
        step: number,
        seed: None,
        draw: Some(draw),
        choice: choice_to_wire(choice).encode_to_vec(),
        outcome: bytes,
        win: due.win,
        automatic: why,
    };
    let shown = match shown::adds(outcome, due.over) {
        true => {
            let mut shown = wire::Outcome::decode(step.outcome.as_slice()).map_err(|error| internal(&error))?;
            shown::add(live.game, outcome, &mut shown, due.over);
            Some(Box::new(shown))
        }
        false => None,
    };
    let answer = Answer::new(started, &step, shown, due.over);
    let pool = started.contribution.as_ref().map(|given| given.pool.clone());
    let mut events = Vec::with_capacity(4);
    if let Of::Bet(started, witch) = of {
        events.extend(witch);
        events.push(Event::RoundStarted(started.into()));
    }
    events.push(Event::StepResolved(step.into()));
    due.add_to(round, pool, &mut events);
    events.extend(revealed);
    Ok((events, answer))
}

/// Returns a new pick's event and the round's witch, 0 in games without witches. A pick is required before the first
/// spin (BW-05).
fn pick_witch(player: &PlayerState, bet: &Bet) -> Result<(Option<Event>, u32), Refusal> {
    if !bet.game.info().witches {
        return Ok((None, 0));
    }
    let remembered = collection::witch(player, bet.game);
    let Some(witch) = bet.witch.or(remembered) else {
        let game = bet.game.name();
        return Err(Refusal::new(Reason::WitchNotPicked, "pick a witch before the first spin").with("game", game));
    };
    let pick = (remembered != Some(witch)).then(|| collection::pick_witch(bet.game, witch));
    Ok((pick, u32::try_from(witch).unwrap_or_default()))
}

/// BW-29: the refusal has the minimum bet, which the balance may cover.
fn insufficient(bet: &Bet, balance: Minor, amount: Minor) -> Refusal {
    Refusal::new(Reason::InsufficientFunds, "the balance is below the bet")
        .with("balance_minor", balance)
        .with("bet_minor", amount)
        .with("minimum_bet_minor", minimum_bet(bet).unwrap_or(amount))
        .with("currency_code", bet.account.currency)
}

/// `None` if the game is no longer offered.
pub(crate) fn minimum_bet(bet: &Bet) -> Option<Minor> {
    let currency = bet.account.currency;
    let limits = &bet.game.info().limits;
    let coins = bet.ladders.for_game(bet.game, currency.code()).map_or_else(Vec::new, |ladder| ladder.coins_micros);
    let bets = coins.into_iter().filter_map(|coin| {
        let (lines, coins_per_line) = (limits.lines.0, limits.coins_per_line.0);
        let stake = Stake { coin_value_micros: coin, lines, coins_per_line, buy_feature: false };
        bet_in(currency, CoinValue(coin), bet.game.check_stake(&stake).ok()?)
    });
    bets.min()
}

/// `None` without an active pool (BW-20), in free rounds (PL-18) and play money (PL-17).
fn pooled(state: &State, bet: &Bet, amount: Minor, rate: FxRate) -> Result<Option<Contribution>, Refusal> {
    if bet.campaign.is_some() || !bet.account.currency.is_real() {
        return Ok(None);
    }
    let Some((pool, terms)) = &state.pool else { return Ok(None) };
    let currency = bet.account.currency;
    if !rate.coin_within(bet.coin_value, terms.base_coin) {
        return Err(Refusal::new(
            Reason::InvalidStake,
            format!("a coin of {} {currency} is worth more than the pool's {} EUR", bet.coin_value, terms.base_coin),
        ));
    }
    let amount = contribution(amount, currency, rate, terms.contribution_ppm).map_err(|refused| internal(&refused))?;
    Ok(Some(Contribution { pool: SmolStr::new(pool), terms_version: terms.version, amount }))
}

fn refused_choice(refused: ChoiceRefused, round: &str) -> Refusal {
    match refused {
        ChoiceRefused::NotAwaited { awaiting } => {
            Refusal::new(Reason::ChoiceNotAwaited, refused.to_string()).with("awaiting", format!("{awaiting:?}"))
        }
        _ => Refusal::field("choice", refused.to_string()),
    }
    .with("round_id", round)
}

/// PL-01: this binary lacks a played version.
fn unresolvable(error: &Unresolvable, round: &str) -> Refusal {
    tracing::error!(round, %error, "an open round cannot be continued");
    if matches!(error, Unresolvable::KeyLost { .. }) {
        return key_lost(round);
    }
    Refusal::new(Reason::ModelUnknown, error.to_string())
}

fn internal(error: &dyn std::error::Error) -> Refusal {
    Refusal::new(Reason::Internal, error.to_string())
}
