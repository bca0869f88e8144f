//! `motherlode health`, as probes call it: against a service over TLS, by its exit code.

use crate::PROGRAM;
use motherlode_runtime::Config;
use motherlode_tests::{config, operators::Certificates, start_on};
use std::process::Output;
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
    // The certificate is for localhost, and not for an address.
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
    assert_eq!(unnamed.status.code(), Some(1), "the certificate is not the address's: {unnamed:?}");

    server.stop().await.unwrap();
    let stopped = health(&named).await;
    assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
}
