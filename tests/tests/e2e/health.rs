use crate::PROGRAM;
use motherlode_ledger::{DrawKeys, Options};
use motherlode_runtime::Config;
use motherlode_server::{Kind, Server};
use motherlode_spin::Dealer;
use motherlode_tests::{config, operators::Certificates, start_on};
use std::{collections::BTreeSet, process::Output};
use tokio::process::Command;

async fn health(args: &[&str]) -> Output {
    Command::new(PROGRAM).arg("health").args(args).output().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_asks_by_the_certificates_name_and_looks_at_the_exit_code() {
    let data = tempfile::tempdir().unwrap();
    let _certificates = Certificates::make(data.path());
    let tls = Config::parse(&Certificates::section(data.path())).unwrap().tls;
    let config = Config { tls, ..config(data.path()) };
    let server = start_on(&config, motherlode_server::open_stores(&config).unwrap()).await;
    let target = format!("https://{}", server.address());
    let root = data.path().join("root.pem").display().to_string();
    let named = ["--target", &target, "--ca", &root, "--server-name", "localhost"];

    let answered = health(&named).await;
    assert_eq!((answered.status.code(), &*answered.stdout), (Some(0), &b"SERVING\n"[..]), "{answered:?}");
    let spin = health(&[&named[..], &["--service", "motherlode.spin.v1.SpinService"]].concat()).await;
    assert_eq!(spin.status.code(), Some(0), "{spin:?}");
    let unknown = health(&[&named[..], &["--service", "roulette"]].concat()).await;
    assert_eq!(unknown.status.code(), Some(1), "{unknown:?}");
    let unnamed = health(&named[..4]).await;
    assert_eq!(
        unnamed.status.code(),
        Some(1),
        "health must fail if the certificate is for another address: {unnamed:?}"
    );

    server.stop().await.unwrap();
    let stopped = health(&named).await;
    assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a5_a_background_task_that_ends_fails_health_and_ends_the_process_or_is_started_again() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.proofs.listen = Some(([127, 0, 0, 1], 0).into());
    let stores = motherlode_server::open_stores(&config).unwrap();
    let server = Server::start(&config, stores, Options::default(), Dealer::from_keys(DrawKeys::none())).await.unwrap();
    let mut tasks = server.tasks();
    let target = format!("http://{}", server.address());
    let elsewhere = [Kind::WalletOutboxes, Kind::Witnesses, Kind::Standbys, Kind::ForeignMessages];
    let here: BTreeSet<_> = Kind::ALL.iter().copied().filter(|kind| !elsewhere.contains(kind)).collect();
    assert_eq!(server.task_kinds(), here);

    for kind in here.into_iter().filter(|kind| *kind != Kind::Calls && !kind.ends_process()) {
        assert_eq!(server.end_tasks(kind), 1);
        tasks.wait_for(|tasks| tasks.ended.get(&kind) == Some(&1)).await.unwrap();
        tasks.wait_for(|tasks| tasks.down.is_empty()).await.unwrap();
        assert_eq!(tasks.borrow().fatal, None, "{kind:?}");
    }
    let answered = health(&["--target", &target]).await;
    assert_eq!(answered.status.code(), Some(0), "not all services are SERVING again: {answered:?}");
    let fatal = [
        Kind::PoolCoordinator,
        Kind::AbandonedRounds,
        Kind::Trees,
        Kind::TreeDistrust,
        Kind::LogDistrust,
        Kind::Ledgers,
    ];
    for kind in fatal {
        assert!(kind.ends_process() && server.end_tasks(kind) == 1, "{kind:?}");
        tasks.wait_for(|tasks| tasks.down.contains(&kind)).await.unwrap();
    }
    let answered = health(&["--target", &target]).await;
    assert_eq!(answered.status.code(), Some(1), "{answered:?}");
    let ended = server.task_failed().await.to_string();
    assert!(ended.starts_with("the background task pool_coordinator has ended: it was cancelled"), "{ended}");
    server.stop().await.unwrap();
}
