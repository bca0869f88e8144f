//! A service in this process. If `MOTHERLODE_TESTS_ROLES` is `split` (`tests/run split`), the service consists of three
//! servers with separate roles.

use crate::{seamless, split::Split};
use motherlode_ledger::{Handle, Ledgers, Options, Stores};
use motherlode_log::Position;
use motherlode_report::SelfCheck;
use motherlode_runtime::Config;
use motherlode_server::{self as server, ServeError};
use motherlode_spin::{AbandonedRounds, Dealer};
use motherlode_state::{Account, Currency, PlayerState, StreamId};
use std::{env, net::SocketAddr};

pub struct Server(Parts, seamless::Running);

enum Parts {
    One(Box<server::Server>),
    Split(Box<Split>),
}

impl Server {
    pub(crate) async fn start(config: &Config, stores: Stores, options: Options, dealer: Dealer) -> Self {
        let mut options = Options { snapshot_commits: 20, ..options };
        if let Ok(players) = env::var("MOTHERLODE_TESTS_PLAYERS") {
            options.players_max = players.parse().expect("MOTHERLODE_TESTS_PLAYERS must be a number");
        }
        let mut config = config.clone();
        seamless::give_wallets(&mut config);
        let config = &config;
        let split = env::var("MOTHERLODE_TESTS_ROLES").is_ok_and(|roles| roles == "split") && config.tls.is_none();
        let parts = match split {
            true => Parts::Split(Box::new(Split::start(config, stores, options, dealer).await)),
            false => {
                let one = server::Server::start(config, stores, options, dealer).await.expect("the service starts");
                let unchanged = config.clone();
                one.reloader().read_from(move || Ok(unchanged.clone()));
                Parts::One(Box::new(one))
            }
        };
        let ledgers = match &parts {
            Parts::One(server) => server.ledgers(),
            Parts::Split(split) => split.ledger.ledgers(),
        };
        let running = seamless::Running::begin(ledgers);
        Self(parts, running)
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        match &self.0 {
            Parts::One(server) => server.address(),
            Parts::Split(split) => split.address,
        }
    }

    #[must_use]
    pub fn console(&self) -> SocketAddr {
        let address = match &self.0 {
            Parts::One(server) => server.console_address(),
            Parts::Split(_) => None,
        };
        address.expect("the service has a console")
    }

    #[must_use]
    pub fn tiles(&self) -> SocketAddr {
        let address = match &self.0 {
            Parts::One(server) => server.tiles_address(),
            Parts::Split(split) => split.ledger.tiles_address(),
        };
        address.expect("the service serves tile files")
    }

    #[must_use]
    pub fn ledger(&self) -> &Handle {
        match &self.0 {
            Parts::One(server) => server.ledger(),
            Parts::Split(split) => split.ledger.ledger(),
        }
    }

    #[must_use]
    pub fn ledgers(&self) -> &Ledgers {
        match &self.0 {
            Parts::One(server) => server.ledgers(),
            Parts::Split(split) => split.ledger.ledgers(),
        }
    }

    #[must_use]
    pub fn ledger_of(&self, player: &str) -> &Handle {
        self.ledgers().for_stream(&StreamId::player("acme", player)).expect("the service has all partitions")
    }

    #[must_use]
    pub fn player(&self, player: &str) -> PlayerState {
        self.ledger_of(player)
            .player(&StreamId::player("acme", player))
            .expect("the player can be read")
            .expect("the player exists")
    }

    #[must_use]
    pub fn ends(&self) -> Vec<Position> {
        self.ledgers().all().map(Handle::durable).collect()
    }

    #[must_use]
    pub fn holding(&self, account: Account<'_>, currency: Currency) -> i128 {
        self.ledgers().all().map(|ledger| ledger.books(|books| books.holding(account, currency).0)).sum()
    }

    #[must_use]
    pub fn collected(&self, pool: &str) -> i128 {
        let of = [Account::ContributionsDue(pool), Account::Interpartition, Account::Increments(pool)];
        let held = |ledger: &Handle| {
            ledger.books(|books| of.iter().map(|account| books.holding(*account, Currency::EUR).0).sum::<i128>())
        };
        self.ledgers().all().map(held).sum()
    }

    #[must_use]
    pub fn abandoned_rounds(&self) -> &AbandonedRounds {
        let abandoned_rounds = match &self.0 {
            Parts::One(server) => server.abandoned_rounds(),
            Parts::Split(split) => split.spin.abandoned_rounds(),
        };
        abandoned_rounds.expect("the process plays spins")
    }

    #[must_use]
    pub fn self_check(&self) -> &SelfCheck {
        let check = match &self.0 {
            Parts::One(server) => server.self_check(),
            Parts::Split(split) => split.ledger.self_check(),
        };
        check.expect("the service has reports")
    }

    pub async fn stop(self) -> Result<(), ServeError> {
        let Self(parts, running) = self;
        drop(running);
        match parts {
            Parts::One(server) => server.stop().await,
            Parts::Split(split) => split.stop().await,
        }
    }
}
