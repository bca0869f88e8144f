use super::{
    caller::{Caller, Identity, Kind, digest, identities},
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
use http::{HeaderMap, Response, header::AUTHORIZATION};
use parking_lot::RwLock;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tonic::body::Body;

type Identities = Arc<[Arc<Identity>]>;

#[derive(Clone)]
pub struct Access {
    /// `None` without operators.
    identities: Option<Arc<RwLock<Identities>>>,
    clock: Clock,
}

impl Access {
    /// If no operators are configured, the layer admits every caller.
    #[must_use]
    pub fn new(operators: &[Operator], clock: Clock) -> Self {
        let identities = (!operators.is_empty()).then(|| Arc::new(RwLock::new(identities(operators).into())));
        Self { identities, clock }
    }

    /// Replaces the credentials and ends the open streams of removed credentials. Has no effect without operators.
    pub fn replace(&self, operators: &[Operator]) {
        let Some(current) = &self.identities else { return };
        let new: Identities = identities(operators).into();
        let old = std::mem::replace(&mut *current.write(), Arc::clone(&new));
        for identity in old.iter().filter(|old| !new.iter().any(|new| new.is_same(old))) {
            identity.removed.send_replace(true);
        }
    }

    /// Checks the call. Stores the caller, if it is known, even if the call is refused.
    pub fn admit(
        &self,
        path: &str,
        headers: &HeaderMap,
        peer: Option<&Peer>,
        caller: &mut Caller,
    ) -> Result<(), Refusal> {
        if OPEN.iter().any(|open| path.starts_with(open)) {
            return Ok(());
        }
        let connection = peer.and_then(Peer::connection);
        let belongs_to = |holder| connection.map_or(Ok(()), |connection| connection.belongs_to(holder));
        let Some(identities) = &self.identities else { return belongs_to(None) };
        let identities = Arc::clone(&identities.read());
        let identity = identify(&identities, headers, peer)?;
        *caller = Caller(Some(Arc::clone(identity)));
        identity.admit(path, (self.clock)(), || belongs_to(Some((&identity.operator.id, &identity.name))))
    }

    #[must_use]
    pub fn expiring(&self, caller: &Caller, answer: Response<Body>) -> Response<Body> {
        match &caller.0 {
            Some(identity) => answer.map(|body| Expiring::body(body, Arc::clone(identity), Arc::clone(&self.clock))),
            None => answer,
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
        return Err(refuse(Reason::TokenAmbiguous, "the header authorization occurs more than once"));
    }
    if let Some(token) = bearer(headers) {
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

/// Finds the credential with this secret; the comparison takes constant time.
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
        let refusal =
            Refusal::new(Reason::RoleMissing, "the caller's credential lacks the role that this call requires");
        let refusal = refusal.with("roles", call.roles);
        Err(if call.platform { refusal.with("operator", PLATFORM) } else { refusal })
    }

    pub(super) fn expired(&self, now_ms: i64) -> Option<Refusal> {
        if *self.removed.borrow() {
            let reason = match self.kind {
                Kind::Token => Reason::TokenUnknown,
                Kind::Certificate => Reason::CertificateUnknown,
            };
            return Some(Refusal::new(reason, "the caller's credential was removed from the configuration"));
        }
        let expired = self.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms);
        let reason = match self.kind {
            Kind::Token => Reason::TokenExpired,
            Kind::Certificate => Reason::CertificateExpired,
        };
        expired.then(|| {
            let refusal = Refusal::new(reason, "the caller's credential has expired");
            refusal.with("operator", &self.operator.id).with("credential", &self.name)
        })
    }
}
