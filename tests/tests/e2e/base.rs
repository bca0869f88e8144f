use crate::PROGRAM;
use motherlode_proto::ledger::v1::GetLogStatusRequest;
use motherlode_runtime::{
    Config,
    config::Store,
    connect::{Credentials, connect},
};
use motherlode_server::open_stores;
use motherlode_tests::{Client, Player, Server, config, operators::operator, partitions::settled, start_on};
use std::{fs, path::Path, process::Command};

const PARTITIONS: u32 = 2;

async fn serve(data: &Path, operators: &str) -> Server {
    let operators = Config::parse(operators).unwrap().operators;
    let config = Config { partitions: PARTITIONS, store: Store::default(), operators, ..config(data) };
    start_on(&config, open_stores(&config).unwrap()).await
}

fn run(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(PROGRAM).args(arguments).args(["--priority", "normal"]).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

fn words_after<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let rests = text.split(before).skip(1);
    rests.map(|rest| rest.split([',', '\n']).next().unwrap().trim()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_base_is_confirmed_with_another_credential_after_the_audit_of_a_copy() {
    let (data, copy, tokens) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = serve(data.path(), "").await;
    let mut client = Client::connect(server.address()).await;
    for player in 0..6 {
        Player::join(&mut client, &format!("p{player}"), "0.05").await.play_rounds(&mut client, 5).await.unwrap();
    }
    settled(server.ledgers()).await;
    server.stop().await.unwrap();

    let server = serve(data.path(), &operator("platform", &[("ann", "[\"admin\"]"), ("bob", "[\"audit\"]")])).await;
    let target = format!("http://{}", server.address());
    let file = |token: &str| {
        let path = tokens.path().join(token);
        fs::write(&path, token).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (ann, bob) = (file("ann"), file("bob"));
    let (from, to) = (data.path().to_str().unwrap(), copy.path().to_str().unwrap());
    let take = ["base", "take", from, "--actor", "anna", "--target", &target, "--token-file"];
    assert!(run(&[&take[..], &[&bob]].concat()).unwrap_err().contains("ROLE_MISSING"));
    let taken = run(&[&take[..], &[&ann]].concat()).unwrap();
    assert!(run(&[&take[..], &[&ann]].concat()).unwrap_err().contains("BASE_MISMATCH"), "there is no later snapshot");
    let (positions, digests) = (words_after(&taken, "state at position "), words_after(&taken, "digest  "));
    assert_eq!((positions.len(), digests.len()), (2, 2), "{taken}");

    run(&["copy", "--from", from, "--to", to]).unwrap();
    let audited = run(&["audit", to, "--base", &positions.join(",")]).unwrap();
    assert_eq!(audited.matches("equal to the digest logged by `base take`").count(), 2, "{audited}");
    for (partition, (position, digest)) in (0..).zip(positions.iter().zip(&digests)) {
        assert!(audited.contains(digest), "{audited}");
        let partition: u32 = partition;
        let partition = partition.to_string();
        let confirm = |digest: &str, token: &str| {
            let of = ["base", "confirm", position, digest, "--partition", &partition, "--actor", "x"];
            run(&[&of[..], &["--target", &target, "--token-file", token]].concat())
        };
        assert!(confirm(&"0".repeat(64), &bob).unwrap_err().contains("BASE_MISMATCH"));
        assert!(confirm(digest, &ann).unwrap_err().contains("SAME_ACTOR"));
        confirm(digest, &bob).unwrap();
    }
    let credentials = Credentials { token: Some("bob".into()), ..Credentials::default() };
    let mut bob = Client::on(connect(&target, &credentials, None).await.unwrap());
    let status = bob.ledger.get_log_status(GetLogStatusRequest {}).await.unwrap().into_inner();
    for (of, position) in status.partitions.iter().zip(positions) {
        let position = position.parse().unwrap();
        assert_eq!((of.base_position, of.confirmed_base_position), (position, position));
    }
    server.stop().await.unwrap();
}
