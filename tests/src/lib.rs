//! What the end-to-end tests share: a service in this process or in one of its own, and a client of it.

mod client;
mod games;
pub mod operators;
mod player;
mod process;

pub use client::{Client, Force, account, bet, next_choice, pick, reason, vials};
pub use games::{campaign, checked, free_round, play, smallest, stake_on};
pub use player::Player;
pub use process::Process;

use motherlode::server::Server;
use motherlode_ledger::Options;
use motherlode_log::{Store, sim::SimDisk};
use motherlode_runtime::Config;
use motherlode_spin::Dealer;
use std::{path::Path, sync::Arc};

/// The currency that tests use where none matters.
pub const EUR: &str = "EUR";

/// A configuration for tests: any port, small segments.
#[must_use]
pub fn config(data: &Path) -> Config {
    let mut config = Config { listen: ([127, 0, 0, 1], 0).into(), data: data.to_owned(), ..Config::default() };
    config.limits.segment_bytes = 1 << 20;
    // Once at the start, and then when a test asks for it.
    config.interruption.sweep_ms = 3_600_000;
    config
}

/// Starts a service in this process on the embedded log of a folder.
///
/// # Panics
/// When it does not start.
pub async fn start(data: &Path) -> Server {
    let config = config(data);
    let store = motherlode::server::open_store(&config).expect("the log opens");
    start_on(&config, store).await
}

/// Starts a service in this process on a store.
///
/// # Panics
/// When it does not start.
pub async fn start_on(config: &Config, store: Box<dyn Store>) -> Server {
    start_with(config, store, Options::default()).await
}

/// Starts a service in this process on a store, with a ledger that works as said: on a clock of the test's own, say.
///
/// # Panics
/// When it does not start.
pub async fn start_with(config: &Config, store: Box<dyn Store>, options: Options) -> Server {
    Server::start(config, store, options, dealer()).await.expect("the service starts")
}

/// A dealer that deals the same seeds each time: what a test meets is no matter of luck, and a failure comes again.
/// (Where calls run at the same time, which of them gets which seed is still open.)
fn dealer() -> Dealer {
    Dealer::from_master(*b"the same for all tests, for good")
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
