use super::bucket::Bucket;
use crate::{
    config::{self, Digest, PLATFORM},
    refusal::Refusal,
    roles::Roles,
};
use motherlode_state::ANYONE;
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::watch;

#[derive(Debug, Clone, Default)]
pub struct Caller(pub(super) Option<Arc<Identity>>);

#[derive(Debug)]
pub(super) struct Identity {
    pub(super) operator: Arc<Operator>,
    /// Whether the credential belongs to `operator`; otherwise, it belongs to another operator and may call for
    /// `operator`.
    pub(super) is_own: bool,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) digest: Digest,
    pub(super) roles: Roles,
    pub(super) expires_ms: Option<i64>,
    pub(super) removed: Arc<watch::Sender<bool>>,
}

impl Identity {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.operator.id == other.operator.id
            && self.is_own == other.is_own
            && self.name == other.name
            && self.kind == other.kind
            && self.digest == other.digest
            && self.roles == other.roles
            && self.expires_ms == other.expires_ms
    }
}

#[derive(Debug)]
pub(super) struct Operator {
    pub(super) id: Arc<str>,
    /// Maximum calls per second, and burst in calls; `None` for no limit.
    pub(super) rate: Option<(u32, u32)>,
    pub(super) bucket: Option<Bucket>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Token,
    Certificate,
}

impl Caller {
    /// Caller if no operators are configured; may access all objects.
    pub const ANYONE: Self = Self(None);

    #[must_use]
    pub fn from_request<T>(request: &tonic::Request<T>) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_default()
    }

    #[must_use]
    pub fn owns(&self, operator: &str) -> bool {
        self.0.as_ref().is_none_or(|identity| *identity.operator.id == *operator)
    }

    /// Returns whether the caller may see `operator`'s part of shared objects, such as pools.
    #[must_use]
    pub fn sees(&self, operator: &str) -> bool {
        self.owns(operator) || self.owns(PLATFORM)
    }

    /// Returns the caller's operator; `None` for the platform, or if no operators are configured.
    #[must_use]
    pub fn own(&self) -> Option<&str> {
        let operator = self.0.as_ref().map(|identity| &*identity.operator.id);
        operator.filter(|operator| *operator != PLATFORM)
    }

    #[must_use]
    pub fn operator(&self) -> Arc<str> {
        self.0.as_ref().map_or_else(|| Arc::from(""), |identity| Arc::clone(&identity.operator.id))
    }

    #[must_use]
    pub fn credential(&self) -> Option<(&str, Roles)> {
        self.0.as_ref().map(|identity| (identity.name.as_str(), identity.roles))
    }

    /// Returns the actor of the caller's commits (PL-22, PL-27): `name` for a platform credential, otherwise
    /// `operator/name`.
    #[must_use]
    pub fn actor(&self) -> Option<String> {
        self.0.as_ref().map(|identity| match &*identity.operator.id {
            PLATFORM => identity.name.clone(),
            operator => format!("{operator}/{}", identity.name),
        })
    }

    #[must_use]
    pub fn signature(&self) -> String {
        self.actor().unwrap_or_else(|| ANYONE.to_owned())
    }

    pub fn count_call(&self, now_ms: impl FnOnce() -> i64) -> Result<(), Refusal> {
        match self.0.as_ref().and_then(|identity| identity.operator.bucket.as_ref()) {
            Some(bucket) => bucket.take(now_ms()),
            None => Ok(()),
        }
    }
}

#[must_use]
pub fn digest(secret: &[u8]) -> Digest {
    Digest(Sha256::digest(secret).into())
}

/// Returns one identity per credential and operator for which it may call. An unchanged identity keeps the removal
/// signal of its `previous` entry, so that a later removal ends its open streams.
pub(super) fn identities(operators: &[config::Operator], previous: &[Arc<Identity>]) -> Vec<Arc<Identity>> {
    let tenants: BTreeMap<_, _> = operators.iter().map(|of| (of.id.as_str(), tenant(of, previous))).collect();
    let mut identities = vec![];
    for own in operators {
        for credential in &own.credentials {
            let (kind, digest) = match (credential.token_sha256, credential.certificate_sha256) {
                (Some(digest), _) => (Kind::Token, digest),
                (None, Some(digest)) => (Kind::Certificate, digest),
                (None, None) => continue,
            };
            for id in credential.serves(own) {
                let Some(operator) = tenants.get(id.as_str()).map(Arc::clone) else { continue };
                let mut identity = Identity {
                    operator,
                    is_own: *id == own.id,
                    name: credential.name.clone(),
                    kind,
                    digest,
                    roles: credential.roles,
                    expires_ms: credential.expires_ms,
                    removed: Arc::new(watch::Sender::new(false)),
                };
                if let Some(same) = previous.iter().find(|previous| previous.is_same(&identity)) {
                    identity.removed = Arc::clone(&same.removed);
                }
                identities.push(Arc::new(identity));
            }
        }
    }
    identities
}

fn tenant(configured: &config::Operator, previous: &[Arc<Identity>]) -> Arc<Operator> {
    let rate = configured.calls_per_second_max.map(|rate| (rate, configured.calls_burst_max.unwrap_or(rate)));
    let is_same = |of: &&Arc<Identity>| *of.operator.id == *configured.id && of.operator.rate == rate;
    match previous.iter().find(is_same) {
        Some(identity) => Arc::clone(&identity.operator),
        None => Arc::new(Operator {
            id: configured.id.as_str().into(),
            rate,
            bucket: rate.map(|(rate, burst)| Bucket::new(rate, burst)),
        }),
    }
}
