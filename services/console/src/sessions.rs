//! Who has logged in: sessions in memory, each behind a cookie of 256 random bits of which only the digest is kept.

use motherlode_runtime::{
    Clock,
    access::{CALLS, Roles},
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, sync::Arc};
use subtle::ConstantTimeEq;

/// How many sessions there may be, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Milliseconds without a request after which a session is over.
    pub idle_ms_max: i64,
    /// Milliseconds from its log-in after which it's over in any case.
    pub lasts_ms_max: i64,
    /// Sessions of one operator; the one that rested longest makes way for the next.
    pub per_operator_max: usize,
    /// Sessions of all.
    pub all_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { idle_ms_max: 15 * 60_000, lasts_ms_max: 8 * 3_600_000, per_operator_max: 64, all_max: 1024 }
    }
}

/// Who has logged in, as the services know the credential.
#[derive(Debug, Clone)]
pub(crate) struct Who {
    /// The operator; empty where there are none.
    pub(crate) operator: String,
    /// The credential's name.
    pub(crate) credential: String,
    /// Its roles.
    pub(crate) roles: Roles,
}

impl Who {
    /// Whether the table of calls lets this credential make one; where there are no operators, whoever it is.
    pub(crate) fn may(&self, method: &str) -> bool {
        let open = self.operator.is_empty();
        let of_platform = self.operator == motherlode_runtime::config::PLATFORM;
        let call = CALLS.iter().find(|call| call.path.rsplit('/').next() == Some(method));
        call.is_some_and(|call| open || ((!call.platform || of_platform) && call.roles.meets(self.roles)))
    }
}

/// A session, as a request has it.
#[derive(Clone)]
pub(crate) struct Session {
    /// The token that it calls with; none where there are no operators.
    pub(crate) token: Option<Arc<str>>,
    /// Whose it is.
    pub(crate) who: Arc<Who>,
    /// The word that its forms carry.
    pub(crate) word: Arc<str>,
}

struct Open {
    session: Session,
    began_ms: i64,
    used_ms: i64,
}

/// All sessions.
pub(crate) struct Sessions {
    clock: Clock,
    bounds: Bounds,
    open: Mutex<BTreeMap<[u8; 32], Open>>,
}

impl Sessions {
    pub(crate) fn new(clock: Clock, bounds: Bounds) -> Self {
        Self { clock, bounds, open: Mutex::new(BTreeMap::new()) }
    }

    /// The services' time, Unix ms.
    pub(crate) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    /// Opens a session, and returns the cookie's value. Where there are too many, the one that rested longest is over.
    ///
    /// # Errors
    /// The operating system gives no random bytes.
    pub(crate) fn open(&self, token: Option<&str>, who: Who) -> Result<String, getrandom::Error> {
        let (id, word) = (random()?, random()?);
        let now_ms = (self.clock)();
        let session = Session { token: token.map(Arc::from), who: Arc::new(who), word: word.into() };
        let mut open = self.open.lock();
        open.retain(|_, of| self.bounds.alive(of, now_ms));
        let operator = session.who.operator.clone();
        let of_operator = |of: &Open| of.session.who.operator == operator;
        if open.values().filter(|of| of_operator(of)).count() >= self.bounds.per_operator_max {
            end_idlest(&mut open, of_operator);
        }
        if open.len() >= self.bounds.all_max {
            end_idlest(&mut open, |_| true);
        }
        open.insert(digest(&id), Open { session, began_ms: now_ms, used_ms: now_ms });
        Ok(id)
    }

    /// Finds the session of a cookie, which is used now.
    pub(crate) fn find(&self, id: &str) -> Option<Session> {
        let (now_ms, name) = ((self.clock)(), digest(id));
        let mut open = self.open.lock();
        let found = open.get_mut(&name)?;
        if !self.bounds.alive(found, now_ms) {
            open.remove(&name);
            return None;
        }
        found.used_ms = now_ms;
        Some(found.session.clone())
    }

    /// Finds the session of a cookie without its being used: a page that asks by itself is nobody at work.
    pub(crate) fn look(&self, id: &str) -> Option<Session> {
        let (now_ms, open) = ((self.clock)(), self.open.lock());
        open.get(&digest(id)).filter(|of| self.bounds.alive(of, now_ms)).map(|of| of.session.clone())
    }

    /// Ends the session of a cookie.
    pub(crate) fn end(&self, id: &str) {
        self.open.lock().remove(&digest(id));
    }
}

impl Bounds {
    fn alive(&self, of: &Open, now_ms: i64) -> bool {
        now_ms.saturating_sub(of.used_ms) < self.idle_ms_max && now_ms.saturating_sub(of.began_ms) < self.lasts_ms_max
    }
}

