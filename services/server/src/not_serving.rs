//! Refusals of a process that does not serve yet: a standby, or a process that waits for other partitions' writers.
//!
//! Calls are answered with UNAVAILABLE and NOT_THE_WRITER, so that callers try another process. During a takeover, the
//! answer's metadata contains `takeover`, so that a spin process waits longer for a writer.

use crate::{
    error::ServeError,
    layers::{Layers, State},
    services::log_service,
    transport::{admission, buffers, tls},
};
use motherlode_ledger::{Actors, Handle, not_the_writer, taking_over};
use motherlode_runtime::{
    Config, Operators,
    access::Access,
    connections::{self, Workers},
    stop::{self, Stopper},
};
use std::{
    net::TcpListener as StdListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::service::Routes;
use tonic_health::ServingStatus;

pub(crate) struct NotServing {
    stopper: Stopper,
    serving: JoinHandle<()>,
    pub(crate) takes_over: Arc<AtomicBool>,
}

impl NotServing {
    pub(crate) async fn start(
        listener: &StdListener,
        config: &Config,
        names: &[&'static str],
        written: &[Handle],
    ) -> Result<Self, ServeError> {
        let unbound = |source| ServeError::Bind { address: config.listen, source };
        let listener = listener.try_clone().and_then(TcpListener::from_std).map_err(unbound)?;
        let (mut reporter, health) = tonic_health::server::health_reporter();
        for service in names.iter().copied().chain([""]) {
            reporter.set_service_status(service, ServingStatus::NotServing).await;
        }
        let tls = config.tls.as_ref().map(tls).transpose()?;
        let (stopper, stop) = stop::channel();
        let clock = written.first().cloned();
        let access = clock.map(|clock| Access::new(&config.operators, Arc::new(move || clock.clock_ms())));
        let takes_over = Arc::<AtomicBool>::default();
        let (mut routes, operators) = (Routes::builder(), Operators::of_config(config));
        routes.add_service(health);
        if !written.is_empty() {
            let actors = Actors::new(&config.operators);
            routes.add_service(log_service(written, config, (&operators, actors), stop.clone()));
        }
        let takes = Arc::clone(&takes_over);
        let refusal = move || if takes.load(Ordering::Relaxed) { taking_over() } else { not_the_writer() };
        let state = State::NotServing { log: !written.is_empty(), refusal: Box::new(refusal) };
        let layers = Layers { metrics: None, access, buffers: buffers(config), state };
        let service = Arc::new(layers).around(routes.routes());
        let admission = admission(config, operators);
        let workers = Workers::start(1).map_err(ServeError::Threads)?;
        let serving = tokio::spawn(async move {
            let ended = async {
                stop.clone().requested().await;
                reporter.clear_service_status("").await;
            };
            tokio::join!(ended, connections::serve(listener, tls, workers, admission, service, None, stop.clone()));
        });
        Ok(Self { stopper, serving, takes_over })
    }

    pub(crate) fn stop(self) {
        self.stopper.stop();
        self.serving.abort();
    }
}
