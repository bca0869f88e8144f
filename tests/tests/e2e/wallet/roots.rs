use super::{json, rounds, scripted::Wallet};
use crate::PROGRAM;
use motherlode_proto::ledger::v1::OpenAccountRequest;
use motherlode_runtime::connect::connect;
use motherlode_tests::{
    Client, Process, account, bet,
    operators::{Certificates, operator, token},
    reason,
};
use std::{fs, path::Path, process::Command};

fn config(folder: &Path, port: u16, in_json: bool) -> String {
    let url = format!("https://localhost:{port}");
    let of_wallet = match in_json {
        false => format!("url = \"{url}\""),
        true => json::settings(&url).replace("KEY_FILE", &folder.join("wallet.key").display().to_string()),
    };
    let seamless =
        format!("wallet = \"seamless\"\nseamless = {{ answer_ms_max = 2000, {of_wallet} }}\n[[operators.credentials]]");
    operator("acme", &[("acme", r#"["play", "wallet", "support", "audit"]"#)]).replacen(
        "[[operators.credentials]]",
        &seamless,
        1,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_31_without_a_root_of_its_own_a_wallet_is_one_that_the_system_trusts() {
    let folder = tempfile::tempdir().unwrap();
    let stranger = tempfile::tempdir().unwrap();
    let (certificates, other) = (Certificates::make(folder.path()), Certificates::make(stranger.path()));
    let at = |name: &str| folder.path().join(name);
    fs::write(at("system.pem"), certificates.root).unwrap();
    fs::write(at("other.pem"), other.root).unwrap();
    fs::write(at("wallet.key"), json::KEY).unwrap();
    let read = |name: &str| fs::read_to_string(at(name)).unwrap();
    for in_json in [false, true] {
        let wallet = Wallet::default();
        let (certificate, key) = (read("service.pem"), read("service.key"));
        let port = match in_json {
            false => wallet.serve_by_tls(&certificate, &key).await.port(),
            true => json::serve(&wallet, Some((&certificate, &key))).await.port(),
        };
        fs::write(at("config.toml"), config(folder.path(), port, in_json)).unwrap();
        wallet.fund("alice", 1_000);
        for (roots, trusted) in [("other.pem", false), ("system.pem", true)] {
            let data = at(&format!("data-{in_json}-{trusted}"));
            let system = [("SSL_CERT_FILE", &*at(roots))];
            let service = Process::start_where(PROGRAM, &data, Some(&at("config.toml")), &[], &system);
            let target = format!("http://{}", service.address);
            let mut client = Client::on(connect(&target, &token("acme"), None).await.unwrap());
            let alice = account("alice", "EUR");
            let open = OpenAccountRequest { request_id: "open".into(), account: Some(alice.clone()) };
            client.ledger.open_account(open).await.unwrap();
            if trusted {
                client.play_out(bet("r", &alice, "0.10")).await.unwrap();
                assert!(wallet.books().calls > 0);
            } else {
                let refused = super::bet_within(&mut client, bet("r", &alice, "0.10"), 1_000).await.unwrap_err();
                assert_eq!(reason(&refused), "OUTCOME_UNKNOWN");
                assert_eq!(
                    (rounds(&mut client, &alice).await, wallet.books().calls),
                    (0, 0),
                    "the wallet received no call"
                );
            }
            service.kill();
        }
    }
}

#[test]
fn pl_31_a_service_that_can_trust_no_wallet_says_so_and_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("none.pem"), "").unwrap();
    fs::write(at("wallet.key"), json::KEY).unwrap();
    for in_json in [false, true] {
        fs::write(at("config.toml"), config(folder.path(), 1, in_json)).unwrap();
        let mut serve = Command::new(PROGRAM);
        serve
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(at("data"))
            .arg("--config")
            .arg(at("config.toml"));
        serve.env("SSL_CERT_FILE", at("none.pem")).env_remove("SSL_CERT_DIR");
        let ended = serve.output().unwrap();
        assert!(!ended.status.success());
        let said = String::from_utf8(ended.stderr).unwrap();
        let expected = ["operators.seamless.url", "the system has no trusted root certificates", "set ca to"];
        assert!(expected.iter().all(|words| said.contains(words)), "{said}");
    }
}
