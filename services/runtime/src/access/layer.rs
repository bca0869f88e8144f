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
use http::{HeaderMap, HeaderValue, Response, header::AUTHORIZATION};
use parking_lot::RwLock;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tonic::body::Body;

pub const OPERATOR: &str = "motherlode-operator";

type Identities = Arc<[Arc<Identity>]>;

#[derive(Clone)]
pub struct Access {
    identities: Option<Arc<RwLock<Identities>>>,
    clock: Clock,
}

impl Access {
    /// If no operators are configured, the layer admits every caller.
    #[must_use]
    pub fn new(operators: &[Operator], clock: Clock) -> Self {
        let identities = (!operators.is_empty()).then(|| Arc::new(RwLock::new(identities(operators, &[]).into())));
        Self { identities, clock }
    }

    /// Replaces the credentials and ends the open streams of removed credentials. Without configured operators, does
    /// nothing.
    pub fn replace(&self, operators: &[Operator]) {
        let Some(current) = &self.identities else { return };
        let mut current = current.write();
        let new = identities(operators, &current);
        for identity in current.iter().filter(|old| !new.iter().any(|new| new.is_same(old))) {
            identity.removed.send_replace(true);
        }
        *current = new.into();
    }

    /// Checks the caller's credential, call rate and role. Stores a known caller in `caller` even if the call is
    /// refused.
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
    let (found, unknown) = match (bearer(headers), peer.and_then(Peer::certificate)) {
        (Some(token), _) => {
            (find(identities, Kind::Token, token), refuse(Reason::TokenUnknown, "no operator has this token"))
        }
        (None, Some(certificate)) => {
            let unknown = refuse(Reason::CertificateUnknown, "no operator has this certificate");
            (find(identities, Kind::Certificate, certificate), unknown)
        }
        (None, None) => {
            return Err(refuse(Reason::TokenMissing, "the call needs the header `authorization: Bearer <token>`"));
        }
    };
    if found.is_empty() { Err(unknown) } else { select(&found, headers) }
}

/// Returns the bearer token; the scheme's name is case-insensitive (RFC 9110, 11.1).
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.as_bytes().split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

/// Returns the identities of the credential with this secret, one per operator for which it may call. The comparison
/// takes constant time.
fn find<'a>(identities: &'a [Arc<Identity>], kind: Kind, secret: &[u8]) -> Vec<&'a Arc<Identity>> {
    let given = digest(secret);
    let is_given = |identity: &&Arc<Identity>| bool::from(identity.digest.0.ct_eq(&given.0)) && identity.kind == kind;
    identities.iter().filter(is_given).collect()
}

/// Selects the operator named in the call, by default the operator that owns the credential. The refusal does not reveal
/// whether the named operator exists.
fn select<'a>(credential: &[&'a Arc<Identity>], headers: &HeaderMap) -> Result<&'a Arc<Identity>, Refusal> {
    let mut named = headers.get_all(OPERATOR).iter();
    let is_selected =
        |identity: &&&Arc<Identity>, name: &HeaderValue| identity.operator.id.as_bytes() == name.as_bytes();
    let found = match (named.next(), named.next()) {
        (None, _) => credential.iter().find(|identity| identity.is_own),
        (Some(name), None) => credential.iter().find(|identity| is_selected(identity, name)),
        (Some(_), Some(_)) => None,
    };
    found.copied().ok_or_else(not_served)
}

fn not_served() -> Refusal {
    Refusal::new(Reason::OperatorNotServed, "the caller's credential does not serve the operator named in the call")
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
            if !self.is_own {
                return Some(not_served());
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const LIST: &str = "/motherlode.spin.v1.SpinService/ListGames";

    fn operators(served: &str, rate: u32) -> Vec<Operator> {
        let digest = digest(b"secret");
        let text = format!(
            "[[operators]]\nid = 'acme'\ncredentials = [{{ name = 'gateway', token_sha256 = '{digest}', roles = ['play'], \
             operators = [{served}] }}]\n[[operators]]\nid = 'beta'\ncalls_per_second_max = {rate}\n[[operators]]\nid = 'gamma'\n"
        );
        Config::parse(&text).unwrap().operators
    }

    fn admit(access: &Access, operator: &[&'static str]) -> Result<Caller, Reason> {
        let mut headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer secret"))]);
        for name in operator {
            headers.append(OPERATOR, HeaderValue::from_static(name));
        }
        let mut caller = Caller::default();
        access.admit(LIST, &headers, None, &mut caller).map_err(|refusal| refusal.reason())?;
        Ok(caller)
    }

    #[test]
    fn pl_27_a_call_is_for_the_named_operator_and_counts_for_its_rate() {
        let access = Access::new(&operators("'beta'", 2), Arc::new(|| 0));
        let actor = |operator| admit(&access, operator).map(|caller| caller.signature());
        assert_eq!(actor(&[]), Ok("acme/gateway".to_owned()));
        assert_eq!(actor(&["acme"]), Ok("acme/gateway".to_owned()));
        for operator in [&["gamma"][..], &["none"], &["platform"], &[""], &["Beta"], &["beta", "beta"]] {
            assert_eq!(actor(operator), Err(Reason::OperatorNotServed), "{operator:?}");
        }
        assert_eq!(actor(&["beta"]), Ok("beta/gateway".to_owned()));
        access.replace(&operators("'gamma', 'beta'", 2));
        assert_eq!(actor(&["beta"]), Ok("beta/gateway".to_owned()));
        assert_eq!(actor(&["beta"]), Err(Reason::RateLimited), "a reload does not refill an unchanged rate");
        assert_eq!(actor(&[]), Ok("acme/gateway".to_owned()));
        access.replace(&operators("'beta'", 3));
        assert_eq!(actor(&["beta"]), Ok("beta/gateway".to_owned()));
    }

    #[test]
    fn pl_27_the_second_reload_ends_calls_that_the_first_reload_kept() {
        let access = Access::new(&operators("'beta'", 2), Arc::new(|| 0));
        let [own, served] = [&[][..], &["beta"]].map(|operator| admit(&access, operator).unwrap().0.unwrap());
        let ended = |identity: &Identity| identity.expired(0).map(|refusal| refusal.reason());
        access.replace(&operators("'beta'", 3));
        assert_eq!([ended(&own), ended(&served)], [None, None]);
        access.replace(&operators("", 3));
        assert_eq!([ended(&own), ended(&served)], [None, Some(Reason::OperatorNotServed)]);
        access.replace(&operators("", 3)[1..]);
        assert_eq!(ended(&own), Some(Reason::TokenUnknown));
    }
}
