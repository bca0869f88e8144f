//! Who calls, and what they may do (PL-27).
//!
//! One layer around all services answers for it: it finds the operator by the call's bearer token or the connection's
//! certificate, holds it to its rate and its roles, and puts a [`Caller`] into the request. The services ask the caller
//! one question, whether an operator's things are its own; what is not is answered like what is unknown.
//!
//! A call is refused for the first of: no credential (UNAUTHENTICATED, TOKEN_MISSING), an unknown one (TOKEN_UNKNOWN,
//! CERTIFICATE_UNKNOWN), one that has expired (TOKEN_EXPIRED, CERTIFICATE_EXPIRED), too many connections
//! (RESOURCE_EXHAUSTED, TOO_MANY_CONNECTIONS) or calls (RESOURCE_EXHAUSTED, RATE_LIMITED; both with RetryInfo), no such method (UNIMPLEMENTED, METHOD_UNKNOWN), a role that the credential lacks
//! (PERMISSION_DENIED, ROLE_MISSING). Only then is the message read. Health and reflection are open.
//!
//! A call's caller is fixed at its start. When its credential expires under way, as in a stream, the call ends with
//! TOKEN_EXPIRED or CERTIFICATE_EXPIRED; what was not answered is asked again with another, under the same request id.
//!
//! Cost: without operators the layer is one comparison a call, and no caller is put anywhere; with them a digest of the
//! token and a comparison with each credential's, in a time that says nothing about how much of it is right.

mod bucket;
mod calls;
pub(crate) mod civil;
mod expiry;
mod failed;
mod layer;
mod roles;

pub use calls::{CALLS, Call};
pub use layer::{Access, Guarded};
pub use roles::Roles;

use crate::{
    Refusal,
    config::{self, Digest, PLATFORM},
};
use bucket::Bucket;
use motherlode_books::ANYONE;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Who makes a call.
#[derive(Debug, Clone, Default)]
pub struct Caller(Option<Arc<Identity>>);

/// A credential of an operator, as the layer looks for it.
#[derive(Debug)]
struct Identity {
    operator: Arc<Operator>,
    name: String,
    kind: Kind,
    digest: Digest,
    roles: Roles,
    expires_ms: Option<i64>,
}

/// An operator at work.
#[derive(Debug)]
struct Operator {
    id: Arc<str>,
    bucket: Option<Bucket>,
}

/// How a caller proves itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Token,
    Certificate,
}

impl Caller {
    /// Whoever calls a service without operators: everything is theirs.
    #[must_use]
    pub const fn anyone() -> Self {
        Self(None)
    }

    /// Who makes a call: what the layer found out; where there's no operator to be found, anyone.
    #[must_use]
    pub fn of<T>(request: &tonic::Request<T>) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_default()
    }

    /// Whether an operator's players, rounds and sessions are the caller's to see.
    #[must_use]
    pub fn owns(&self, operator: &str) -> bool {
        self.0.as_ref().is_none_or(|identity| *identity.operator.id == *operator)
    }

    /// Whether what an operator's players have of things that all operators share, a pool's awards say, is the caller's
    /// to see: its own, and to the platform everybody's.
    #[must_use]
    pub fn sees(&self, operator: &str) -> bool {
        self.owns(operator) || self.owns(PLATFORM)
    }

    /// The operator whose things alone are the caller's; none where everybody's are: the platform, and anyone.
    #[must_use]
    pub fn own(&self) -> Option<&str> {
        let operator = self.0.as_ref().map(|identity| &*identity.operator.id);
        operator.filter(|operator| *operator != PLATFORM)
    }

    /// The operator, whoever it is; empty where there is none to be known.
    #[must_use]
    pub fn operator(&self) -> Arc<str> {
        self.0.as_ref().map_or_else(|| Arc::from(""), |identity| Arc::clone(&identity.operator.id))
    }

    /// Which actor this is (PL-22, PL-27): the credential's name for the platform, as logs have had it from the start, and
    /// `operator/name` for an operator. None where there are no operators, and so no actors to tell apart.
    #[must_use]
    pub fn actor(&self) -> Option<String> {
        self.0.as_ref().map(|identity| match &*identity.operator.id {
            PLATFORM => identity.name.clone(),
            operator => format!("{operator}/{}", identity.name),
        })
    }

    /// Who makes a call, as the log keeps it: the [`actor`](Self::actor), or [`ANYONE`] where nobody can be told apart.
    #[must_use]
    pub fn signature(&self) -> String {
        self.actor().unwrap_or_else(|| ANYONE.to_owned())
    }

    /// Counts a call against the operator's rate.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED, RATE_LIMITED with the time until the next may come.
    pub fn count_call(&self, now_ms: impl FnOnce() -> i64) -> Result<(), Refusal> {
        match self.0.as_ref().and_then(|identity| identity.operator.bucket.as_ref()) {
            Some(bucket) => bucket.take(now_ms()),
            None => Ok(()),
        }
    }
}

/// Computes the stored digest of a token, or of a certificate in DER.
#[must_use]
pub fn digest(secret: &[u8]) -> Digest {
    Digest(Sha256::digest(secret).into())
}

/// The credentials of all operators.
fn identities(operators: &[config::Operator]) -> Vec<Arc<Identity>> {
    let of = |configured: &config::Operator| {
        let bucket = configured.calls_per_second_max.map(|rate| {
            let burst = configured.calls_burst_max.unwrap_or(rate);
            Bucket::new(rate, burst)
        });
        let operator = Arc::new(Operator { id: configured.id.as_str().into(), bucket });
        let credentials = configured.credentials.iter().filter_map(|credential| {
            let (kind, digest) = match (credential.token_sha256, credential.certificate_sha256) {
                (Some(digest), _) => (Kind::Token, digest),
                (None, digest) => (Kind::Certificate, digest?),
            };
            let (roles, expires_ms) = (credential.roles, credential.expires_ms);
            let (operator, name) = (Arc::clone(&operator), credential.name.clone());
            Some(Arc::new(Identity { operator, name, kind, digest, roles, expires_ms }))
        });
        credentials.collect::<Vec<_>>()
    };
    operators.iter().flat_map(of).collect()
}
