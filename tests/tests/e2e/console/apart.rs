use super::{Browser, rounds, service};
use crate::apart::Installation;
use motherlode_proto::job::v1::{
    Audit, ListJobsRequest, StartJobRequest, job_service_client::JobServiceClient, start_job_request::Work,
};
use motherlode_runtime::{Config, config::Role};
use motherlode_server::{Phase, serve};
use motherlode_spin::Dealer;
use motherlode_tests::{operators::Service, reason};
use std::{
    net::SocketAddr,
    sync::mpsc::{Sender, channel},
    thread,
};
use tokio::sync::oneshot;

pub(super) struct Apart {
    pub(super) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Apart {
    fn start(target: String) -> Self {
        Self::with(target, None)
    }

    pub(super) fn with(target: String, check_url: Option<String>) -> Self {
        let mut config = Config { role: Role::Console, data: "/nowhere".into(), ..Config::default() };
        config.console.listen = Some(([127, 0, 0, 1], 0).into());
        config.console.check_url = check_url;
        config.ledger.targets = vec![target];
        let (stop, stopped) = oneshot::channel::<()>();
        let (told, addresses): (Sender<SocketAddr>, _) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let signalled = Box::pin(async move {
                let _ = stopped.await;
                "dropped"
            });
            let phase = |phase: Phase<'_>| match phase {
                Phase::Console(address) => told.send(address).unwrap(),
                _ => panic!("the process serves only a console"),
            };
            let dealer = Dealer::from_master([7; 32]);
            runtime.block_on(serve(&config, dealer, signalled, &phase)).unwrap();
        });
        Self { address: addresses.recv().unwrap(), _stop: stop }
    }
}

async fn target(service: &Service) -> String {
    format!("http://{}", service.server.address())
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_27_a_console_of_its_own_shows_each_call_the_token_of_who_asks() {
    let service = service().await;
    let (_, over, open) = rounds(&service).await;
    let console = Apart::start(target(&service).await);
    let mut support = Browser::logged_in(console.address, "acme-support").await;
    let page = support.get(&format!("/round/{over}")).await;
    assert!(page.status == 200 && page.body.contains("settled"), "{}", page.body);
    assert_eq!(support.get("/reports").await.status, 403);
    let page = support.get(&format!("/round/{open}")).await;
    let closed =
        support.submit(&page, &format!("/round/{open}/close"), &[("reason", "asked for"), ("actor", "")]).await;
    assert_eq!(closed.status, 303, "{}", closed.body);
    let mut bravo = Browser::logged_in(console.address, "bravo-all").await;
    assert_eq!(bravo.get(&format!("/round/{over}")).await.status, 404);
    let mut platform = Browser::logged_in(console.address, "platform-all").await;
    for path in ["/", "/live/now", "/jackpots/bewitched", "/trust", "/log", "/reports/revenue"] {
        assert_eq!(platform.get(path).await.status, 200, "{path}");
    }
    let refused = Browser::new(console.address).post("/login", &[("token", "guessed")]).await;
    assert_eq!((refused.status, refused.header("location")), (303, "/login?next=%2F&why=TOKEN_UNKNOWN"));
    service.server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_12_a_console_of_its_own_says_that_nobody_answers() {
    let console = Apart::start("http://127.0.0.1:1".to_owned());
    let page = Browser::new(console.address).get("/login").await;
    assert_eq!(page.status, 503, "{}", page.body);
    assert!(page.body.contains("Not available"), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_21_where_a_process_has_a_part_of_the_log_no_audit_is_offered() {
    let data = tempfile::tempdir().unwrap();
    let (installation, [at_a, at_b]) = Installation::new(data.path());
    let (a, b) = tokio::join!(installation.start(0, at_a), installation.start(1, at_b));
    let target = format!("http://{}", a.address());
    let mut jobs = JobServiceClient::connect(target.clone()).await.unwrap();
    assert!(jobs.list_jobs(ListJobsRequest {}).await.unwrap().into_inner().audits_elsewhere);
    let audit = StartJobRequest { request_id: "audit".into(), work: Some(Work::Audit(Audit {})) };
    assert_eq!(reason(&jobs.start_job(audit).await.unwrap_err()), "AUDIT_ELSEWHERE");
    let console = Apart::start(target);
    let mut browser = Browser::new(console.address);
    browser.post("/login", &[]).await;
    let page = browser.get("/trust").await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.body.contains("To audit a copy of the log") && !page.body.contains("/jobs/audit"), "{}", page.body);
    for server in [a, b] {
        server.stop().await.unwrap();
    }
}
