use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use motherlode_ledger::{Options, Stores};
use motherlode_runtime::{
    Config,
    access::{Roles, digest},
    config::{Credential, Operator, PLATFORM, PlayerIds, Role, WalletKind},
};
use motherlode_server::Server;
use motherlode_spin::Dealer;
use std::{fs, net::SocketAddr};
use tokio::{net::TcpListener, runtime::Runtime, task::JoinHandle};

pub(crate) struct Split {
    pub(crate) ledger: Server,
    pub(crate) spin: Server,
    jackpot: Server,
    pub(crate) address: SocketAddr,
    gateway: JoinHandle<()>,
    runtime: Option<Runtime>,
}

impl Split {
    pub(crate) async fn start(config: &Config, stores: Stores, options: Options, dealer: Dealer) -> Self {
        let mut config = Config { role: Role::Ledger, ..config.clone() };
        if !config.operators.is_empty() {
            fs::create_dir_all(&config.data).expect("the folder can be made");
            for (role, name) in NODES {
                fs::write(config.data.join(name), name).expect("the folder can be written");
                admit(&mut config.operators, role, name);
            }
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime starts");
        let (of_ledger, with, seeds) = (config.clone(), options.clone(), dealer.clone());
        let ledger = runtime.spawn(async move { Server::start(&of_ledger, stores, with, seeds).await });
        let ledger = ledger.await.expect("the task does not panic").expect("the ledger starts");
        let unchanged = config.clone();
        ledger.reloader().read_from(move || Ok(unchanged.clone()));
        config.ledger.targets = vec![format!("http://{}", ledger.address())];
        let join = async |role, folder: &str| {
            let mut config = Config { role, ..config.clone() };
            config.ledger.token_file = (!config.operators.is_empty()).then(|| config.data.join(token(role)));
            config.data = config.data.join(folder);
            Server::join(&config, options.clone(), dealer.clone()).await.expect("the replica starts")
        };
        let (spin, jackpot) = (join(Role::Spin, "spin").await, join(Role::Jackpot, "jackpot").await);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("the listener has an address");
        let targets = [spin.address(), jackpot.address(), ledger.address()];
        let gateway = runtime.spawn(gateway(listener, targets));
        Self { ledger, spin, jackpot, address, gateway, runtime: Some(runtime) }
    }

    pub(crate) async fn stop(mut self) -> Result<(), motherlode_server::ServeError> {
        let stopped = [self.spin.stop().await, self.jackpot.stop().await];
        let Some(runtime) = self.runtime.take() else { return Ok(()) };
        let ledger = runtime.spawn(self.ledger.stop()).await.expect("the task does not panic");
        self.gateway.abort();
        runtime.shutdown_background();
        stopped.into_iter().collect::<Result<(), _>>().and(ledger)
    }
}

const NODES: [(Roles, &str); 2] = [(Roles::NODE_SPIN, "node-spin.token"), (Roles::NODE_JACKPOT, "node-jackpot.token")];

fn token(role: Role) -> &'static str {
    if role == Role::Jackpot { NODES[1].1 } else { NODES[0].1 }
}

fn admit(operators: &mut Vec<Operator>, roles: Roles, name: &str) {
    let (token_sha256, name) = (Some(digest(name.as_bytes())), name.to_owned());
    let node = Credential { name, token_sha256, certificate_sha256: None, roles, operators: vec![], expires_ms: None };
    match operators.iter_mut().find(|operator| operator.id == PLATFORM) {
        Some(platform) => platform.credentials.push(node),
        None => operators.push(Operator {
            id: PLATFORM.to_owned(),
            calls_per_second_max: None,
            calls_burst_max: None,
            weight: 1,
            campaign_liability_eur_max: None,
            person_keep_days: 0,
            player_ids: PlayerIds::default(),
            wallet: WalletKind::Transfer,
            seamless: None,
            credentials: vec![node],
        }),
    }
}

const POOL_CHANGES: [&str; 7] =
    ["OpenPool", "ChangePoolTerms", "SuspendPool", "ResumePool", "RetirePool", "ReleaseHits", "DeclareIncident"];

async fn gateway(listener: TcpListener, targets: [SocketAddr; 3]) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build(connector);
    while let Ok((connection, _)) = listener.accept().await {
        let _ = connection.set_nodelay(true);
        let client = client.clone();
        let route = hyper::service::service_fn(move |request| forward(client.clone(), targets, request));
        tokio::spawn(async move {
            let served = auto::Builder::new(TokioExecutor::new()).http2_only();
            let _ = served.serve_connection(TokioIo::new(connection), route).await;
        });
    }
}

async fn forward(
    client: Client<HttpConnector, Incoming>,
    [spin, jackpot, ledger]: [SocketAddr; 3],
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
    let path = request.uri().path();
    let mut parts = path.split('/').skip(1);
    let target = match (parts.next(), parts.next()) {
        (Some("motherlode.spin.v1.SpinService"), _) => spin,
        (Some("motherlode.jackpot.v1.JackpotService"), Some(method)) if !POOL_CHANGES.contains(&method) => jackpot,
        _ => ledger,
    };
    *request.uri_mut() = format!("http://{target}{path}").parse::<Uri>().expect("the rewritten path is valid");
    client.request(request).await
}