fn end_idlest(open: &mut BTreeMap<[u8; 32], Open>, of: impl Fn(&Open) -> bool) {
    let idlest = open.iter().filter(|(_, one)| of(one)).min_by_key(|(_, one)| one.used_ms).map(|(name, _)| *name);
    if let Some(name) = idlest {
        open.remove(&name);
    }
}

/// Whether a form carries the word of its session, compared in a time that says nothing of how much of it is right.
pub(crate) fn is_word(session: &Session, given: &str) -> bool {
    digest(given).ct_eq(&digest(&session.word)).into()
}

/// A name for a request, never used before: a form that is sent twice has one effect.
///
/// # Errors
/// The operating system gives no random bytes.
pub(crate) fn request_id() -> Result<String, getrandom::Error> {
    Ok(format!("console-{}", &random()?[..32]))
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// 256 random bits in hexadecimal digits.
fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(motherlode_proto::convert::play::hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    fn who(operator: &str) -> Who {
        Who { operator: operator.to_owned(), credential: "c0".to_owned(), roles: Roles::SUPPORT }
    }

    fn on_clock(bounds: Bounds) -> (Sessions, Arc<AtomicI64>) {
        let now = Arc::new(AtomicI64::new(1_000_000));
        let told = Arc::clone(&now);
        (Sessions::new(Arc::new(move || told.load(Ordering::SeqCst)), bounds), now)
    }

    #[test]
    fn pl_27_a_session_ends_with_rest_and_at_its_longest_whatever_it_does() {
        let bounds = Bounds { idle_ms_max: 100, lasts_ms_max: 250, ..Bounds::default() };
        let (sessions, now) = on_clock(bounds);
        let id = sessions.open(Some("t"), who("acme")).unwrap();
        for _ in 0..2 {
            now.fetch_add(99, Ordering::SeqCst);
            assert!(sessions.find(&id).is_some(), "it slides");
        }
        now.fetch_add(52, Ordering::SeqCst);
        assert!(sessions.find(&id).is_none(), "its longest is over");
        let id = sessions.open(Some("t"), who("acme")).unwrap();
        now.fetch_add(100, Ordering::SeqCst);
        assert!(sessions.find(&id).is_none(), "it rested");
        now.fetch_sub(100, Ordering::SeqCst);
        assert!(sessions.find(&id).is_none(), "what is over stays over");
    }

    #[test]
    fn pl_27_what_a_page_asks_by_itself_keeps_no_session_alive() {
        let (sessions, now) = on_clock(Bounds { idle_ms_max: 100, ..Bounds::default() });
        let id = sessions.open(Some("t"), who("acme")).unwrap();
        now.fetch_add(99, Ordering::SeqCst);
        assert!(sessions.look(&id).is_some());
        now.fetch_add(1, Ordering::SeqCst);
        assert!(sessions.look(&id).is_none() && sessions.find(&id).is_none(), "it rested");
    }

    #[test]
    fn pl_27_sessions_are_bounded_per_operator_and_in_all() {
        let (sessions, now) = on_clock(Bounds { per_operator_max: 2, all_max: 3, ..Bounds::default() });
        let open = |operator: &str| {
            now.fetch_add(1, Ordering::SeqCst);
            sessions.open(None, who(operator)).unwrap()
        };
        let (first, second) = (open("acme"), open("acme"));
        let (bravo, third) = (open("bravo"), open("acme"));
        assert!(sessions.find(&first).is_none(), "the third of acme's took the place of the first");
        now.fetch_add(1, Ordering::SeqCst);
        assert!(sessions.find(&second).is_some() && sessions.find(&third).is_some());
        let other = open("carol");
        assert!(sessions.find(&bravo).is_none(), "the one that rested longest made way");
        assert!(sessions.find(&other).is_some() && sessions.find(&second).is_some());
    }

    #[test]
    fn pl_27_ids_are_256_random_bits_and_end_with_the_log_out() {
        let (sessions, _) = on_clock(Bounds::default());
        let (one, other) = (sessions.open(None, who("")).unwrap(), sessions.open(None, who("")).unwrap());
        assert_eq!((one.len(), other.len()), (64, 64));
        assert_ne!(one, other);
        let session = sessions.find(&one).unwrap();
        assert!(is_word(&session, &session.word) && !is_word(&session, &one) && !is_word(&session, ""));
        assert_ne!(session.word, sessions.find(&other).unwrap().word);
        sessions.end(&one);
        assert!(sessions.find(&one).is_none() && sessions.find(&other).is_some());
    }
}
