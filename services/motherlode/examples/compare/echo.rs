//! Echo service with an empty unary call. Its cost is a lower bound for any gRPC call.

use crate::{Cell, cell, histogram, nanos, process::Process, starts::Starts};
use motherlode_loadtest::Usage;
use std::{
    convert::Infallible,
    error::Error,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinSet};
use tonic::{
    Request, Response, Status,
    body::Body,
    client,
    codegen::{BoxFuture, Service, http},
    server::{self, NamedService, UnaryService},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Server, ServerTlsConfig, server::TcpIncoming},
};
use tonic_prost::ProstCodec;

const PATH: &str = "/motherlode.bench.Echo/Echo";

#[derive(Clone)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "motherlode.bench.Echo";
}

impl UnaryService<()> for Echo {
    type Response = ();
    type Future = Ready<Result<Response<()>, Status>>;

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(())))
    }
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move { Ok(server::Grpc::new(ProstCodec::<(), ()>::default()).unary(Echo, request).await) })
    }
}

/// Serves until killed; 0 workers means a single thread. `folder` contains certificate and key for TLS.
pub fn serve(workers: usize, folder: Option<String>) -> Result<(), Box<dyn Error>> {
    let mut runtime = match workers {
        0 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(workers.max(1)).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("listens on {}", listener.local_addr()?);
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let mut server = Server::builder();
        if let Some(folder) = folder {
            let identity = crate::Identity::read(folder.as_ref())?;
            let identity = tonic::transport::Identity::from_pem(identity.certificate, identity.key);
            server = server.tls_config(ServerTlsConfig::new().identity(identity))?;
        }
        Ok(server.add_service(Echo).serve_with_incoming(incoming).await?)
    })
}

pub async fn measure(
    server: &Process,
    connections: usize,
    in_flight: usize,
    time: Duration,
    rate: Option<f64>,
) -> Result<Cell, Box<dyn Error>> {
    let mut endpoint = Endpoint::from_shared(server.target())?.tcp_nodelay(true).timeout(Duration::from_secs(12));
    let credentials = server.credentials.clone().unwrap_or_default();
    if let Some(root) = credentials.ca {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(root));
        endpoint = endpoint.tls_config(tls.domain_name(credentials.server_name.unwrap_or_default()))?;
    }
    let mut channels = vec![];
    for _ in 0..connections {
        channels.push(endpoint.connect().await?);
    }
    for channel in &channels {
        call(channel).await?;
    }
    let (server, client) = (server.id(), std::process::id());
    let before = (Usage::for_process(server)?, Usage::for_process(client)?);
    let starts = Starts::new(time, rate);
    let mut callers = JoinSet::new();
    for caller in 0..in_flight {
        let (channel, starts) = (channels[caller % connections].clone(), Arc::clone(&starts));
        callers.spawn(async move {
            let mut latencies = histogram();
            while let Some(due) = starts.next().await {
                call(&channel).await?;
                latencies.saturating_record(nanos(due));
            }
            Ok::<_, Status>(latencies)
        });
    }
    let mut all = histogram();
    for latencies in callers.join_all().await {
        all.add(latencies?)?;
    }
    let took = starts.start.elapsed();
    let server = Usage::for_process(server)?.cost(before.0, all.len());
    let client = Usage::for_process(client)?.cost(before.1, all.len());
    Ok(Cell { cost: Some((server, client)), ..cell(&all, took) })
}

async fn call(channel: &Channel) -> Result<(), Status> {
    let mut client = client::Grpc::new(channel.clone());
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let path = http::uri::PathAndQuery::from_static(PATH);
    client.unary(Request::new(()), path, ProstCodec::<(), ()>::default()).await.map(Response::into_inner)
}
