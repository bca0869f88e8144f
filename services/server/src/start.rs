//! Service on logs that are already open: for tests, other programs, and a standby that becomes the writer.

use crate::{
    error::ServeError,
    roles,
    server::Server,
    setup::{bind, check},
};
use futures_util::future::BoxFuture;
use motherlode_ledger::{Options, Stores};
use motherlode_runtime::Config;
use motherlode_spin::Dealer;
use std::net::TcpListener;

impl Server {
    pub async fn start(
        config: &Config,
        stores: impl Into<Stores>,
        options: Options,
        dealer: Dealer,
    ) -> Result<Self, ServeError> {
        check(config)?;
        on(bind(config)?, config, stores.into(), options, dealer).await
    }

    pub async fn start_on(
        listener: TcpListener,
        config: &Config,
        stores: impl Into<Stores>,
        options: Options,
        dealer: Dealer,
    ) -> Result<Self, ServeError> {
        on(listener, config, stores.into(), options, dealer).await
    }

    /// Starts a service that writes no log. Waits until the writers of the logs that it reads answer.
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
    Box::pin(roles::start(listener, config, stores, options, dealer))
}
