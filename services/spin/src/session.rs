//! Sessions over gRPC. The process that opened a session keeps it in memory, and times it with the monotonic clock.
//!
//! A session's opening, acknowledgements and end are logged with the player's limits for the day, so the limits also
//! hold after a restart and in later sessions. A restart ends sessions, but a game reserved for a player after a lost
//! connection stays reserved. If the KeepSession stream is dropped, the connection counts as lost.

use crate::{
    api::SpinApi,
    demo::check_mode,
    play_rules::{jackpot_allowed, not_held},
    registry::{SessionRegistry, refusal},
    session_id::{self, name, required},
    stake::find_game,
};
use futures_util::{Stream, stream};
use motherlode_ledger::{AppendError, Proposal, fields, fingerprint, rounds, unknown_player};
use motherlode_proto::convert::play::hex;
use motherlode_proto::spin::v1::{
    self as wire, AcknowledgeRealityCheckRequest, AcknowledgeRealityCheckResponse, CloseSessionRequest,
    KeepSessionRequest, KeepSessionResponse, OpenSessionRequest, OpenSessionResponse,
};
use motherlode_runtime::{Caller, Reason, Refusal, Stop, UNRESTRICTED};
use motherlode_state::{
    Books, Currency, DayLimits, Event, InternalRequest, Minor, Profile, Refused, SessionId, SessionName, SessionOf,
    SessionOpened, SessionRefused, SmolStr, StreamId,
};
use std::{num::NonZeroU32, time::Duration};
use tokio::sync::oneshot;
use tonic::Status;

impl SpinApi {
    pub(crate) async fn open_session(
        &self,
        caller: &Caller,
        request: &OpenSessionRequest,
    ) -> Result<OpenSessionResponse, Refusal> {
        let request_id = fields::id("request_id", &request.request_id)?;
        let account = fields::account(caller, request.account.as_ref())?;
        let game = find_game(&request.game, "")?;
        let (stream, currency) = (account.stream, account.currency);
        let opened = InternalRequest::OpenSession { request_id }.to_string();
        if self.ledgers.for_stream(&stream)?.find_position(&stream, &opened)?.is_none() {
            self.check_not_cancelled(&stream, request_id)?;
        }
        check_mode(request.mode(), currency)?;
        let (_, operators) = self.registry.profile(&stream, "")?;
        let (jurisdiction, profile) = self.registry.profile(&stream, &request.jurisdiction)?;
        let profile = profile.strictest(operators);
        let limits = request.limits.unwrap_or_default();
        if profile.limits_by_player {
            set_by_player(&limits)?;
        }
        let profile = profile.strictest(own_limits(&limits)?);
        let loss_max = fields::limit("limits.loss_max_minor", limits.loss_max_minor, 1, currency)?;
        let bet_max = fields::limit("limits.bet_max_minor", limits.bet_max_minor, 1, currency)?;
        jackpot_allowed(&jurisdiction, &profile, game)?;
        let (jurisdiction, game) = (jurisdiction.to_owned(), game.name());
        let known = |books: &motherlode_state::Books| books.player(&stream)?.balance(currency);
        let ledger = self.ledgers.for_stream(&stream)?;
        if currency.is_real() {
            let unknown = || unknown_player(self.ledgers.operators(), &stream);
            ledger.books_of(&stream, known)?.ok_or_else(unknown)?;
        }
        let now = self.now(&stream)?;
        let held = |books: &Books| books.player(&stream).map_or(Ok(()), |player| not_held(player, game, currency, now));
        ledger.books_of(&stream, held)??;
        let of = SessionOf {
            stream: stream.clone(),
            currency,
            game: game.into(),
            jurisdiction: jurisdiction.into(),
            profile,
            loss_max,
            bet_max,
            operator_session: session_id::of_operator(&request.operator_session)?,
        };
        let (fresh, now_ms) = (fresh_session_id()?, self.ledgers.ticks_ms());
        let mut response = OpenSessionResponse {
            jurisdiction: of.jurisdiction.to_string(),
            profile: Some(profile_to_wire(&of)),
            ..OpenSessionResponse::default()
        };
        let (opened, event) = {
            let mut sessions = self.registry.sessions.lock();
            let idle_ms = sessions.idle_ms_max(&of);
            response.idle_ms_max = idle_ms.unsigned_abs();
            let mut event = vec![opened_event(&of, name(fresh), idle_ms)];
            event.extend(of_operator(&of.operator_session));
            (sessions.open(of, request_id, fresh, now_ms), event)
        };
        let id = opened.map_err(|refused| match refused {
            SessionRefused::RequestIdReused => Refusal::request_id_reused(request_id),
            refused => refusal(refused),
        })?;
        if id == fresh
            && let Err(refusal) = self
                .log_opened((&stream, currency), id, (request_id, fingerprint("open_session", request)), event)
                .await
        {
            self.registry.sessions.lock().close(id, now_ms);
            return Err(refusal);
        }
        let open = |books: &Books| Some(books.player(&stream)?.open_round_of(game, currency)?.started.round);
        let open = ledger.books_of(&stream, open)?;
        if let Some(number) = open {
            let ledger = ledger.clone();
            let read = move || rounds::read(&ledger, &stream, number);
            response.open_round = self.ledgers.reads().run(caller, read).await??;
        }
        response.session_id = format!("{id:032x}");
        response.session_name = hex(&name(id));
        Ok(response)
    }

