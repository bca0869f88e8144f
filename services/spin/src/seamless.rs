//! Bets paid from an operator's own wallet (PL-31).
//!
//! After the checks, the debit request is logged and the wallet called. A draw requires a confirmed debit, which the
//! round's commit records. If the outcome of the call is unknown, nothing is drawn: either a repeated request repeats
//! the transaction, or the [outbox](motherlode_wallet::WalletOutbox) rolls the debit back. The log accepts one commit
//! per request, so either the bet or the rollback takes effect, never both.

use crate::{
    answer::PlayedBytes,
    api::SpinApi,
    bet::{Bet, Play},
    dealer::Undecided,
    debited::ConfirmedDebit,
    decide::{self, Draft, with_series},
    pace::Now,
    play_rules::PlayRules,
    session::of_operator,
    state::State,
};
use motherlode_ledger::{AppendError, Handle, Proposal};
use motherlode_proto::convert::record::Logged;
use motherlode_runtime::{Reason, Refusal, until::until};
use motherlode_state::{
    Books, DebitAsked, DebitFacts, Event, InternalRequest, Minor, PlayerState, Refused, RoundStarted, SmolStr,
};
use motherlode_wallet::{Answer, Call, Names, OperatorWallet, roll_back};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep, sleep_until},
};
use tonic::{Code, metadata::MetadataMap};

const WAIT_MAX: Duration = Duration::from_secs(10);

/// Minimum time between the end of the last call to the wallet and the caller's deadline.
const MARGIN: Duration = Duration::from_millis(200);

const PAUSE_MS: (u64, u64) = (20, 3200);

const PAUSE_MS_MIN: u64 = 5;

/// Interval between checks of whether the log still awaits the debit.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Exponential backoff with full jitter.
fn pause(calls: u32, random: u16) -> Duration {
    let (first, longest) = PAUSE_MS;
    let bound = first.saturating_mul(1 << calls.min(16)).min(longest);
    Duration::from_millis((bound * u64::from(random) / u64::from(u16::MAX)).max(PAUSE_MS_MIN))
}

enum Before {
    Here,
    Asked(Arc<Logged>),
    Ended(Arc<Logged>),
    RollingBack,
}

impl SpinApi {
    pub(crate) async fn bet_seamless(
        &self,
        wallet: &Arc<OperatorWallet>,
        (play, bet): (&Play, &Bet),
        metadata: &MetadataMap,
    ) -> Result<PlayedBytes, Refusal> {
        let (stream, currency) = (&bet.account.stream, bet.account.currency);
        let ledger = self.ledgers.for_stream(stream)?;
        let place = wallet.admit();
        let asked = match self.before(ledger, wallet, (play, bet), place.as_ref().err()).await? {
            Before::Here => return self.play_here(play, metadata).await,
            Before::Asked(asked) => asked,
            Before::Ended(logged) => return self.ended_bet(&logged, bet).await,
            Before::RollingBack => return self.rolled_back(ledger, bet, asks_until()).await,
        };
        let place = Arc::new(place?);
        let debit = Call::debit(Names::new(wallet.operator(), wallet.settings()), &ledger.restores(), &asked);
        let debit = debit.ok_or_else(|| Refusal::request_id_reused(&bet.request_id))?;
        let amount = asked_amount(&asked);
        let until = asks_until();
        let Some(answer) = self.confirmed(ledger, wallet, (bet, &debit), &place, until).await? else {
            return self.rolled_back(ledger, bet, until).await;
        };
        match answer {
            Answer::Done { reported_balance, facts } => {
                let debited = Some(ConfirmedDebit { currency, amount, reported_balance, answer: facts });
                let played = self.play_here(&Play::Bet(Bet { debited, ..bet.clone() }), metadata).await;
                match played {
                    // A damaged log accepts no rollback, so the debit stays pending until the log is repaired.
                    Err(refusal) if refusal.reason() == Reason::LogDamaged => Err(damaged_later(&refusal)),
                    Err(refusal) if !is_doubtful(&refusal) => Err(self.give_up(ledger, bet, refusal).await),
                    Err(_) if !is_asked(ledger, bet)? => self.rolled_back(ledger, bet, until).await,
                    played => played,
                }
            }
            Answer::Refused { reason, code } => {
                let code = u32::try_from(i32::from(code)).unwrap_or_default();
                let proposal = Proposal {
                    stream: stream.clone(),
                    expected_version: None,
                    request_id: bet.request_id.clone(),
                    fingerprint: bet.fingerprint,
                    events: vec![Event::DebitRefused { reason, code }],
                };
                match ledger.append(proposal).await {
                    Ok(logged) => self.ended_bet(&logged, bet).await,
                    Err(AppendError::Refused(_)) => self.rolled_back(ledger, bet, until).await,
                    Err(error) => Err(error.into()),
                }
            }
            Answer::Unsure => Err(unknown("the wallet answered that it does not know the outcome")),
            Answer::Unknown { why } => Err(unknown(&why)),
        }
    }

