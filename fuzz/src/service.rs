//! Complete service in this process, with a log in memory.

use motherlode_ledger::Options;
use motherlode_log::{MemoryStore, Store};
use motherlode_runtime::Config;
use motherlode_server::Server;
use motherlode_spin::Dealer;
use std::{net::SocketAddr, sync::LazyLock};
use tokio::runtime::Runtime;

pub static SERVICE: LazyLock<Service> = LazyLock::new(Service::start);

pub struct Service {
    pub runtime: Runtime,
    pub server: Server,
    _folder: tempfile::TempDir,
}

impl Service {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = threads.expect("threads");
        let mut config =
            Config { listen: ([127, 0, 0, 1], 0).into(), data: folder.path().to_owned(), ..Config::default() };
        config.limits.award_wait_ms_max = 0;
        config.limits.request_ms_max = 1_000;
        config.limits.session_hold_ms = 0;
        let store: Box<dyn Store> = Box::new(MemoryStore::new(0));
        let dealer = Dealer::from_master(*b"the same for each run, of course");
        let server = runtime.block_on(Server::start(&config, store, Options::default(), dealer));
        Self { runtime, server: server.expect("the service starts"), _folder: folder }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Panics if the books do not balance (PL-09).
    pub fn check(&self) {
        let sums = self.server.ledger().books(|books| books.trial_balance());
        assert!(sums.is_empty(), "the trial balance: {sums:?}");
    }
}