    /// Logs a session's opening, unless the request was cancelled (PL-42). If an ended session has this request id,
    /// which the log accepts only once, the commit's request id is derived from the new session.
    async fn log_opened(
        &self,
        (stream, currency): (&StreamId, Currency),
        id: SessionId,
        (request_id, content): (&str, [u8; 16]),
        mut opened: Vec<Event>,
    ) -> Result<(), Refusal> {
        let ledger = self.ledgers.for_stream(stream)?;
        opened.push(Event::PartOf { request_id: request_id.into() });
        let logged = loop {
            let (expected_version, mut events) =
                if currency.is_real() { (None, vec![]) } else { self.filling(ledger, stream)? };
            events.extend(opened.clone());
            let proposal = Proposal {
                stream: stream.clone(),
                expected_version,
                request_id: InternalRequest::OpenSession { request_id }.to_string().into(),
                fingerprint: content,
                events,
            };
            match ledger.append(proposal).await {
                Err(AppendError::Conflict { .. }) => {}
                logged => break logged?,
            }
        };
        let is_this = |event: &Event| matches!(event, Event::SessionOpened(opened) if opened.session == name(id));
        match logged.commit.events.iter().any(is_this) {
            true => Ok(()),
            false => Ok(self.registry.log(stream, id, "open", opened).await?),
        }
    }

    pub(crate) async fn acknowledge(
        &self,
        caller: &Caller,
        request: &AcknowledgeRealityCheckRequest,
    ) -> Result<AcknowledgeRealityCheckResponse, Refusal> {
        let id = self.registry.own(caller, &request.session_id)?;
        let now_ms = self.ledgers.ticks_ms();
        let stream = self.registry.sessions.lock().get(id, now_ms).map(|of| (of.stream.clone(), of.currency));
        let (stream, currency) = stream.ok_or_else(|| refusal(SessionRefused::Expired))?;
        let log_ms = self.now(&stream)?.log_ms;
        let unseen = |books: &Books| books.player(&stream).is_some_and(|it| it.day(currency).unseen_ms(log_ms) > 0);
        if self.ledgers.for_stream(&stream)?.books_of(&stream, unseen)? {
            let event = Event::RealityCheckAcknowledged { session: name(id) };
            match self.registry.log(&stream, id, "seen", vec![event]).await {
                Err(AppendError::Refused(Refused::NoSuchSession)) => return Err(refusal(SessionRefused::Expired)),
                logged => logged?,
            }
        }
        let (of, elapsed_ms) = {
            let mut sessions = self.registry.sessions.lock();
            let (of, elapsed_ms) = sessions.acknowledge(id, now_ms).map_err(refusal)?;
            (of.clone(), elapsed_ms)
        };
        let net = |books: &Books| books.player(&of.stream)?.session_net(&of.game, name(id));
        let net = self.ledgers.for_stream(&of.stream)?.books_of(&of.stream, net)?;
        let net = Minor(i64::try_from(net.unwrap_or_default()).unwrap_or(i64::MIN));
        Ok(AcknowledgeRealityCheckResponse {
            elapsed_ms: elapsed_ms.unsigned_abs(),
            net: Some(fields::money(net, of.currency)),
        })
    }

    pub(crate) fn keep_session(
        &self,
        caller: &Caller,
        request: &KeepSessionRequest,
    ) -> Result<impl Stream<Item = Result<KeepSessionResponse, Status>> + use<>, Refusal> {
        let id = self.registry.own(caller, &request.session_id)?;
        let (closed, ended) = oneshot::channel();
        let now_ms = self.ledgers.ticks_ms();
        self.registry.sessions.lock().keep(id, closed, now_ms).map_err(refusal)?;
        let guard = SessionGuard { registry: self.registry.clone(), stop: self.stop.clone(), id, ended };
        Ok(stream::unfold(GuardState::First(guard), |kept| async {
            match kept {
                GuardState::First(guard) => Some((Ok(KeepSessionResponse {}), GuardState::Further(guard))),
                GuardState::Further(guard) => guard.end().await.map(|status| (Err(status), GuardState::Over)),
                GuardState::Over => None,
            }
        }))
    }

    pub(crate) async fn close_session(&self, caller: &Caller, request: &CloseSessionRequest) -> Result<(), Refusal> {
        let id = required(&request.session_id)?;
        if !self.registry.is_callers(caller, id) {
            return Ok(());
        }
        self.registry.ended(id, 0).await?;
        let now_ms = self.ledgers.ticks_ms();
        if let Some(closed) = self.registry.sessions.lock().close(id, now_ms) {
            let _ = closed.send(());
        }
        Ok(())
    }
}

