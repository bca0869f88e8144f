//! The spin service as the calls share it: what it plays on, and how a step is decided, logged and answered.

use crate::{
    answer::PlayedBytes,
    bet::{Bet, DrawnFor, Move},
    dealer::{Dealer, Undecided},
    debited::Debited,
    decide::{self, Decided, Drawing},
    pace::{Now, Pace},
    play_rules::{PlayRules, not_held},
    registry::SessionRegistry,
    state::State,
    superseded,
    waits::Waits,
};
use motherlode_books::{Books, InternalRequest, Minor, Nano, Refused, SessionId, SessionLimits, StreamId};
use motherlode_ledger::{AppendError, Ledgers, SupersededRules, fields::RoundId, offer};
use motherlode_proto::spin::v1::{ChooseRequest, SpinRequest};
use motherlode_runtime::{Caller, Profiles, Refusal, Stop};
use motherlode_slots::{Ladders, Outcome};
use motherlode_wallet::Wallets;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tonic::metadata::MetadataMap;

/// The service.
#[derive(Clone)]
pub struct SpinApi {
    pub(crate) ledgers: Ledgers,
    pub(crate) dealer: Dealer,
    pub(crate) award_wait_max: Duration,
    pub(crate) stop: Stop,
    pub(crate) registry: SessionRegistry,
    pub(crate) pace: Pace,
    pub(crate) waits: Waits,
    /// A player's balance when demo play begins, in minor units of play money.
    pub(crate) demo_balance: Minor,
    /// Which currencies and coin values take bets.
    pub(crate) ladders: Arc<Ladders>,
    /// Superseded rules versions that take new bets (PL-41).
    pub(crate) superseded: SupersededRules,
    /// Of operators that keep their players' money.
    pub(crate) wallets: Wallets,
    /// The most that operators' open campaigns may cost, in EUR, by operator (PL-36); who isn't there has no such limit.
    pub(crate) campaign_caps: Arc<BTreeMap<String, Nano>>,
}

/// Decides a step with a draw.
type Decide<'a> = dyn Fn(&State, &Drawing<'_>) -> Result<Decided, Undecided> + Sync + 'a;

/// The request that is played: whose it is, its name, and what it says of its draw.
struct Named<'a> {
    stream: &'a StreamId,
    request_id: &'a str,
    fingerprint: [u8; 16],
    drawn: &'a DrawnFor,
}

impl SpinApi {
    /// Plays on the ledgers, with draws of a dealer; answers to hits wait for their award as long as said. At the stop
    /// streams take no more calls, answer those they have taken, and end.
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

    /// With other limits of sessions than the default, shared by so many operators, and with what jurisdictions and operators
    /// allow.
    #[must_use]
    pub fn with_sessions(self, limits: SessionLimits, operators: usize, profiles: Profiles) -> Self {
        Self { registry: SessionRegistry::new(self.ledgers.clone(), limits, operators, profiles), ..self }
    }

    /// The rules that a new bet is placed under; in a session it is an action of the session.
    ///
    /// # Errors
    /// The bet's rules version is superseded, or its session refuses it.
    pub(crate) fn rules_for(&self, bet: &Bet) -> Result<PlayRules, Refusal> {
        superseded::check(&self.superseded, bet)?;
        self.registry.rules_for(bet.session, &bet.account.stream, (bet.game.name(), bet.account.currency))
    }

