use crate::{
    PROGRAM, apart,
    proofs::{Proofs, proof_of},
};
use motherlode_audit::verify;
use motherlode_proofs::{load, make, of_partition};
use motherlode_proto::proof::v1::{GetCheckpointRequest, GetConsistencyRequest, GetRoundProofRequest};
use motherlode_testkit::nats::{Node, toml};
use motherlode_tests::{Client, EUR, Process, account, bet, reason, serving, until};
use motherlode_tiles::{Checkpoint, Hash, KeyKind, Note, Proof, VerifierKey, is_consistent};
use std::{fs, net::SocketAddr, path::PathBuf, process::Command, time::Duration};
use tokio::time::{sleep, timeout};
use tonic::Code;

async fn proofs_at(address: SocketAddr) -> Proofs {
    Proofs::connect(format!("http://{address}")).await.unwrap()
}

async fn checkpoint(proofs: &mut Proofs, key: &VerifierKey) -> (Checkpoint, String) {
    let answer = proofs.get_checkpoint(GetCheckpointRequest { partition: 0 }).await.unwrap().into_inner();
    assert_eq!(answer.verifier_key, key.to_string());
    let note: Note = answer.checkpoint.parse().unwrap();
    (Checkpoint::open(&note, key).unwrap(), answer.checkpoint)
}

