//! Console sessions in memory, keyed by the digest of a cookie of 256 random bits.

use motherlode_runtime::{
    Clock,
    access::{CALLS, Roles},
};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use subtle::ConstantTimeEq;

#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub idle_ms_max: i64,
    pub lasts_ms_max: i64,
    /// Maximum number of sessions per operator. A new session above this limit ends a session of the credential with
    /// the most sessions: the session that has been idle longest.
    pub per_operator_max: usize,
    /// Maximum number of sessions of all operators together. A new session above this limit ends a session of the
    /// operator with the most sessions.
    pub all_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { idle_ms_max: 15 * 60_000, lasts_ms_max: 8 * 3_600_000, per_operator_max: 64, all_max: 1024 }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Who {
    pub(crate) operator: String,
    pub(crate) credential: String,
    pub(crate) roles: Roles,
}

impl Who {
    pub(crate) fn holder(&self) -> Option<(&str, &str)> {
        (!self.operator.is_empty()).then_some((self.operator.as_str(), self.credential.as_str()))
    }

    pub(crate) fn may(&self, method: &str) -> bool {
        let open = self.operator.is_empty();
        let of_platform = self.operator == motherlode_runtime::config::PLATFORM;
        let call = CALLS.iter().find(|call| call.path.rsplit('/').next() == Some(method));
        call.is_some_and(|call| open || ((!call.platform || of_platform) && call.roles.meets(self.roles)))
    }
}

const SEARCHES_MAX: usize = 8;

#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) token: Option<Arc<str>>,
    pub(crate) who: Arc<Who>,
    pub(crate) word: Arc<str>,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Default)]
struct Memory {
    notice: Option<String>,
    searches: VecDeque<String>,
}

impl Session {
    pub(crate) fn notify(&self, notice: impl Into<String>) {
        self.memory.lock().notice = Some(notice.into());
    }

    pub(crate) fn take_notice(&self) -> Option<String> {
        self.memory.lock().notice.take()
    }

    pub(crate) fn add_search(&self, text: &str) {
        let searches = &mut self.memory.lock().searches;
        searches.retain(|other| other != text);
        searches.truncate(SEARCHES_MAX - 1);
        searches.push_front(text.to_owned());
    }

    pub(crate) fn searches(&self) -> Vec<String> {
        self.memory.lock().searches.iter().cloned().collect()
    }
}

struct Open {
    session: Session,
    began_ms: i64,
    used_ms: i64,
}

pub(crate) struct Sessions {
    clock: Clock,
    bounds: Bounds,
    open: Mutex<BTreeMap<[u8; 32], Open>>,
}

impl Sessions {
    pub(crate) fn new(clock: Clock, bounds: Bounds) -> Self {
        Self { clock, bounds, open: Mutex::new(BTreeMap::new()) }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    pub(crate) fn open(&self, token: Option<&str>, who: Who) -> Result<String, getrandom::Error> {
        let (id, word) = (random()?, random()?);
        let now_ms = (self.clock)();
        let (token, who, word) = (token.map(Arc::from), Arc::new(who), word.into());
        let session = Session { token, who, word, memory: Arc::default() };
        let mut open = self.open.lock();
        open.retain(|_, of| self.bounds.alive(of, now_ms));
        let name = digest(&id);
        let operator = session.who.operator.clone();
        open.insert(name, Open { session, began_ms: now_ms, used_ms: now_ms });
        if open.values().filter(|of| of.session.who.operator == operator).count() > self.bounds.per_operator_max {
            make_way(&mut open, &name, &operator);
        }
        if open.len() > self.bounds.all_max {
            let most = most(open.values().map(|of| of.session.who.operator.as_str())).map(str::to_owned);
            most.iter().for_each(|operator| make_way(&mut open, &name, operator));
        }
        Ok(id)
    }

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

    /// Finds a session without restarting its idle time, for automatic requests.
    pub(crate) fn look(&self, id: &str) -> Option<Session> {
        let (now_ms, open) = ((self.clock)(), self.open.lock());
        open.get(&digest(id)).filter(|of| self.bounds.alive(of, now_ms)).map(|of| of.session.clone())
    }

    pub(crate) fn end(&self, id: &str) {
        self.open.lock().remove(&digest(id));
    }

    pub(crate) fn end_all(&self, who: &Who) {
        self.open.lock().retain(|_, of| of.session.who.holder() != who.holder());
    }
}

impl Bounds {
    fn alive(&self, of: &Open, now_ms: i64) -> bool {
        now_ms.saturating_sub(of.used_ms) < self.idle_ms_max && now_ms.saturating_sub(of.began_ms) < self.lasts_ms_max
    }
}

fn make_way(open: &mut BTreeMap<[u8; 32], Open>, newest: &[u8; 32], operator: &str) {
    let theirs = || open.iter().filter(|(_, one)| one.session.who.operator == operator);
    let of_credential =
        |one: &Open| theirs().filter(|(_, other)| other.session.who.holder() == one.session.who.holder()).count();
    let others = theirs().filter(|(name, _)| *name != newest);
    let idlest = others.min_by_key(|(_, one)| (Reverse(of_credential(one)), one.used_ms));
    if let Some(name) = idlest.map(|(name, _)| *name) {
        open.remove(&name);
    }
}

fn most<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_insert(0_usize) += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(name, _)| name)
}

