//! Helpers of the end-to-end tests: a service in this process or in one of its own, and a client of it.

pub mod answers;
mod cable;
mod client;
mod commits;
mod games;
pub mod hostile;
pub mod incidents;
mod old;
pub mod operators;
pub mod partitions;
mod player;
pub mod pool;
mod process;
mod script;
pub mod seamless;
mod server;
mod split;

pub use cable::Cable;
pub use client::{Client, Force, account, bet, next_choice, pick, reason, vials};
pub use commits::commits;
pub use games::{audited, audited_parts, campaign, checked, free_round, play, replayed, smallest, stake_on};
pub use old::deposit_of_old;
pub use player::Player;
pub use process::{Process, channel, serving, until};
pub use script::scripted;
pub use server::Server;

use motherlode_books::HOME;
use motherlode_ledger::{Options, Stores};
use motherlode_log::{MemoryStore, Store};
use motherlode_runtime::{
    Config,
    config::{self, AllowUnsafe},
};
use motherlode_server::LogLocation;
use motherlode_spin::Dealer;
use motherlode_testkit::sim::SimDisk;
use std::{env, path::Path, sync::Arc};

/// The currency that tests use where none matters.
pub const EUR: &str = "EUR";

/// A configuration for tests: any port, small segments.
#[must_use]
pub fn config(data: &Path) -> Config {
    let mut config = Config { listen: ([127, 0, 0, 1], 0).into(), data: data.to_owned(), ..Config::default() };
    config.store = store(data);
    config.partitions = partitions();
    config.limits.segment_bytes = 1 << 20;
    // Once at the start, and then when a test asks for it.
    config.interruption.sweep_ms = 3_600_000;
    config
}

/// How many partitions a service has: as many as MOTHERLODE_TESTS_PARTITIONS says (`tests/run partitions`), else one. So
/// the same tests run with any number.
fn partitions() -> u32 {
    let wanted = env::var("MOTHERLODE_TESTS_PARTITIONS").ok();
    wanted.map_or(1, |wanted| wanted.parse().expect("MOTHERLODE_TESTS_PARTITIONS is a number"))
}

/// Where a service with this data folder keeps its log: there, or on the server that MOTHERLODE_TESTS_STORE names
/// (`tests/run jetstream`), in a stream of its own. So the same tests run on either.
fn store(data: &Path) -> config::Store {
    let Ok(url) = env::var("MOTHERLODE_TESTS_STORE") else { return config::Store::default() };
    let name = data.to_string_lossy().replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    // One server by itself: what is tested here is the service.
    let allow_unsafe = AllowUnsafe { replicas: true, sync_interval: true, ..AllowUnsafe::default() };
    config::Store { url: Some(url), stream: name, replicas: 1, allow_unsafe, ..config::Store::default() }
}

/// Starts a service in this process on the log of a folder.
///
/// # Panics
/// When it does not start.
pub async fn start(data: &Path) -> Server {
    let config = config(data);
    let stores = motherlode_server::open_stores(&config).expect("the log opens");
    start_on(&config, stores).await
}

/// The log of a service that a test starts only once: in memory, or on the server that the tests' logs are kept on.
///
/// # Panics
/// When it does not open.
#[must_use]
pub fn fresh(config: &Config) -> Box<dyn Store> {
    match config.store.url {
        Some(_) => LogLocation::of(config).open(HOME).expect("the log opens"),
        None => Box::new(MemoryStore::new(HOME)),
    }
}

/// Starts a service in this process on a fresh log.
///
/// # Panics
/// When it does not start.
pub async fn start_fresh(config: &Config) -> Server {
    start_on(config, fresh(config)).await
}

/// Starts a service in this process on a store.
///
/// # Panics
/// When it does not start.
pub async fn start_on(config: &Config, stores: impl Into<Stores>) -> Server {
    start_with(config, stores, Options::default()).await
}

/// Starts a service in this process on stores, with a ledger that works as said: on a clock of the test's own, say. Partitions
/// that the configuration has and the test brings no store for are where the configuration has them.
///
/// # Panics
/// When it does not start.
pub async fn start_with(config: &Config, stores: impl Into<Stores>, options: Options) -> Server {
    Server::start(config, whole(config, stores), options, dealer()).await
}

/// The same with a dealer of the test's own.
///
/// # Panics
/// When it does not start.
pub async fn start_dealt(config: &Config, stores: impl Into<Stores>, options: Options, dealer: Dealer) -> Server {
    Server::start(config, whole(config, stores), options, dealer).await
}

/// Stores with those of the partitions that the configuration has and that are not among them, where it has them.
///
/// # Panics
/// When one does not open.
pub fn whole(config: &Config, stores: impl Into<Stores>) -> Stores {
    let mut stores = stores.into();
    for partition in (0..config.partitions).skip(stores.stores.len()) {
        stores.stores.push(LogLocation::of(config).open(partition).expect("the partition's log opens"));
    }
    stores
}

/// A dealer with the same key each time: what a test meets is no matter of luck, and a failure comes again. A seed follows from
/// it, the player, the number of the draw and the client seed or request id.
#[must_use]
pub fn dealer() -> Dealer {
    scripted(Dealer::from_master(*b"the same for all tests, for good"))
}

/// Opens a log on a simulated disk.
///
/// # Panics
/// When it does not open.
#[must_use]
pub fn store_on(disk: &SimDisk) -> Box<dyn Store> {
    let options = motherlode_log::Options { segment_bytes: 1 << 20, zero_bytes: 64 << 10 };
    let store = motherlode_log::SegmentStore::open_on(Arc::new(disk.clone()), Path::new("/log"), 0, options);
    Box::new(store.expect("the log opens"))
}
