//! A service on logs that are open already: what tests and other programs embed, and what a process with a log on JetStream
//! starts each time that it becomes the writer.

use crate::{
    error::ServeError,
    roles,
    server::Server,
    setup::{bind, check},
    single,
};
use futures_util::future::BoxFuture;
use motherlode_ledger::{Options, Stores};
use motherlode_runtime::{Config, config::Role};
use motherlode_spin::Dealer;
use std::net::TcpListener;

impl Server {
    /// Starts the services of a process's role on the stores of the partitions that it writes, with the dealer that every
    /// step is drawn from.
    ///
    /// # Errors
    /// [`ServeError`]; nothing is served then.
    pub async fn start(
        config: &Config,
        stores: impl Into<Stores>,
        options: Options,
        dealer: Dealer,
    ) -> Result<Self, ServeError> {
        check(config)?;
        on(bind(config)?, config, stores.into(), options, dealer).await
    }

    /// The same on an address that was bound before.
    ///
    /// # Errors
    /// [`ServeError`]; nothing is served then.
    pub async fn start_on(
        listener: TcpListener,
        config: &Config,
        stores: impl Into<Stores>,
        options: Options,
        dealer: Dealer,
    ) -> Result<Self, ServeError> {
        on(listener, config, stores.into(), options, dealer).await
    }

    /// Starts the services of a role that has no log, on replicas of the logs that the configuration names. It takes as long as
    /// it takes until those who write them answer.
    ///
    /// # Errors
    /// [`ServeError`]; nothing is served then.
    pub fn join(config: &Config, options: Options, dealer: Dealer) -> BoxFuture<'_, Result<Self, ServeError>> {
        Box::pin(async move {
            check(config)?;
            roles::join(config, options, dealer).await
        })
    }
}

fn on(
    listener: TcpListener,
    config: &Config,
    stores: Stores,
    options: Options,
    dealer: Dealer,
) -> BoxFuture<'_, Result<Server, ServeError>> {
    Box::pin(async move {
        match config.role {
            Role::All => single::start(listener, config, stores, options, dealer).await,
            _ => roles::start(listener, config, stores, options, dealer).await,
        }
    })
}