/// Compares the anti-forgery token in constant time.
pub(crate) fn is_word(session: &Session, given: &str) -> bool {
    digest(given).ct_eq(&digest(&session.word)).into()
}

pub(crate) fn request_id() -> Result<String, getrandom::Error> {
    Ok(format!("console-{}", &random()?[..32]))
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

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
            assert!(sessions.find(&id).is_some(), "each use extends the session");
        }
        now.fetch_add(52, Ordering::SeqCst);
        assert!(sessions.find(&id).is_none(), "the maximum duration is over");
        let id = sessions.open(Some("t"), who("acme")).unwrap();
        now.fetch_add(100, Ordering::SeqCst);
        assert!(sessions.find(&id).is_none(), "the session was idle");
        now.fetch_sub(100, Ordering::SeqCst);
        assert!(sessions.find(&id).is_none(), "an ended session stays ended");
    }

    #[test]
    fn pl_27_what_a_page_asks_by_itself_keeps_no_session_alive() {
        let (sessions, now) = on_clock(Bounds { idle_ms_max: 100, ..Bounds::default() });
        let id = sessions.open(Some("t"), who("acme")).unwrap();
        now.fetch_add(99, Ordering::SeqCst);
        assert!(sessions.look(&id).is_some());
        now.fetch_add(1, Ordering::SeqCst);
        assert!(sessions.look(&id).is_none() && sessions.find(&id).is_none(), "the session was idle");
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
        assert!(sessions.find(&first).is_none(), "acme's third session ended its first");
        now.fetch_add(1, Ordering::SeqCst);
        assert!(sessions.find(&second).is_some());
        now.fetch_add(1, Ordering::SeqCst);
        assert!(sessions.find(&third).is_some());
        let other = open("carol");
        assert!(sessions.find(&second).is_none(), "a session of the operator with the most sessions ended");
        assert!(sessions.find(&other).is_some() && sessions.find(&bravo).is_some() && sessions.find(&third).is_some());
    }

    #[test]
    fn at_b4_log_ins_of_one_credential_end_its_own_sessions_and_no_others() {
        let (sessions, now) = on_clock(Bounds { per_operator_max: 4, ..Bounds::default() });
        let open = |credential: &str| {
            now.fetch_add(1, Ordering::SeqCst);
            sessions.open(None, Who { credential: credential.to_owned(), ..who("acme") }).unwrap()
        };
        let mine = [open("admin"), open("audit")];
        let many: Vec<_> = (0..10).map(|_| open("support")).collect();
        assert!(mine.iter().all(|id| sessions.find(id).is_some()));
        let alive = |ids: &[String]| ids.iter().filter(|id| sessions.look(id).is_some()).count();
        assert_eq!((alive(&many), alive(&many[8..])), (2, 2), "the credential's newest sessions remain");
        now.fetch_add(1, Ordering::SeqCst);
        assert!(sessions.find(&many[9]).is_some());
        let (third, fourth) = (open("wallet"), open("play"));
        assert_eq!((alive(&mine), alive(&many), alive(&[third, fourth])), (1, 1, 2), "each credential has one session");
        sessions.end_all(&Who { credential: "support".to_owned(), ..who("acme") });
        assert_eq!((alive(&mine), alive(&many)), (1, 0));
    }

    #[test]
    fn a_notice_is_shown_once_and_the_latest_searches_come_first() {
        let (sessions, _) = on_clock(Bounds::default());
        let id = sessions.open(None, who("acme")).unwrap();
        sessions.find(&id).unwrap().notify("Voided.");
        let session = sessions.find(&id).unwrap();
        assert_eq!((session.take_notice().as_deref(), session.take_notice()), (Some("Voided."), None));
        for number in 0..10 {
            session.add_search(&number.to_string());
        }
        session.add_search("5");
        assert_eq!(sessions.find(&id).unwrap().searches(), ["5", "9", "8", "7", "6", "4", "3", "2"]);
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
