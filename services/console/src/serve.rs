use crate::{
    api::Backend,
    app::{App, Inner},
    names::Names,
    public::Public,
    routes::router,
    section_cache::SectionCache,
    sessions::{Bounds, Sessions},
    sheet_cache::SheetCache,
};
use axum::Router;
use motherlode_runtime::{
    Clock, Stop, config,
    connections::{Acceptor, Admission, serve_http1},
};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;

pub struct Console {
    router: Router,
    tls: Option<Acceptor>,
}

impl Console {
    #[must_use]
    pub fn new(
        backend: Backend,
        clock: Clock,
        bounds: Bounds,
        address: SocketAddr,
        config: &config::Console,
        tls: Option<Acceptor>,
        message_bytes_max: usize,
    ) -> Self {
        let (sessions, names) = (Sessions::new(clock, bounds), Names::new(address, &config.hosts));
        let app: App = Arc::new(Inner {
            backend,
            sessions,
            shared: SectionCache::default(),
            sheets: SheetCache::default(),
            names,
            public: config.check_host().map(Public::new),
            near: address.ip().is_loopback(),
            secure: tls.is_some(),
            message_bytes_max,
        });
        Self { router: router(app), tls }
    }

    pub async fn serve(self, listener: TcpListener, admission: Admission, stop: Stop) {
        serve_http1(listener, self.tls, admission, self.router, stop).await;
    }
}