    async fn before(
        &self,
        ledger: &Handle,
        wallet: &OperatorWallet,
        (play, bet): (&Play, &Bet),
        full: Option<&Refusal>,
    ) -> Result<Before, Refusal> {
        let (stream, currency) = (&bet.account.stream, bet.account.currency);
        let rules = self.rules_for(bet);
        loop {
            let state = ledger.books_of(stream, |books: &Books| State::of_bet(books, bet))?;
            // If a cancellation is logged after `state` was copied, appending the debit fails with a version conflict,
            // so nothing is debited.
            if let Some(logged) = ledger.find(stream, &bet.request_id, bet.fingerprint)? {
                return Ok(Before::Ended(logged));
            }
            let Some(player) = state.player.as_ref().filter(|_| currency.is_real()) else { return Ok(Before::Here) };
            let Some(owed) = player.wallet() else { return Ok(Before::Here) };
            match &owed.debit {
                Some(debit) if debit.request_id != bet.request_id => {
                    return Err(Refusal::new(
                        Reason::DebitOpen,
                        "the debit of another bet by this player is in progress: retry later",
                    )
                    .with("request_id", &debit.request_id)
                    .retry_after(Duration::from_millis(500)));
                }
                Some(debit) if debit.fingerprint != bet.fingerprint => {
                    return Err(Refusal::request_id_reused(&bet.request_id));
                }
                Some(debit) if debit.rolling_back => return Ok(Before::RollingBack),
                Some(debit) => return Ok(Before::Asked(ledger.fetch(debit.asked_at)?)),
                None => {}
            }
            let rules = rules.as_ref().map_err(Clone::clone)?;
            if let Some(most) = owed.full() {
                let full = AppendError::Refused(Refused::DuesWaiting { most });
                return Err(full.into());
            }
            let started = match self.judged(&state, (play, bet), rules, Now::read(ledger)) {
                Ok(started) => started,
                Err(Undecided::Refused(refusal)) => return Err(refusal),
                Err(Undecided::Unsealed(number, reason)) => {
                    self.dealer.seal_for(ledger, stream, player, (number, reason), &bet.drawn).await?;
                    continue;
                }
            };
            if started.campaign.is_some() && !wallet.settings().open_free_rounds {
                return Ok(Before::Here);
            }
            if let Some(full) = full {
                return Err(full.clone());
            }
            let mut proposal = asked(bet, player, (&started, self.operator_session(bet)));
            proposal.events.extend(reports(wallet, player));
            match ledger.append(proposal).await {
                Ok(asked) => return Ok(Before::Asked(asked)),
                Err(AppendError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn operator_session(&self, bet: &Bet) -> SmolStr {
        if !bet.operator_session.is_empty() {
            return bet.operator_session.clone();
        }
        let now_ms = self.ledgers.ticks_ms();
        let of = |session| Some(self.registry.sessions.lock().get(session, now_ms)?.operator_session.clone());
        bet.session.and_then(of).unwrap_or_default()
    }

    pub(crate) fn noted(&self, state: &State, bet: &Bet) -> impl Iterator<Item = Event> {
        let player = state.player.as_deref().filter(|_| bet.debited.is_none() && bet.account.currency.is_real());
        let noted = self.wallets.for_stream(&bet.account.stream).zip(player).map(|(wallet, player)| {
            [reports(&wallet, player), of_operator(&self.operator_session(bet))].into_iter().flatten()
        });
        noted.into_iter().flatten()
    }

    fn judged(
        &self,
        state: &State,
        (play, bet): (&Play, &Bet),
        rules: &PlayRules,
        now: Now,
    ) -> Result<Arc<RoundStarted>, Undecided> {
        let state = state.with_funds(bet.account.currency, Minor(i64::MAX / 16));
        let draft = Draft::from_bet(&state, bet, play.named(), rules, (&self.pace, now), self.ledgers.operators())?;
        draft.deal(&self.dealer)?;
        Ok(draft.started)
    }

    async fn confirmed(
        &self,
        ledger: &Handle,
        wallet: &Arc<OperatorWallet>,
        (bet, debit): (&Bet, &Call),
        place: &Arc<OwnedSemaphorePermit>,
        until: Instant,
    ) -> Result<Option<Answer>, Refusal> {
        let mut calls = 0;
        loop {
            let call = tokio::time::timeout_at(until, wallet.debit(debit, place, calls + 1));
            let answer = tokio::select! {
                biased;
                ended = not_asked(ledger, bet) => return ended.map(|()| None),
                answer = call => answer.unwrap_or_else(|_| Answer::Unknown { why: "the wallet did not answer in time".to_owned() }),
            };
            if matches!(answer, Answer::Done { .. } | Answer::Refused { .. }) {
                return Ok(Some(answer));
            }
            let mut random = [u8::MAX; 2];
            let _ = getrandom::fill(&mut random);
            let next = Instant::now() + pause(calls, u16::from_le_bytes(random));
            calls += 1;
            tokio::select! {
                biased;
                ended = not_asked(ledger, bet) => return ended.map(|()| None),
                () = sleep_until(next.min(until)) => {}
            }
            if next >= until {
                return Ok(Some(answer));
            }
        }
    }

    async fn rolled_back(&self, ledger: &Handle, bet: &Bet, until: Instant) -> Result<PlayedBytes, Refusal> {
        let mut head = ledger.head();
        loop {
            head.borrow_and_update();
            if let Some(logged) = ledger.find(&bet.account.stream, &bet.request_id, bet.fingerprint)? {
                return self.ended_bet(&logged, bet).await;
            }
            match tokio::time::timeout_at(until, head.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Err(unknown("the debit is being rolled back")),
            }
        }
    }

    async fn ended_bet(&self, logged: &Arc<Logged>, bet: &Bet) -> Result<PlayedBytes, Refusal> {
        self.played(logged, None).await.map_err(|refusal| match (refusal.reason(), decide::minimum_bet(bet)) {
            (Reason::InsufficientFunds, Some(minimum)) => {
                refusal.with("minimum_bet_minor", minimum).with("currency_code", bet.account.currency)
            }
            _ => refusal,
        })
    }

    async fn give_up(&self, ledger: &Handle, bet: &Bet, refusal: Refusal) -> Refusal {
        let stream = &bet.account.stream;
        let debit = ledger.player(stream).ok().flatten().and_then(|player| player.debit().cloned());
        if let Some(debit) = debit.filter(|debit| debit.request_id == bet.request_id && !debit.rolling_back)
            && let Err(error) = ledger.append(roll_back(stream, &debit, refusal.reason().name())).await
        {
            tracing::warn!(%stream, %error, "failed to append a refused bet's rollback to the event log: \
                 the outbox rolls the debit back later");
        }
        refusal
    }
}

fn asks_until() -> Instant {
    let longest = Instant::now() + WAIT_MAX;
    until().map_or(longest, |until| (until - MARGIN).min(longest))
}

fn is_asked(ledger: &Handle, bet: &Bet) -> Result<bool, Refusal> {
    let asked = ledger.books_of(&bet.account.stream, |books| {
        let debit = books.player(&bet.account.stream)?.debit()?;
        Some(debit.request_id == bet.request_id && !debit.rolling_back)
    });
    Ok(asked?.unwrap_or_default())
}

fn is_doubtful(refusal: &Refusal) -> bool {
    matches!(refusal.code(), Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted | Code::Aborted)
}

fn reports(wallet: &OperatorWallet, player: &PlayerState) -> Option<Event> {
    let rounds = wallet.settings().close_rounds;
    player.wallet().filter(|owed| owed.reports != rounds).map(|_| Event::RoundReportsChosen { rounds })
}

fn asked_amount(asked: &Logged) -> Minor {
    let amount = asked.commit.events.iter().find_map(|event| match event {
        Event::DebitAsked(asked) => Some(asked.amount),
        _ => None,
    });
    amount.unwrap_or_default()
}

fn asked(bet: &Bet, player: &PlayerState, (started, session): (&RoundStarted, SmolStr)) -> Proposal {
    let is_free = started.campaign.is_some();
    let facts = DebitFacts {
        game: started.game.clone(),
        rules_version: started.rules_version.clone(),
        session,
        feature_buy: bet.stake.buy_feature,
        campaign: started.campaign.clone(),
        stake: if is_free { started.bet } else { Minor::ZERO },
    };
    let asked = DebitAsked {
        request_id: bet.request_id.clone(),
        fingerprint: bet.fingerprint,
        currency: bet.account.currency,
        amount: started.charged(),
        facts: Some(Box::new(facts)),
    };
    Proposal {
        stream: bet.account.stream.clone(),
        expected_version: Some(player.head.version),
        request_id: InternalRequest::AskDebit { request_id: &bet.request_id }.to_string().into(),
        fingerprint: InternalRequest::FINGERPRINT,
        events: [Event::DebitAsked(asked)].into_iter().chain(with_series(bet.series.as_ref())).collect(),
    }
}

fn damaged_later(refusal: &Refusal) -> Refusal {
    let message = format!(
        "the operator's wallet has debited the bet, which will be played or rolled back once the log is repaired. Then repeat the request or call \
         GetRequest: {}",
        refusal.message()
    );
    Refusal::new(Reason::OutcomeUnknown, message)
}

fn unknown(why: &str) -> Refusal {
    let message = format!(
        "it is unknown whether the operator's wallet has debited the bet: {why}. Repeat the request or call GetRequest"
    );
    Refusal::new(Reason::OutcomeUnknown, message).retry_after(Duration::from_secs(1))
}

async fn not_asked(ledger: &Handle, bet: &Bet) -> Result<(), Refusal> {
    let mut head = ledger.head();
    loop {
        head.borrow_and_update();
        if !is_asked(ledger, bet)? {
            return Ok(());
        }
        sleep(LOOK_EVERY).await;
        if head.changed().await.is_err() {
            return Err(Refusal::new(Reason::Closing, "the ledger is shutting down: retry with the same request id"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_42_mf_c3_retries_of_a_debit_back_off_with_full_jitter() {
        let pauses = |random| (0..10).map(|calls| pause(calls, random).as_millis()).collect::<Vec<_>>();
        assert_eq!(pauses(u16::MAX), [20, 40, 80, 160, 320, 640, 1280, 2560, 3200, 3200]);
        assert_eq!(pauses(u16::MAX / 2), [9, 19, 39, 79, 159, 319, 639, 1279, 1599, 1599]);
        assert_eq!(pauses(0), [5; 10]);
        assert_eq!(pause(u32::MAX, u16::MAX).as_millis(), 3200);
    }
}