async fn continues(proofs: &mut Proofs, kept: &Checkpoint, key: &VerifierKey) -> Checkpoint {
    let request = GetConsistencyRequest { partition: 0, old_size: kept.size };
    // After a takeover, the request fails until the new writer signs a checkpoint with at least `old_size` records.
    let signed = async {
        loop {
            match proofs.get_consistency(request).await {
                Ok(answer) => break answer.into_inner(),
                Err(status) => assert_eq!(reason(&status), "CHECKPOINT_AHEAD"),
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let answer = timeout(Duration::from_secs(120), signed).await.expect("a checkpoint");
    let note: Note = answer.checkpoint.parse().unwrap();
    let new = Checkpoint::open(&note, key).unwrap();
    let path: Vec<Hash> = answer.hashes.iter().map(|hash| hash[..].try_into().unwrap()).collect();
    assert!(is_consistent((kept.size, &kept.root), (new.size, &new.root), &path));
    assert_eq!(new.origin, kept.origin);
    new
}

async fn play(client: &mut Client, name: &str) -> String {
    let mut last = String::new();
    for round in 0..5 {
        let request = bet(&format!("{name}-{round}"), &account("ann", EUR), "0.05");
        last = loop {
            match client.play_out(request.clone()).await {
                Ok(played) => break played.last().unwrap().round_id.clone(),
                Err(status) => {
                    let known = matches!(&*reason(&status), "OUTCOME_UNKNOWN" | "NOT_CURRENT" | "NOT_THE_WRITER");
                    assert!(known, "{status:?}");
                }
            }
        };
    }
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_standby_continues_the_tree_of_a_log_on_jetstream_under_its_name_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let (key_file, file): (PathBuf, PathBuf) = (folder.path().join("log.key"), folder.path().join("motherlode.toml"));
    let key = make(&key_file, Some("example.com/shared"), KeyKind::Log).unwrap();
    let key = of_partition(key.verifier(), 0).unwrap();
    let text = format!(
        "{}[limits]\nrequest_ms_max = 3000\n[proofs]\nname = \"example.com/shared\"\nkey_file = {key_file:?}\n\
         [draws]\nkey_file = {:?}\n",
        toml(&node.config("S")),
        folder.path().join("draws"),
    );
    fs::write(&file, text).unwrap();
    let start = |name: &str, more: &[&str]| Process::start_as(PROGRAM, &folder.path().join(name), Some(&file), more);
    let (mut ledgers, mut kept, mut rounds) = (vec![start("a", &["--role", "ledger"])], vec![], vec![]);
    until("a writer", async || serving(ledgers[0].address).await).await;
    Client::connect(ledgers[0].address).await.fund("ann", EUR, 10_000_000).await;
    for (turn, next) in ["b", "a", "b"].into_iter().enumerate() {
        let writer = ledgers.pop().unwrap();
        let standby = start(next, &["--role", "ledger"]);
        let targets = format!("http://{},http://{}", writer.address, standby.address);
        let spin = start("spin", &["--role", "spin", "--ledger", &targets]);
        let mut client = Client::connect(spin.address).await;
        rounds.push(play(&mut client, &format!("before-{turn}")).await);

        let mut at_writer = proofs_at(writer.address).await;
        let (file, said) = proof_of(&mut at_writer, rounds.last().unwrap()).await;
        assert_eq!(said, key);
        verify(&file.parse::<Proof>().unwrap(), &key, None).unwrap();
        kept.push(checkpoint(&mut at_writer, &key).await);
        let asked = || GetCheckpointRequest { partition: 0 };
        let refused = proofs_at(standby.address).await.get_checkpoint(asked()).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused)), (Code::Unavailable, "NOT_THE_WRITER".into()));
        let refused = proofs_at(spin.address).await.get_checkpoint(asked()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unimplemented);

        writer.kill();
        rounds.push(play(&mut client, &format!("after-{turn}")).await);
        let mut at_standby = proofs_at(standby.address).await;
        for (kept, _) in &kept {
            let new = continues(&mut at_standby, kept, &key).await;
            assert!(new.size >= kept.size);
        }
        for round in &rounds {
            let (file, _) = proof_of(&mut at_standby, round).await;
            let proven = verify(&file.parse::<Proof>().unwrap(), &key, None).unwrap();
            assert!(proven.replayed.matches(), "{round}");
        }
        assert_eq!(spin.terminate().await, Some(0));
        ledgers.push(standby);
    }
    for process in ledgers {
        assert_eq!(process.terminate().await, Some(0));
    }
    let mut audit = Command::new(PROGRAM);
    audit.args(["audit", &format!("{}/S", node.url()), "--key", &key.to_string(), "--stream-key"]).arg(node.key_file());
    for (number, (_, text)) in kept.iter().enumerate() {
        let file = folder.path().join(format!("kept-{number}"));
        fs::write(&file, text).unwrap();
        audit.arg("--checkpoint").arg(file);
    }
    let output = audit.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_of_processes_that_write_partitions_each_proves_its_own_and_says_who_proves_the_others() {
    let data = tempfile::tempdir().unwrap();
    let (installation, [at_a, at_b]) = apart::Installation::new(data.path());
    let (a, b) = tokio::join!(installation.start(0, at_a), installation.start(1, at_b));
    let spin = installation.join(motherlode_runtime::config::Role::Spin, &data.path().join("spin")).await;
    let mut at_spin = Client::connect(spin.address()).await;
    for partition in 0..apart::PARTITIONS {
        let (here, elsewhere) = if partition == 1 { (&b, &a) } else { (&a, &b) };
        let account = Client::connect(here.address()).await.fund(&apart::living_in(partition), EUR, 1_000_000).await;
        let round = at_spin.play_out(bet("one", &account, "0.05")).await.unwrap().pop().unwrap().round_id;
        let key = load(&installation.configs[usize::from(partition == 1)].data.join("proofs.key")).unwrap();
        let key = of_partition(key.verifier(), partition).unwrap();
        assert!(key.name().ends_with(&format!("/log/{partition}")));
        let (file, said) = proof_of(&mut proofs_at(here.address()).await, &round).await;
        assert_eq!(said, key);
        verify(&file.parse::<Proof>().unwrap(), &key, None).unwrap();
        let mut elsewhere = proofs_at(elsewhere.address()).await;
        let refused = [
            elsewhere.get_checkpoint(GetCheckpointRequest { partition }).await.map(|_| ()),
            elsewhere.get_consistency(GetConsistencyRequest { partition, old_size: 1 }).await.map(|_| ()),
            elsewhere
                .get_round_proof(GetRoundProofRequest { round_id: round, ..GetRoundProofRequest::default() })
                .await
                .map(|_| ()),
        ];
        for refused in refused {
            let refused = refused.unwrap_err();
            assert_eq!((refused.code(), reason(&refused)), (Code::Unavailable, "PROOFS_ELSEWHERE".into()));
            assert!(refused.message().contains("the process that writes the partition"), "{refused:?}");
        }
    }
    for server in [spin, a, b] {
        server.stop().await.unwrap();
    }
}
