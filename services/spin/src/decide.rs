use crate::{
    answer::Answer,
    automatic::{AutomaticStep, next_step},
    bet::{Bet, Move, Named},
    dealer::{Dealer, Dealing, Undecided, key_lost},
    debited::ConfirmedDebit,
    free_rounds::check_open,
    pace::{Now, Pace},
    play_rules::PlayRules,
    stake::{bet_in, offered, whole_bet},
    state::State,
};
use motherlode_ledger::{Proposal, fields::round_name, unknown_account, unknown_player};
use motherlode_proto::{convert::play::choice_to_wire, round::v1 as wire};
use motherlode_rounds::{
    Live, StepEvents, Unresolvable, collection, gamble_max_minor, minor_micros, shown, terms_to_log,
};
use motherlode_runtime::{Operators, Reason, Refusal};
use motherlode_slots::{Carried, Choice, ChoiceRefused, Game, Outcome, Stake, Terms};
use motherlode_state::{
    Automatic, CoinValue, Contribution, Currency, Event, FxRate, LoggedTerms, Minor, OpenRound, PlayerState,
    RoundStarted, RoundTerms, SmolStr, StepResolved, Switch, contribution,
};
use prost::Message;
use std::sync::Arc;

pub(crate) struct Draft<'a> {
    named: Named<'a>,
    state: &'a State,
    player: &'a PlayerState,
    pub(crate) started: Arc<RoundStarted>,
    open: Option<&'a OpenRound>,
    live: Live,
    events: Vec<Event>,
}

