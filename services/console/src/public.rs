//! Rate limits of the public pages, which need no credential, per address and in total. The limits are checked before
//! the service is called.

use crate::{document, failure::Failure};
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use maud::{Markup, html};
use motherlode_runtime::connections::network;
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Code, Status};

/// A proof costs more, because it reads all records of the round and waits for a checkpoint.
pub(crate) const PAGE_COST: u32 = 1;
pub(crate) const PROOF_COST: u32 = 4;

const OWN: Rate = Rate { burst: 40, every: Duration::from_secs(1) };
const ALL: Rate = Rate { burst: 400, every: Duration::from_millis(20) };
const ADDRESSES_MAX: usize = 4_096;
const AT_ONCE_MAX: usize = 16;
const RETRY_SECONDS: &str = "10";

/// Paths on the public host name, in addition to [`PREFIX`].
const PATHS: [&str; 4] = ["/check.js", "/console.css", "/icon.svg", "/keys.js"];

#[derive(Debug, Clone, Copy)]
struct Rate {
    burst: u32,
    /// Time in which a bucket regains one unit of cost.
    every: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: u32,
    since: Instant,
}

impl Bucket {
    fn new(rate: Rate, now: Instant) -> Self {
        Self { left: rate.burst, since: now }
    }

    fn refill(&mut self, rate: Rate, now: Instant) {
        let regained = now.duration_since(self.since).as_nanos() / rate.every.as_nanos();
        let regained = u32::try_from(regained).unwrap_or(u32::MAX).min(rate.burst);
        self.left = self.left.saturating_add(regained).min(rate.burst);
        self.since = if self.left == rate.burst { now } else { self.since + rate.every * regained };
    }
}

struct Buckets {
    all: Bucket,
    own: BTreeMap<IpAddr, Bucket>,
}

impl Buckets {
    /// Takes the cost from the address's bucket and the common bucket. If either bucket has too little, refuses the
    /// request and takes nothing. A new address is refused while too many addresses are active.
    fn take(&mut self, address: IpAddr, cost: u32, now: Instant) -> bool {
        self.all.refill(ALL, now);
        if self.all.left < cost || !self.has_room(address, now) {
            return false;
        }
        let own = self.own.entry(address).or_insert_with(|| Bucket::new(OWN, now));
        own.refill(OWN, now);
        let taken = own.left >= cost;
        if taken {
            own.left -= cost;
            self.all.left -= cost;
        }
        taken
    }

    fn has_room(&mut self, address: IpAddr, now: Instant) -> bool {
        if self.own.len() >= ADDRESSES_MAX && !self.own.contains_key(&address) {
            self.own.retain(|_, bucket| {
                bucket.refill(OWN, now);
                bucket.left < OWN.burst
            });
        }
        self.own.len() < ADDRESSES_MAX || self.own.contains_key(&address)
    }
}

pub(crate) struct Public {
    host: String,
    buckets: Mutex<Buckets>,
    turns: Arc<Semaphore>,
}

impl Public {
    pub(crate) fn new(host: String) -> Self {
        let buckets = Buckets { all: Bucket::new(ALL, Instant::now()), own: BTreeMap::new() };
        Self { host, buckets: Mutex::new(buckets), turns: Arc::new(Semaphore::new(AT_ONCE_MAX)) }
    }

    pub(crate) fn has_host(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        name.map_or(host, |(name, _)| name).eq_ignore_ascii_case(&self.host)
    }

    pub(crate) fn serves(path: &str) -> bool {
        path.starts_with(PREFIX) || PATHS.contains(&path)
    }

    pub(crate) fn admit(&self, address: IpAddr, cost: u32) -> Result<OwnedSemaphorePermit, Failure> {
        if !self.buckets.lock().take(network(address), cost, Instant::now()) {
            return Err(busy());
        }
        Arc::clone(&self.turns).try_acquire_owned().map_err(|_| busy())
    }
}

pub(crate) const PREFIX: &str = "/check/";