    /// Refuses a request about a player that was cancelled.
    ///
    /// # Errors
    /// REQUEST_CANCELLED, or the log cannot be read.
    pub(crate) fn check_not_cancelled(&self, stream: &StreamId, request_id: &str) -> Result<(), Refusal> {
        // No request of a caller has this fingerprint.
        match self.ledgers.of(stream)?.find(stream, request_id, InternalRequest::FINGERPRINT) {
            Ok(_) | Err(AppendError::RequestIdReused { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The time where a stream lives.
    pub(crate) fn now(&self, stream: &StreamId) -> Result<Now, Refusal> {
        self.ledgers.of(stream).map(Now::of)
    }

    /// With other times to wait for players than the games' own.
    #[must_use]
    pub fn with_waits(self, waits: Waits) -> Self {
        Self { waits, ..self }
    }

    /// With other currencies and coin ladders than those that come with the games.
    #[must_use]
    pub fn with_ladders(self, ladders: Arc<Ladders>) -> Self {
        Self { ladders, ..self }
    }

    /// With superseded rules versions that take new bets (PL-41).
    #[must_use]
    pub fn with_superseded(self, superseded: SupersededRules) -> Self {
        Self { superseded, ..self }
    }

    /// With the wallets of operators that keep their players' money (PL-31).
    #[must_use]
    pub fn with_wallets(self, wallets: Wallets) -> Self {
        Self { wallets, ..self }
    }

    /// With caps on what operators' open campaigns may cost (PL-36).
    #[must_use]
    pub fn with_campaign_caps(self, caps: impl IntoIterator<Item = (String, Nano)>) -> Self {
        Self { campaign_caps: Arc::new(caps.into_iter().collect()), ..self }
    }

    /// With another balance of play money to begin demo play with than the default of 1,000.00.
    #[must_use]
    pub fn with_demo_balance(self, demo_balance: Minor) -> Self {
        Self { demo_balance, ..self }
    }

    /// Bets and spins.
    pub(crate) async fn spin(
        &self,
        caller: &Caller,
        request: &SpinRequest,
        metadata: &MetadataMap,
    ) -> Result<PlayedBytes, Refusal> {
        self.bet(&Bet::parse(caller, &self.ledgers, &self.ladders, request)?, metadata).await
    }

    /// Bets and spins, once checked.
    pub(crate) async fn bet(&self, bet: &Bet, metadata: &MetadataMap) -> Result<PlayedBytes, Refusal> {
        if let Some(wallet) = self.wallets.of(&bet.account.stream) {
            return self.bet_seamless(wallet, bet, metadata).await;
        }
        self.bet_here(bet, metadata, None).await
    }

    /// Bets with what is in the player's account, or with a debit that the operator's wallet has confirmed.
    pub(crate) async fn bet_here(
        &self,
        bet: &Bet,
        metadata: &MetadataMap,
        debited: Option<Debited>,
    ) -> Result<PlayedBytes, Refusal> {
        let (rules, ledger) = (self.rules_for(bet), self.ledgers.of(&bet.account.stream)?);
        let state = |books: &Books| State::of_bet(books, bet);
        let decide = |state: &State, from: &Drawing<'_>| {
            let rules = rules.as_ref().map_err(Clone::clone)?;
            let at = (&self.pace, Now::of(ledger));
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

    /// Goes on with a round.
    pub(crate) async fn choose(
        &self,
        caller: &Caller,
        request: &ChooseRequest,
        metadata: &MetadataMap,
    ) -> Result<PlayedBytes, Refusal> {
        let play = Move::parse(caller, request)?;
        self.move_on(&play, metadata).await
    }

    /// Goes on with a round, once checked.
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

    /// Admits a player's action in a round: by its session, if it names one; otherwise unless the game is held (BW-27).
    pub(crate) fn act(&self, session: Option<SessionId>, round: &RoundId) -> Result<(), Refusal> {
        let (stream, now) = (&round.stream, self.now(&round.stream)?);
        let game = self.ledgers.of(stream)?.books_of(stream, |books| {
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

    /// Copy the state out of the books, decide, append, answer; on a conflict again, with the same client seed. The caller's
    /// deadline bounds the tries.
    async fn play(
        &self,
        named: &Named<'_>,
        metadata: &MetadataMap,
        (state, decide): (&(dyn Fn(&Books) -> State + Sync), &Decide<'_>),
    ) -> Result<PlayedBytes, Refusal> {
        let Named { stream, request_id, fingerprint, drawn } = *named;
        let ledger = self.ledgers.of(stream)?;
        loop {
            let state = ledger.books_of(stream, state)?;
            let resolve = |client_seed: &[u8]| Some(decide(&state, &self.drawing(client_seed, drawn)).ok()?.proposal);
            let scripted = self.dealer.scripted_seed(metadata, &resolve)?;
            let client_seed = scripted.as_deref().unwrap_or(&drawn.client_seed);
            let decided = decide(&state, &self.drawing(client_seed, drawn));
            let (logged, answer) = match decided {
                Ok(Decided { proposal, answer }) => match ledger.append(proposal).await {
                    Ok(logged) => (logged, Some(answer)),
                    Err(error) if is_stale(&error) => continue,
                    Err(error) => return Err(error.into()),
                },
                // What was played once may be refused now: a repetition gets its answer all the same.
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

/// The player's state, a rate, a pool or a switch changed between the decision and its place in the log: decide again on
/// what is true there.
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
