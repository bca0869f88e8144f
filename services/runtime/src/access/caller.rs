//! Who makes a call, and what is theirs.

use super::bucket::Bucket;
use crate::{
    config::{self, Digest, PLATFORM},
    refusal::Refusal,
    roles::Roles,
};
use motherlode_books::ANYONE;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Who makes a call.
#[derive(Debug, Clone, Default)]
pub struct Caller(pub(super) Option<Arc<Identity>>);

/// A credential of an operator, as the layer looks for it.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) operator: Arc<Operator>,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) digest: Digest,
    pub(super) roles: Roles,
    pub(super) expires_ms: Option<i64>,
}

/// An operator at work.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) id: Arc<str>,
    pub(super) bucket: Option<Bucket>,
}

/// How a caller proves itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Token,
    Certificate,
}

/// A refused call.
#[derive(Debug)]
pub struct Denied {
    /// Why.
    pub refusal: Refusal,
    /// Who made it, as far as the credential was known.
    pub caller: Caller,
}

impl Caller {
    /// Every caller of a service without operators.
    pub const ANYONE: Self = Self(None);

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

    /// The credential's name and its roles; none where there are no operators.
    #[must_use]
    pub fn credential(&self) -> Option<(&str, Roles)> {
        self.0.as_ref().map(|identity| (identity.name.as_str(), identity.roles))
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
pub(super) fn identities(operators: &[config::Operator]) -> Vec<Arc<Identity>> {
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
