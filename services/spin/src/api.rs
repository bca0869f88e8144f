//! State of all calls, and the path of a step: decide, append, answer.

use crate::{
    answer::PlayedBytes,
    bet::{Bet, DrawnFor, Move},
    dealer::{Dealer, Undecided},
    debited::ConfirmedDebit,
    decide::{self, Drawing, PlayDecision},
    pace::{Now, Pace},
    play_rules::{PlayRules, not_held},
    registry::SessionRegistry,
    state::State,
    superseded,
    waits::Waits,
};
use motherlode_ledger::{AppendError, Ledgers, SupersededRules, fields::RoundId, offer};
use motherlode_proto::spin::v1::{ChooseRequest, SpinRequest};
use motherlode_runtime::{Caller, Profiles, Refusal, Stop};
use motherlode_slots::{Ladders, Outcome};
use motherlode_state::{Books, InternalRequest, Minor, Nano, Refused, SessionId, SessionLimits, StreamId};
use motherlode_wallet::Wallets;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tonic::metadata::MetadataMap;

#[derive(Clone)]
pub struct SpinApi {
    pub(crate) ledgers: Ledgers,
    pub(crate) dealer: Dealer,
    pub(crate) award_wait_max: Duration,
    pub(crate) stop: Stop,
    pub(crate) registry: SessionRegistry,
    pub(crate) pace: Pace,
    pub(crate) waits: Waits,
    pub(crate) demo_balance: Minor,
    pub(crate) ladders: Arc<Ladders>,
    pub(crate) superseded: SupersededRules,
    pub(crate) wallets: Wallets,
    /// In EUR (PL-36).
    pub(crate) campaign_caps: Arc<BTreeMap<String, Nano>>,
}

type Decide<'a> = dyn Fn(&State, &Drawing<'_>) -> Result<PlayDecision, Undecided> + Sync + 'a;

struct Named<'a> {
    stream: &'a StreamId,
    request_id: &'a str,
    fingerprint: [u8; 16],
    drawn: &'a DrawnFor,
}

impl SpinApi {
    /// Answers to jackpot hits wait up to `award_wait_max` for the award. After the stop, streams answer their open
    /// calls and end.
    #[must_use]
    pub fn new(ledgers: impl Into<Ledgers>, dealer: Dealer, award_wait_max: Duration, stop: Stop) -> Self {
        let ledgers = ledgers.into();
        let registry = SessionRegistry::new(ledgers.clone(), SessionLimits::default(), 1, Profiles::default());
        let demo_balance = Minor(100_000);
        Self {
            ledgers,
            dealer,
            award_wait_max,
            stop,
            registry,
            pace: Pace::default(),
            waits: Waits::default(),
            demo_balance,
            ladders: offer::standard(),
            superseded: SupersededRules::default(),
            wallets: Wallets::default(),
            campaign_caps: Arc::default(),
        }
    }

    #[must_use]
    pub fn with_sessions(self, limits: SessionLimits, operators: usize, profiles: Profiles) -> Self {
        Self { registry: SessionRegistry::new(self.ledgers.clone(), limits, operators, profiles), ..self }
    }

    /// The bet counts as an action in its session. Fails on a superseded version.
    pub(crate) fn rules_for(&self, bet: &Bet) -> Result<PlayRules, Refusal> {
        superseded::check(&self.superseded, bet)?;
        self.registry.rules_for(bet.session, &bet.account.stream, (bet.game.name(), bet.account.currency))
    }

