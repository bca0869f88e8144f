use super::{
    caller::{Caller, Denied, Identity, Kind, digest, identities},
    calls::{CALLS, OPEN},
    expiry::Expiring,
};
use crate::{
    clock::Clock,
    config::{Operator, PLATFORM},
    connections::Peer,
    reason::Reason,
    refusal::Refusal,
};
use http::{HeaderMap, Request, Response, header::AUTHORIZATION};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use subtle::ConstantTimeEq;
use tonic::{Status, body::Body};
use tower::{Layer, Service};

#[derive(Clone)]
pub struct Access {
    identities: Option<Arc<[Arc<Identity>]>>,
    clock: Clock,
}

impl Access {
    /// Creates the layer. Without operators it admits every caller.
    #[must_use]
    pub fn new(operators: &[Operator], clock: Clock) -> Self {
        let identities = (!operators.is_empty()).then(|| identities(operators).into());
        Self { identities, clock }
    }

    /// Checks in the order of the [module](super)'s documentation.
    pub fn admit(&self, path: &str, headers: &HeaderMap, peer: Option<&Peer>) -> Result<Caller, Denied> {
        if OPEN.iter().any(|open| path.starts_with(open)) {
            return Ok(Caller::ANYONE);
        }
        let connection = peer.and_then(Peer::connection);
        let belongs_to = |holder| connection.map_or(Ok(()), |connection| connection.belongs_to(holder));
        let unknown = |refusal| Denied { refusal, caller: Caller::ANYONE };
        let Some(identities) = &self.identities else {
            belongs_to(None).map_err(unknown)?;
            return Ok(Caller::ANYONE);
        };
        let identity = identify(identities, headers, peer).map_err(unknown)?;
        let caller = Caller(Some(Arc::clone(identity)));
        let admitted =
            identity.admit(path, (self.clock)(), || belongs_to(Some((&identity.operator.id, &identity.name))));
        match admitted {
            Ok(()) => Ok(caller),
            Err(refusal) => Err(Denied { refusal, caller }),
        }
    }
}

fn identify<'a>(
    identities: &'a [Arc<Identity>],
    headers: &HeaderMap,
    peer: Option<&Peer>,
) -> Result<&'a Arc<Identity>, Refusal> {
    let refuse = Refusal::new;
    if headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
        return Err(refuse(Reason::TokenAmbiguous, "the header authorization is given more than once"));
    }
    if let Some(token) = bearer(headers) {
        // An empty token never matches.
        let found = if token.is_empty() { None } else { find(identities, Kind::Token, token) };
        return found.ok_or_else(|| refuse(Reason::TokenUnknown, "no operator has this token"));
    }
    match peer.and_then(Peer::certificate) {
        Some(certificate) => find(identities, Kind::Certificate, certificate)
            .ok_or_else(|| refuse(Reason::CertificateUnknown, "no operator has this certificate")),
        None => Err(refuse(Reason::TokenMissing, "the call needs the header `authorization: Bearer <token>`")),
    }
}

/// Returns the bearer token; the scheme's name is case-insensitive (RFC 9110, 11.1).
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

/// Finds the credential of a secret in constant time.
fn find<'a>(identities: &'a [Arc<Identity>], kind: Kind, secret: &[u8]) -> Option<&'a Arc<Identity>> {
    let given = digest(secret);
    let mut found = None;
    for identity in identities {
        if bool::from(identity.digest.0.ct_eq(&given.0)) && identity.kind == kind {
            found = Some(identity);
        }
    }
    found
}

impl Identity {
    fn admit(&self, path: &str, now_ms: i64, belongs_to: impl FnOnce() -> Result<(), Refusal>) -> Result<(), Refusal> {
        if let Some(refusal) = self.expired(now_ms) {
            return Err(refusal);
        }
        belongs_to()?;
        if let Some(bucket) = &self.operator.bucket {
            bucket.take(now_ms)?;
        }
        let call = CALLS.iter().find(|call| call.path == path);
        let call = call.ok_or_else(|| Refusal::new(Reason::MethodUnknown, "no such method"))?;
        let of_platform = !call.platform || *self.operator.id == *PLATFORM;
        if of_platform && self.roles.meets(call.roles) {
            return Ok(());
        }
        let refusal = Refusal::new(Reason::RoleMissing, "the credential lacks the role for this call");
        let refusal = refusal.with("roles", call.roles);
        Err(if call.platform { refusal.with("operator", PLATFORM) } else { refusal })
    }

    pub(super) fn expired(&self, now_ms: i64) -> Option<Refusal> {
        let expired = self.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms);
        let reason = match self.kind {
            Kind::Token => Reason::TokenExpired,
            Kind::Certificate => Reason::CertificateExpired,
        };
        expired.then(|| {
            let refusal = Refusal::new(reason, "the credential has expired");
            refusal.with("operator", &self.operator.id).with("credential", &self.name)
        })
    }
}

#[derive(Clone)]
pub struct Guarded<S> {
    access: Access,
    inner: S,
}

impl<S> Layer<S> for Access {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { access: self.clone(), inner }
    }
}

impl<S, B> Service<Request<B>> for Guarded<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Unpin,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Answer<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let peer = request.extensions().get::<Arc<Peer>>().map(AsRef::as_ref);
        match self.access.admit(request.uri().path(), request.headers(), peer) {
            Err(denied) => Answer(State::Refused(Some(denied))),
            Ok(caller) => {
                let expires = caller.0.as_ref().filter(|identity| identity.expires_ms.is_some());
                let expiring = expires.map(|identity| (Arc::clone(identity), Arc::clone(&self.access.clock)));
                if caller.0.is_some() {
                    request.extensions_mut().insert(caller.clone());
                }
                Answer(State::Asked(self.inner.call(request), caller, expiring))
            }
        }
    }
}

pub struct Answer<F>(State<F>);

enum State<F> {
    Refused(Option<Denied>),
    Asked(F, Caller, Option<(Arc<Identity>, Clock)>),
}

impl<F, E> Future for Answer<F>
where
    F: Future<Output = Result<Response<Body>, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(match &mut self.0 {
            State::Refused(denied) => {
                let again =
                    || Denied { refusal: Refusal::new(Reason::Internal, "polled again"), caller: Caller::ANYONE };
                let Denied { refusal, caller } = denied.take().unwrap_or_else(again);
                let mut answer = Status::from(refusal).into_http();
                answer.extensions_mut().insert(caller);
                Ok(answer)
            }
            State::Asked(answer, caller, expiring) => {
                let mut answer = ready!(Pin::new(answer).poll(context));
                if let Ok(answer) = &mut answer {
                    answer.extensions_mut().insert(caller.clone());
                }
                match expiring.take() {
                    Some((identity, clock)) => answer.map(|it| it.map(|body| Expiring::body(body, identity, clock))),
                    None => answer,
                }
            }
        })
    }
}
