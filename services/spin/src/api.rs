use crate::{
    answer::{Answer, PlayedBytes},
    bet::{Bet, DrawnFor, Named, Play},
    dealer::{Dealer, Undecided},
    decide::{self, Draft},
    pace::{Now, Pace},
    play_rules::{PlayRules, not_held},
    registry::SessionRegistry,
    state::State,
    superseded,
    waits::Waits,
};
use motherlode_ledger::{AppendError, Ledgers, Proposal, SupersededRules, fields::RoundId, offer};
use motherlode_runtime::{Profiles, Refusal, Stop};
use motherlode_slots::{Choice, Ladders, Outcome};
use motherlode_state::{InternalRequest, Minor, Refused, SessionId, SessionLimits, StreamId};
use motherlode_wallet::Wallets;
use std::{sync::Arc, time::Duration};
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
}

impl SpinApi {
    pub fn session_counter(&self) -> impl Fn() -> usize + Send + Sync + use<> {
        let sessions = Arc::clone(&self.registry.sessions);
        move || sessions.lock().len()
    }

    /// The answer to a round with a jackpot hit waits for the award, at most `award_wait_max`. At `stop`, streams
    /// answer the calls in progress and end.
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
        }
    }

    #[must_use]
    pub fn with_sessions(self, limits: SessionLimits, operators: usize, profiles: Profiles) -> Self {
        Self { registry: SessionRegistry::new(self.ledgers.clone(), limits, operators, profiles), ..self }
    }

    /// Returns the limits for a bet. The bet counts as activity in its session. Fails if the rules version is superseded.
    pub(crate) fn rules_for(&self, bet: &Bet) -> Result<PlayRules, Refusal> {
        superseded::check(&self.superseded, bet)?;
        self.registry.rules_for(bet.session, &bet.account.stream, (bet.game.name(), bet.account.currency))
    }

    pub(crate) fn check_not_cancelled(&self, stream: &StreamId, request_id: &str) -> Result<(), Refusal> {
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
    pub fn with_demo_balance(self, demo_balance: Minor) -> Self {
        Self { demo_balance, ..self }
    }

    pub(crate) fn debits(&self, play: &Play) -> bool {
        matches!(play, Play::Bet(bet) if self.wallets.for_stream(&bet.account.stream).is_some())
    }

    /// Returns whether no commit of the request is in the log. Call this before refusing a request, because a repeated
    /// request must get the original answer.
    pub(crate) fn is_new(&self, play: &Play) -> bool {
        let Named { stream, request_id, fingerprint, .. } = play.named();
        let ledger = self.ledgers.for_stream(stream);
        ledger.is_ok_and(|ledger| matches!(ledger.find(stream, request_id, fingerprint), Ok(None)))
    }

    pub(crate) async fn play(&self, play: &Play, metadata: &MetadataMap) -> Result<PlayedBytes, Refusal> {
        match (play, self.wallets.for_stream(play.named().stream)) {
            (Play::Bet(bet), Some(wallet)) => self.bet_seamless(&wallet, (play, bet), metadata).await,
            _ => self.play_here(play, metadata).await,
        }
    }

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

    pub(crate) fn decide(
        &self,
        play: &Play,
        named: Named<'_>,
        state: &State,
        outcome: &mut Outcome,
    ) -> Result<(Proposal, Answer), Undecided> {
        let (bet, dealer) = match play {
            Play::Bet(bet) => (bet, &self.dealer),
            Play::Move(play) => {
                self.act(play.session, &play.round)?;
                return decide::choose(state, play, named, &self.dealer, outcome);
            }
        };
        let (rules, now) = (self.rules_for(bet)?, self.now(named.stream)?);
        let draft = Draft::from_bet(state, bet, named, &rules, (&self.pace, now), self.ledgers.operators())?;
        let dealing = draft.deal(dealer)?;
        let (mut proposal, answer) = draft.resolve(dealer, dealing, (&Choice::Spin, None), outcome)?;
        proposal.events.extend(self.noted(state, bet));
        Ok((proposal, answer))
    }

    pub(crate) async fn play_here(&self, play: &Play, metadata: &MetadataMap) -> Result<PlayedBytes, Refusal> {
        let named @ Named { stream, request_id, fingerprint, drawn, .. } = play.named();
        let ledger = self.ledgers.for_stream(stream)?;
        loop {
            let state = ledger.books_of(stream, |books| State::of_play(books, play))?;
            let decide =
                |drawn: &DrawnFor| self.decide(play, Named { drawn, ..named }, &state, &mut Outcome::default());
            let seeded = |client_seed: &[u8]| DrawnFor { client_seed: client_seed.to_vec(), ..drawn.clone() };
            let resolve = |client_seed: &[u8]| Some(decide(&seeded(client_seed)).ok()?.0);
            let scripted = self.dealer.scripted_seed(metadata, &resolve)?;
            let decided = scripted.map_or_else(|| decide(drawn), |client_seed| decide(&seeded(&client_seed)));
            let (logged, answer) = match decided {
                Ok((proposal, answer)) => match ledger.append(proposal).await {
                    Ok(logged) => (logged, Some(answer)),
                    Err(error) if is_stale(&error) => continue,
                    Err(error) => return Err(error.into()),
                },
                // A repeated request is answered even if it would be refused now.
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