    pub(crate) fn check_not_cancelled(&self, stream: &StreamId, request_id: &str) -> Result<(), Refusal> {
        // Callers' requests never have this fingerprint.
        match self.ledgers.for_stream(stream)?.find(stream, request_id, InternalRequest::FINGERPRINT) {
            Ok(_) | Err(AppendError::RequestIdReused { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn now(&self, stream: &StreamId) -> Result<Now, Refusal> {
        self.ledgers.for_stream(stream).map(Now::read)
    }

    #[must_use]
    pub fn with_waits(self, waits: Waits) -> Self {
        Self { waits, ..self }
    }

    #[must_use]
    pub fn with_ladders(self, ladders: Arc<Ladders>) -> Self {
        Self { ladders, ..self }
    }

    #[must_use]
    pub fn with_superseded(self, superseded: SupersededRules) -> Self {
        Self { superseded, ..self }
    }

    #[must_use]
    pub fn with_wallets(self, wallets: Wallets) -> Self {
        Self { wallets, ..self }
    }

    #[must_use]
    pub fn with_campaign_caps(self, caps: impl IntoIterator<Item = (String, Nano)>) -> Self {
        Self { campaign_caps: Arc::new(caps.into_iter().collect()), ..self }
    }

    #[must_use]
    pub fn with_demo_balance(self, demo_balance: Minor) -> Self {
        Self { demo_balance, ..self }
    }

    pub(crate) async fn spin(
        &self,
        caller: &Caller,
        request: &SpinRequest,
        metadata: &MetadataMap,
    ) -> Result<PlayedBytes, Refusal> {
        self.bet(&Bet::parse(caller, &self.ledgers, &self.ladders, request)?, metadata).await
    }

    pub(crate) async fn bet(&self, bet: &Bet, metadata: &MetadataMap) -> Result<PlayedBytes, Refusal> {
        if let Some(wallet) = self.wallets.for_stream(&bet.account.stream) {
            return self.bet_seamless(wallet, bet, metadata).await;
        }
        self.bet_here(bet, metadata, None).await
    }

    pub(crate) async fn bet_here(
        &self,
        bet: &Bet,
        metadata: &MetadataMap,
        debited: Option<ConfirmedDebit>,
    ) -> Result<PlayedBytes, Refusal> {
        let (rules, ledger) = (self.rules_for(bet), self.ledgers.for_stream(&bet.account.stream)?);
        let state = |books: &Books| State::of_bet(books, bet);
        let decide = |state: &State, from: &Drawing<'_>| {
            let rules = rules.as_ref().map_err(Clone::clone)?;
            let at = (&self.pace, Now::read(ledger));
            match &debited {
                None => decide::spin(state, bet, rules, at, from, &mut Outcome::default()),
                Some(debited) => debited.clone().spin(state, bet, rules, at, from),
            }
            .map(|mut decided| {
                decided.proposal.events.extend(self.noted(state, bet, debited.is_some()));
                decided
            })
        };
        let Bet { request_id, fingerprint, drawn, .. } = bet;
        let named = Named { stream: &bet.account.stream, request_id, fingerprint: *fingerprint, drawn };
        self.play(&named, metadata, (&state, &decide)).await
    }

    pub(crate) async fn choose(
        &self,
        caller: &Caller,
        request: &ChooseRequest,
        metadata: &MetadataMap,
    ) -> Result<PlayedBytes, Refusal> {
        let play = Move::parse(caller, request)?;
        self.move_on(&play, metadata).await
    }

    pub(crate) async fn move_on(&self, play: &Move, metadata: &MetadataMap) -> Result<PlayedBytes, Refusal> {
        let session = self.act(play.session, &play.round);
        let state = |books: &Books| State::of_player(books, &play.round.stream);
        let decide = |state: &State, from: &Drawing<'_>| {
            session.clone()?;
            decide::choose(state, play, from)
        };
        let Move { request_id, fingerprint, drawn, .. } = play;
        let named = Named { stream: &play.round.stream, request_id, fingerprint: *fingerprint, drawn };
        self.play(&named, metadata, (&state, &decide)).await
    }

    /// The session must allow it; without one, the game must not be held (BW-27).
    pub(crate) fn act(&self, session: Option<SessionId>, round: &RoundId) -> Result<(), Refusal> {
        let (stream, now) = (&round.stream, self.now(&round.stream)?);
        let game = self.ledgers.for_stream(stream)?.books_of(stream, |books| {
            let player = books.player(stream)?;
            let bet = &player.open_round(round.number)?.started;
            let held = not_held(player, &bet.game, bet.currency, now);
            Some((session.is_none().then_some(held), bet.game.clone(), bet.currency))
        })?;
        let game = match game {
            Some((Some(Err(held)), ..)) => return Err(held),
            game => game.map(|(_, game, currency)| (game, currency)),
        };
        self.registry.act(session, stream, game.as_ref().map(|(game, currency)| (game.as_str(), *currency)))
    }

    pub(crate) fn drawing<'a>(&'a self, client_seed: &'a [u8], drawn: &DrawnFor) -> Drawing<'a> {
        Drawing { dealer: &self.dealer, client_seed, sealed: drawn.sealed }
    }

    /// On a conflict it decides again with the same client seed, until the caller's deadline.
    async fn play(
        &self,
        named: &Named<'_>,
        metadata: &MetadataMap,
        (state, decide): (&(dyn Fn(&Books) -> State + Sync), &Decide<'_>),
    ) -> Result<PlayedBytes, Refusal> {
        let Named { stream, request_id, fingerprint, drawn } = *named;
        let ledger = self.ledgers.for_stream(stream)?;
        loop {
            let state = ledger.books_of(stream, state)?;
            let resolve = |client_seed: &[u8]| Some(decide(&state, &self.drawing(client_seed, drawn)).ok()?.proposal);
            let scripted = self.dealer.scripted_seed(metadata, &resolve)?;
            let client_seed = scripted.as_deref().unwrap_or(&drawn.client_seed);
            let decided = decide(&state, &self.drawing(client_seed, drawn));
            let (logged, answer) = match decided {
                Ok(PlayDecision { proposal, answer }) => match ledger.append(proposal).await {
                    Ok(logged) => (logged, Some(answer)),
                    Err(error) if is_stale(&error) => continue,
                    Err(error) => return Err(error.into()),
                },
                // A repetition is answered even if the request would be refused now.
                Err(undecided) => match (ledger.find(stream, request_id, fingerprint)?, undecided) {
                    (Some(logged), _) => (logged, None),
                    (None, Undecided::Refused(refusal)) => return Err(refusal),
                    (None, Undecided::Unsealed(number, reason)) => {
                        let player = state.player.as_ref().ok_or_else(motherlode_ledger::unknown_account)?;
                        self.dealer.seal_for(ledger, stream, player, (number, reason), drawn).await?;
                        continue;
                    }
                },
            };
            self.pace.taken(&logged.commit, || ledger.ticks_ms());
            return self.played(&logged, answer).await;
        }
    }
}

pub(crate) fn is_stale(error: &AppendError) -> bool {
    matches!(
        error,
        AppendError::Conflict { .. }
            | AppendError::Refused(
                Refused::WrongRate { .. }
                    | Refused::WrongTerms { .. }
                    | Refused::PoolStatus { .. }
                    | Refused::ContributionMissing { .. }
                    | Refused::SwitchedOff { .. }
                    | Refused::PastLimit { .. }
                    | Refused::SealOfOtherGeneration { .. }
                    | Refused::SealEnded { .. }
            )
    )
}