fn busy() -> Failure {
    Failure::Said(StatusCode::TOO_MANY_REQUESTS, "")
}

/// Shows a refusal without its cause, so that the answer does not reveal whether the round exists.
pub(crate) fn refused(failure: &Failure) -> Response {
    let code = match failure {
        Failure::Said(code, _) => *code,
        Failure::Refused(status) => http_status(status),
        _ => StatusCode::NOT_FOUND,
    };
    let (title, text) = match code {
        StatusCode::TOO_MANY_REQUESTS => ("Too many requests", "Too many pages were requested. Try again in a minute."),
        StatusCode::NOT_FOUND => ("Not found", "There is no such round, or the link is incomplete."),
        _ => ("Not available", "The service cannot show the round now. Try again later."),
    };
    let mut answer = alone(code, title, &html! { p { (text) } });
    if code != StatusCode::NOT_FOUND {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
    }
    answer
}

fn http_status(status: &Status) -> StatusCode {
    match status.code() {
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unavailable | Code::DeadlineExceeded | Code::Internal | Code::Unknown => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::NOT_FOUND,
    }
}

fn alone(code: StatusCode, title: &str, content: &Markup) -> Response {
    let body = html! { body { main.alone #main { h1 { (title) } (content) } } };
    document::answer(code, document::document(title, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn buckets(now: Instant) -> Buckets {
        Buckets { all: Bucket::new(ALL, now), own: BTreeMap::new() }
    }

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from(number).into()
    }

    #[test]
    fn uf_03_an_address_gets_a_burst_of_pages_and_then_one_per_second() {
        let now = Instant::now();
        let mut buckets = buckets(now);
        let pages = (0..100).filter(|_| buckets.take(address(1), PAGE_COST, now)).count();
        assert_eq!(pages, 40);
        assert!(buckets.take(address(2), PAGE_COST, now), "another address is not affected");
        let later = |ms| now + Duration::from_millis(ms);
        assert!(!buckets.take(address(1), PAGE_COST, later(999)));
        assert!(buckets.take(address(1), PAGE_COST, later(1_000)));
        assert!(!buckets.take(address(1), PAGE_COST, later(1_999)));
        assert!(buckets.take(address(1), PAGE_COST, later(2_000)));
        assert!(!buckets.take(address(1), PROOF_COST, later(5_999)));
        assert!(buckets.take(address(1), PROOF_COST, later(6_000)));
    }

    #[test]
    fn uf_03_all_addresses_share_a_limit_and_the_table_is_bounded() {
        let now = Instant::now();
        let mut all = buckets(now);
        let pages = (0..1_000).filter(|number| all.take(address(*number), PAGE_COST, now)).count();
        assert_eq!(pages, 400);
        assert_eq!(all.own.len(), 400, "a refused address takes no room");
        let busy = Bucket { left: 0, since: now };
        all.own = (0..4_096).map(|number| (address(number), busy)).collect();
        let later = |ms| now + Duration::from_millis(ms);
        assert!(!all.take(address(20_000), PAGE_COST, later(20)), "the table is full of active addresses");
        assert!(!all.own.contains_key(&address(20_000)));
        assert!(all.take(address(20_000), PAGE_COST, later(60_000)), "addresses without recent requests make room");
        assert_eq!(all.own.len(), 1);
    }

    #[test]
    fn pl_27_the_public_host_name_is_compared_without_its_port() {
        let public = Public::new("check.example.com".into());
        for host in ["check.example.com", "CHECK.example.com:443"] {
            assert!(public.has_host(host), "{host}");
        }
        for host in ["", "example.com", "check.example.com.evil.example", "check.example.com:x"] {
            assert!(!public.has_host(host), "{host}");
        }
        for (path, is_served) in
            [("/check/a/b/1", true), ("/check.js", true), ("/", false), ("/login", false), ("/v1/a/b", false)]
        {
            assert_eq!(Public::serves(path), is_served, "{path}");
        }
    }
}