fn fresh_session_id() -> Result<SessionId, Refusal> {
    let mut id = [0; 16];
    let filled = getrandom::fill(&mut id);
    filled.map_err(|error| {
        Refusal::new(Reason::NoEntropy, format!("the operating system returned no random bytes: {error}"))
    })?;
    Ok(SessionId::from_be_bytes(id))
}

enum GuardState {
    First(SessionGuard),
    Further(SessionGuard),
    Over,
}

struct SessionGuard {
    registry: SessionRegistry,
    stop: Stop,
    id: SessionId,
    ended: oneshot::Receiver<()>,
}

impl SessionGuard {
    async fn end(mut self) -> Option<Status> {
        loop {
            let left_ms = self.registry.left_ms(self.id).unwrap_or_default();
            tokio::select! {
                biased;
                closed = &mut self.ended => return closed.err().map(|_| refusal(SessionRefused::Expired).into()),
                () = self.stop.clone().requested() => return Some(closing()),
                () = tokio::time::sleep(Duration::from_millis(left_ms.unsigned_abs())) => {}
            }
        }
    }
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        let (registry, id) = (self.registry.clone(), self.id);
        let now_ms = registry.ledgers.ticks_ms();
        let (stream, hold_ms) = {
            let mut sessions = registry.sessions.lock();
            let stream = sessions.get(id, now_ms).map(|of| of.stream.clone());
            sessions.drop_connection(id, now_ms);
            (stream, sessions.hold_ms())
        };
        let Some(stream) = stream.filter(|_| !self.stop.is_requested()) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let passed_ms = u32::try_from(registry.ledgers.ticks_ms().saturating_sub(now_ms)).unwrap_or(hold_ms);
                let hold_ms = hold_ms.saturating_sub(passed_ms);
                if let Err(error) = registry.log_end(&stream, id, hold_ms).await {
                    tracing::warn!(%error, %stream, "failed to append a disconnected player's wait to the event log: \
                         only this process enforces the wait");
                }
            });
        }
    }
}

pub(crate) fn of_operator(session: &SmolStr) -> Option<Event> {
    (!session.is_empty()).then(|| Event::OperatorSession { session: session.clone() })
}
fn opened_event(of: &SessionOf, session: SessionName, idle_ms: i64) -> Event {
    let amount = |limit: Option<Minor>| limit.map(|limit| (of.currency, limit)).into_iter().collect();
    Event::SessionOpened(SessionOpened {
        session,
        game: of.game.clone(),
        currency: of.currency,
        jurisdiction: if of.jurisdiction == UNRESTRICTED { "".into() } else { of.jurisdiction.clone() },
        idle_ms: u32::try_from(idle_ms).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX),
        limits: DayLimits {
            reality_check_ms: of.profile.reality_check_ms,
            time_ms_max: of.profile.session_ms_max,
            loss_eur_max: of.profile.loss_eur_max,
            losses_max: amount(of.loss_max),
            bets_max: amount(of.bet_max),
        },
    })
}

fn own_limits(limits: &wire::SessionLimits) -> Result<Profile, Refusal> {
    let least = |field: &str, value: Option<u32>| match value.map(NonZeroU32::new) {
        Some(None) => Err(Refusal::field(field, "must be at least 1")),
        value => Ok(value.flatten()),
    };
    Ok(Profile {
        reality_check_ms: least("limits.reality_check_ms", limits.reality_check_ms)?,
        session_ms_max: least("limits.session_ms_max", limits.session_ms_max)?,
        ..Profile::default()
    })
}

fn set_by_player(limits: &wire::SessionLimits) -> Result<(), Refusal> {
    let missing =
        |field: &str| Err(Refusal::field(field, "is required in this jurisdiction: send the player's choice"));
    match (limits.session_ms_max, limits.loss_max_minor) {
        (None, _) => missing("limits.session_ms_max"),
        (_, None) => missing("limits.loss_max_minor"),
        _ => Ok(()),
    }
}

fn profile_to_wire(of: &SessionOf) -> wire::SessionProfile {
    let SessionOf { profile, loss_max, bet_max, .. } = of;
    wire::SessionProfile {
        autoplay: profile.autoplay,
        buy_feature: profile.buy_feature,
        gamble: profile.gamble,
        turbo: profile.turbo,
        round_ms_min: profile.round_ms_min,
        limits: Some(wire::SessionLimits {
            reality_check_ms: profile.reality_check_ms.map(NonZeroU32::get),
            session_ms_max: profile.session_ms_max.map(NonZeroU32::get),
            loss_max_minor: loss_max.map(|limit| limit.0),
            bet_max_minor: bet_max.map(|limit| limit.0),
        }),
        loss_eur_max: profile.loss_eur_max.map(NonZeroU32::get),
        jackpot: profile.jackpot,
        bet_eur_max: profile.bet_eur_max.map(NonZeroU32::get),
        limits_by_player: profile.limits_by_player,
    }
}

fn closing() -> Status {
    Refusal::new(Reason::Closing, "the service is stopping: open a session with another process").into()
}
