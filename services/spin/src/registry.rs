use crate::{
    play_rules::PlayRules,
    session_id::{name, required},
};
use motherlode_ledger::{AppendError, Ledgers, Proposal};
use motherlode_runtime::{Caller, Profiles, Reason, Refusal};
use motherlode_state::{
    Currency, Event, InternalRequest, Profile, Refused, SessionId, SessionLimits, SessionRefused, Sessions, StreamId,
};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

pub(crate) type Closed = oneshot::Sender<()>;

#[derive(Clone)]
pub(crate) struct SessionRegistry {
    pub(crate) sessions: Arc<Mutex<Sessions<Closed>>>,
    pub(crate) ledgers: Ledgers,
    profiles: Profiles,
}

impl SessionRegistry {
    pub(crate) fn new(ledgers: Ledgers, limits: SessionLimits, operators: usize, profiles: Profiles) -> Self {
        let sessions = Sessions::new(limits).shared_by(operators);
        Self { sessions: Arc::new(Mutex::new(sessions)), ledgers, profiles }
    }

    pub(crate) fn rules_for(
        &self,
        session: Option<SessionId>,
        stream: &StreamId,
        game: (&str, Currency),
    ) -> Result<PlayRules, Refusal> {
        let Some(id) = session else {
            let (jurisdiction, profile) = self.profile(stream, "")?;
            return PlayRules::without_session(&jurisdiction, profile);
        };
        let now_ms = self.ledgers.ticks_ms();
        let mut sessions = self.sessions.lock();
        let of = sessions.bet(id, stream, game, now_ms).map_err(refusal)?;
        Ok(PlayRules::in_session(name(id), of))
    }

    pub(crate) fn profile(&self, stream: &StreamId, jurisdiction: &str) -> Result<(String, Profile), Refusal> {
        let operator = match stream {
            StreamId::Player { operator, .. } => operator,
            _ => "",
        };
        self.profiles.find(operator, jurisdiction).ok_or_else(|| {
            Refusal::field("jurisdiction", format!("must be one of {}", self.profiles.names().join(", ")))
        })
    }

    pub(crate) fn act(
        &self,
        session: Option<SessionId>,
        stream: &StreamId,
        game: Option<(&str, Currency)>,
    ) -> Result<(), Refusal> {
        let Some(id) = session else { return Ok(()) };
        let now_ms = self.ledgers.ticks_ms();
        self.sessions.lock().act(id, stream, game, now_ms).map_err(refusal)
    }

    pub(crate) fn is_callers(&self, caller: &Caller, id: SessionId) -> bool {
        let mut sessions = self.sessions.lock();
        let of = sessions.get(id, self.ledgers.ticks_ms()).map(|of| &of.stream);
        matches!(of, Some(StreamId::Player { operator, .. }) if caller.owns(operator))
    }

    /// Parses a session's id. A session of another operator is refused as if it had expired (PL-27).
    pub(crate) fn own(&self, caller: &Caller, session_id: &str) -> Result<SessionId, Refusal> {
        let id = required(session_id)?;
        if self.is_callers(caller, id) { Ok(id) } else { Err(refusal(SessionRefused::Expired)) }
    }

    /// Logs a session's events. A repetition with the same `moment` and version of the player's stream has no effect.
    pub(crate) async fn log(
        &self,
        stream: &StreamId,
        id: SessionId,
        moment: &'static str,
        events: Vec<Event>,
    ) -> Result<(), AppendError> {
        let version = self.ledgers.deciding(stream)?.books_of(stream, |books| books.head(stream).version)?;
        let proposal = Proposal {
            stream: stream.clone(),
            expected_version: None,
            request_id: InternalRequest::LogSession { session: name(id), moment, version }.to_string().into(),
            fingerprint: InternalRequest::FINGERPRINT,
            events,
        };
        self.ledgers.append(proposal).await.map(drop)
    }

    /// Logs the end of a session, unless a newer session has replaced it.
    pub(crate) async fn ended(&self, id: SessionId, hold_ms: u32) -> Result<(), AppendError> {
        let now_ms = self.ledgers.ticks_ms();
        let Some(stream) = self.sessions.lock().get(id, now_ms).map(|of| of.stream.clone()) else { return Ok(()) };
        self.log_end(&stream, id, hold_ms).await
    }

    pub(crate) async fn log_end(&self, stream: &StreamId, id: SessionId, hold_ms: u32) -> Result<(), AppendError> {
        match self.log(stream, id, "end", vec![Event::SessionEnded { session: name(id), hold_ms }]).await {
            Err(AppendError::Refused(Refused::NoSuchSession)) => Ok(()),
            logged => logged,
        }
    }

    pub(crate) fn left_ms(&self, id: SessionId) -> Option<i64> {
        let now_ms = self.ledgers.ticks_ms();
        self.sessions.lock().left_ms(id, now_ms)
    }
}

pub(crate) fn refusal(refused: SessionRefused) -> Refusal {
    let message = refused.to_string();
    match refused {
        SessionRefused::InUse => Refusal::new(Reason::SessionInUse, message),
        SessionRefused::Held { left_ms } => {
            Refusal::new(Reason::SessionHeld, message).retry_after(Duration::from_millis(left_ms.unsigned_abs()))
        }
        SessionRefused::Expired => Refusal::new(Reason::SessionExpired, message),
        SessionRefused::Mismatch => Refusal::new(Reason::SessionMismatch, message),
        SessionRefused::RequestIdReused => Refusal::new(Reason::RequestIdReused, message),
        SessionRefused::RealityCheckDue => Refusal::new(Reason::RealityCheckDue, message),
        SessionRefused::TimeUp => Refusal::new(Reason::SessionTimeLimit, message),
        SessionRefused::Full => Refusal::new(Reason::SessionsFull, message),
    }
}
