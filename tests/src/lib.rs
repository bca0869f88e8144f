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

use motherlode_ledger::{Options, Stores};
use motherlode_log::{MemoryStore, Store};
use motherlode_runtime::{
    Config,
    config::{self, AllowUnsafe},
};
use motherlode_server::LogLocation;
use motherlode_spin::Dealer;
use motherlode_state::HOME;
use motherlode_testkit::sim::SimDisk;
use std::{env, path::Path, sync::Arc};

pub const EUR: &str = "EUR";

#[must_use]
pub fn config(data: &Path) -> Config {
    let mut config = Config { listen: ([127, 0, 0, 1], 0).into(), data: data.to_owned(), ..Config::default() };
    config.store = store(data);
    config.partitions = partitions();
    config.limits.segment_bytes = 1 << 20;
    // The service resolves abandoned rounds when it starts; after that, only if a test starts a sweep.
    config.interruption.sweep_ms = 3_600_000;
    // Tests copy logs without their signing keys.
    config.proofs.accept_new_key = true;
    config
}

fn partitions() -> u32 {
    let wanted = env::var("MOTHERLODE_TESTS_PARTITIONS").ok();
    wanted.map_or(1, |wanted| wanted.parse().expect("MOTHERLODE_TESTS_PARTITIONS must be a number"))
}

fn store(data: &Path) -> config::Store {
    let Ok(url) = env::var("MOTHERLODE_TESTS_STORE") else { return config::Store::default() };
    let name = data.to_string_lossy().replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    let allow_unsafe = AllowUnsafe { replicas: true, sync_interval: true, ..AllowUnsafe::default() };
    config::Store { url: Some(url), stream: name, replicas: 1, allow_unsafe, ..config::Store::default() }
}

pub async fn start(data: &Path) -> Server {
    let config = config(data);
    let stores = motherlode_server::open_stores(&config).expect("the log opens");
    start_on(&config, stores).await
}

#[must_use]
pub fn fresh(config: &Config) -> Box<dyn Store> {
    match config.store.url {
        Some(_) => LogLocation::from_config(config).open(HOME).expect("the log opens"),
        None => Box::new(MemoryStore::new(HOME)),
    }
}

pub async fn start_fresh(config: &Config) -> Server {
    start_on(config, fresh(config)).await
}

pub async fn start_on(config: &Config, stores: impl Into<Stores>) -> Server {
    start_with(config, stores, Options::default()).await
}

pub async fn start_with(config: &Config, stores: impl Into<Stores>, options: Options) -> Server {
    Server::start(config, whole(config, stores), options, dealer()).await
}

pub async fn start_dealt(config: &Config, stores: impl Into<Stores>, options: Options, dealer: Dealer) -> Server {
    Server::start(config, whole(config, stores), options, dealer).await
}

pub fn whole(config: &Config, stores: impl Into<Stores>) -> Stores {
    let mut stores = stores.into();
    for partition in (0..config.partitions).skip(stores.stores.len()) {
        stores.stores.push(LogLocation::from_config(config).open(partition).expect("the partition's log opens"));
    }
    stores
}

#[must_use]
pub fn dealer() -> Dealer {
    scripted(Dealer::from_master(*b"the same for all tests, for good"))
}

#[must_use]
pub fn store_on(disk: &SimDisk) -> Box<dyn Store> {
    let options = motherlode_log::Options { segment_bytes: 1 << 20, zero_bytes: 64 << 10 };
    let store = motherlode_log::SegmentStore::open_on(Arc::new(disk.clone()), Path::new("/log"), 0, options);
    Box::new(store.expect("the log opens"))
}