impl<'a> Draft<'a> {
    pub(crate) fn from_bet(
        state: &'a State,
        bet: &'a Bet,
        named: Named<'a>,
        rules: &PlayRules,
        (pace, now): (&Pace, Now),
        operators: &Operators,
    ) -> Result<Self, Refusal> {
        offered(bet.game, &bet.ladders, bet.account.currency, bet.coin_value, bet.campaign.is_some())?;
        if let Some(player) = &state.player {
            rules.seated(player, bet, now)?;
        }
        switched_on(state)?;
        let player = state.player.as_deref().ok_or_else(|| unknown_player(operators, named.stream))?;
        let currency = bet.account.currency;
        let balance = player.balance(currency).ok_or_else(unknown_account)?;
        let amount = whole_bet(currency, bet.coin_value, bet.coins)?;
        let game = bet.game.name();
        if let Some(open) = player.open_round_of(game, currency) {
            return Err(Refusal::new(
                Reason::RoundInProgress,
                "the player has an open round of this game: finish that round first",
            )
            .with("round_id", round_name(named.stream, open.started.round)));
        }
        let (picked, companion) = pick_companion(player, bet)?;
        match &bet.campaign {
            Some(campaign) => check_open(player.campaign(campaign), campaign, now.log_ms)?,
            None if balance < amount => return Err(insufficient(bet, balance, amount)),
            None => {}
        }
        let rate = state.rate(currency).ok_or_else(|| {
            Refusal::new(Reason::RateUnknown, "no exchange rate to EUR is set for the account's currency")
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
        let started = Arc::new(RoundStarted {
            round: player.rounds_started + 1,
            game: game.into(),
            rules_version: bet.game.rules_version().into(),
            model_hash: bet.game.model_hash(),
            currency,
            bet: amount,
            coin_value: bet.coin_value,
            stake: LoggedTerms::Terms(RoundTerms {
                witch: companion,
                ..terms_to_log(&bet.stake, &terms, bet.game.carries())
            }),
            rate,
            contribution,
            session: rules.session(),
            jurisdiction: rules.logged_jurisdiction(),
            campaign: bet.campaign.clone(),
        });
        let mut events = Vec::with_capacity(4);
        events.extend(bet.debited.as_ref().map(ConfirmedDebit::event));
        events.extend(picked);
        events.push(Event::RoundStarted(Arc::clone(&started)));
        Ok(Self { named, state, player, started, open: None, live, events })
    }

    fn from_round(
        state: &'a State,
        (player, open): (&'a PlayerState, &'a OpenRound),
        named: Named<'a>,
        dealer: &Dealer,
    ) -> Result<Self, Refusal> {
        let name = round_name(named.stream, open.started.round);
        let live = Live::rebuild(open, &name, &dealer.dealt_of(named.stream, &state.generations))
            .map_err(|error| unresolvable(&error, &name))?;
        let started = Arc::clone(&open.started);
        Ok(Self { named, state, player, started, open: Some(open), live, events: Vec::with_capacity(4) })
    }

    pub(crate) fn deal(&self, dealer: &Dealer) -> Result<Dealing, Undecided> {
        dealer.deal(self.player, &self.state.generations, self.named, (self.started.round, self.number()))
    }

    fn number(&self) -> u32 {
        self.open.map_or(1, next_step)
    }

    pub(crate) fn resolve(
        self,
        dealer: &Dealer,
        Dealing { seed, dealt, draw }: Dealing,
        (choice, automatic): (&Choice, Option<Automatic>),
        outcome: &mut Outcome,
    ) -> Result<(Proposal, Answer), Refusal> {
        let number = self.number();
        let Self { named, state, player, started, open, mut live, mut events } = self;
        let (stream, round) = (named.stream, started.round);
        live.resolve(choice, seed, outcome).map_err(|refused| match open {
            Some(_) => refused_choice(refused, &round_name(stream, round)),
            None => internal(&refused),
        })?;
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
            true => Some(dealer.revealed(stream, round, (open, &state.generations), dealt)?),
            false => None,
        };
        let step = StepResolved {
            round,
            step: number,
            seed: None,
            draw: Some(draw),
            choice: choice_to_wire(choice).encode_to_vec(),
            outcome: bytes,
            win: due.win,
            automatic,
        };
        let shown = match shown::adds(outcome, due.over) {
            true => {
                let mut shown = wire::Outcome::decode(step.outcome.as_slice()).map_err(|error| internal(&error))?;
                shown::add(live.game, outcome, &mut shown, due.over);
                Some(Box::new(shown))
            }
            false => None,
        };
        let answer = Answer::new(&started, &step, shown, due.over);
        events.push(Event::StepResolved(step.into()));
        due.add_to(round, started.contribution.as_ref().map(|given| given.pool.clone()), &mut events);
        events.extend(revealed);
        events.extend(with_series(named.series));
        let proposal = Proposal {
            stream: stream.clone(),
            expected_version: Some(player.head.version),
            request_id: named.request_id.clone(),
            fingerprint: named.fingerprint,
            events,
        };
        Ok((proposal, answer))
    }
}

pub(crate) fn with_series(series: Option<&SmolStr>) -> Option<Event> {
    series.map(|series| Event::PartOf { request_id: series.clone() })
}

fn switched_on(state: &State) -> Result<(), Refusal> {
    let Some((switch, off)) = &state.switched_off else { return Ok(()) };
    let reason = match switch {
        Switch { rules_version, .. } if !rules_version.is_empty() => Reason::VersionDisabled,
        Switch { game, .. } if !game.is_empty() => Reason::GameDisabled,
        Switch { operator, .. } if !operator.is_empty() => Reason::OperatorDisabled,
        _ => Reason::ServiceDisabled,
    };
    Err(Refusal::new(reason, format!("{switch} accepts no new rounds: {}", off.reason))
        .with("operator_id", &switch.operator)
        .with("game", &switch.game)
        .with("rules_version", &switch.rules_version)
        .with("reason", &off.reason)
        .with("position", off.position))
}

pub(crate) fn choose(
    state: &State,
    play: &Move,
    named: Named<'_>,
    dealer: &Dealer,
    outcome: &mut Outcome,
) -> Result<(Proposal, Answer), Undecided> {
    let name = round_name(named.stream, play.round.number);
    let player = state.player.as_deref().ok_or_else(|| motherlode_ledger::unknown_round(&name))?;
    let Some(open) = player.open_round(play.round.number) else {
        return Err(match play.round.number <= player.rounds_started {
            true => Refusal::new(Reason::AlreadySettled, "the round is not open").with("round_id", name),
            false => motherlode_ledger::unknown_round(&name),
        }
        .into());
    };
    let draft = Draft::from_round(state, (player, open), named, dealer)?;
    // A choice that the round does not await is refused, so that no draw is sealed for it.
    let dealing = match draft.deal(dealer) {
        Err(Undecided::Unsealed(..)) if draft.live.awaiting() != play.choice.awaited() => {
            let refused = ChoiceRefused::NotAwaited { awaiting: draft.live.awaiting() };
            return Err(refused_choice(refused, &name).into());
        }
        dealing => dealing?,
    };
    Ok(draft.resolve(dealer, dealing, (&play.choice, None), outcome)?)
}

pub(crate) fn automatic(state: &State, asked: &AutomaticStep, dealer: &Dealer) -> Option<Result<Proposal, Undecided>> {
    let player = state.player.as_deref()?;
    let open = player.open_round(asked.round.number)?;
    let why = (asked.why)(open)?;
    let decided = || {
        let draft = Draft::from_round(state, (player, open), asked.named(), dealer)?;
        let awaiting = draft.live.awaiting();
        let choice = draft.live.automatic().ok_or_else(|| internal(&ChoiceRefused::NotAwaited { awaiting }))?;
        let dealing = draft.deal(dealer)?;
        let (mut proposal, _) = draft.resolve(dealer, dealing, (&choice, Some(why)), &mut Outcome::default())?;
        proposal.events.extend(asked.acted.clone());
        Ok(proposal)
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

/// Returns an event if the bet picks a new companion, and the number of the round's companion (0 in games without
/// companions). A companion must be picked before the first spin (BW-05).
fn pick_companion(player: &PlayerState, bet: &Bet) -> Result<(Option<Event>, u32), Refusal> {
    if bet.game.info().companions.is_empty() {
        return Ok((None, 0));
    }
    let (remembered, game) = (collection::companion(player, bet.game), bet.game.name());
    let Some(companion) = bet.companion.or(remembered) else {
        return Err(Refusal::new(Reason::WitchNotPicked, "pick a witch before the first spin").with("game", game));
    };
    let picked = (remembered != Some(companion)).then(|| collection::pick_companion(game, companion));
    Ok((picked, u32::try_from(companion).unwrap_or_default()))
}

/// BW-29: the refusal states the minimum bet, which the balance may still cover.
fn insufficient(bet: &Bet, balance: Minor, amount: Minor) -> Refusal {
    Refusal::new(Reason::InsufficientFunds, "the balance is below the bet")
        .with("balance_minor", balance)
        .with("bet_minor", amount)
        .with("minimum_bet_minor", minimum_bet(bet).unwrap_or(amount))
        .with("currency_code", bet.account.currency)
}

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

/// Returns a bet's contribution; `None` if no pool is active (BW-20), in free rounds (PL-18) and for play money (PL-17).
fn pooled(state: &State, bet: &Bet, amount: Minor, rate: FxRate) -> Result<Option<Contribution>, Refusal> {
    if bet.campaign.is_some() || !bet.account.currency.is_real() {
        return Ok(None);
    }
    let Some((pool, terms)) = &state.pool else { return Ok(None) };
    let currency = bet.account.currency;
    if !rate.coin_within(bet.coin_value, terms.base_coin) {
        return Err(Refusal::new(
            Reason::InvalidStake,
            format!(
                "a coin of {} {currency} is worth more than {} EUR, the highest coin value for this jackpot",
                bet.coin_value, terms.base_coin
            ),
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

fn unresolvable(error: &Unresolvable, round: &str) -> Refusal {
    tracing::error!(round, %error, "cannot continue an open round");
    if matches!(error, Unresolvable::KeyLost { .. }) {
        return key_lost(round);
    }
    Refusal::new(Reason::ModelUnknown, error.to_string())
}

fn internal(error: &dyn std::error::Error) -> Refusal {
    Refusal::new(Reason::Internal, error.to_string())
}
