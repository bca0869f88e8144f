use crate::PROGRAM;
use motherlode_ledger::{Standing, Verification};
use motherlode_log::{Options, SegmentStore};
use motherlode_proto::ledger::v1::DepositRequest;
use motherlode_runtime::{Config, config::Verify};
use motherlode_server::{index_folder, log_folder, open_stores};
use motherlode_state::Event;
use motherlode_tests::{Client, EUR, Server, bet, config, start_on};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{process::Command, task::spawn_blocking, time::timeout};

pub fn open(config: &Config) -> Box<SegmentStore> {
    let options = Options { segment_bytes: 16 << 10, zero_bytes: 4 << 10 };
    Box::new(SegmentStore::open_by_outlines(&log_folder(&config.data, 0), 0, options).unwrap())
}

pub fn segments(config: &Config) -> Vec<PathBuf> {
    let files = fs::read_dir(log_folder(&config.data, 0)).unwrap().map(|entry| entry.unwrap().path());
    let mut segments: Vec<_> = files.filter(|file| file.extension().is_some_and(|found| found == "log")).collect();
    segments.sort();
    segments
}

pub async fn written(config: &Config) {
    let server = start_on(config, open(config)).await;
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("alice", EUR, 1_000_000).await;
    client.play_out(bet("first", &account, "0.01")).await.unwrap();
    for number in 0.. {
        let request_id = format!("deposit-{number}");
        let request = DepositRequest { request_id, account: Some(account.clone()), amount_minor: 100 };
        client.ledger.deposit(request).await.unwrap();
        if segments(config).len() > 4 {
            break;
        }
    }
    server.stop().await.unwrap();
}

pub async fn verified(server: &Server) -> Verification {
    let mut verification = server.ledger().verification();
    let over = |seen: &Verification| seen.verified == seen.unread || seen.failure.is_some();
    verification.wait_for(over).await.unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_full_segments_are_verified_behind_the_service() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    written(&config).await;
    let server = start_on(&config, open(&config)).await;
    let verification = verified(&server).await;
    assert!(verification.unread > 0, "a part of the log is not verified before the first answer");
    assert_eq!((verification.verified, verification.failure), (verification.unread, None));
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("bob", EUR, 1_000).await;
    client.play_out(bet("second", &account, "0.01")).await.unwrap();
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_what_came_after_the_last_checkpoint_is_verified_before_the_first_answer() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    let (tree, early) = (data.path().join("proofs/0"), data.path().join("early"));
    let server = start_on(&config, open(&config)).await;
    let mut client = Client::connect(server.address()).await;
    client.fund("alice", EUR, 1_000_000).await;
    server.stop().await.unwrap();
    copy(&tree, &early);
    written(&config).await;
    let segment = segments(&config).into_iter().nth(2).unwrap();
    let sound = fs::read(&segment).unwrap();
    let mut bytes = sound.clone();
    bytes[5_000] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let serve = async || {
        let mut serve = Command::new(PROGRAM);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path());
        serve.kill_on_drop(true).stderr(Stdio::piped()).stdout(Stdio::null());
        serve.spawn().unwrap()
    };

    fs::rename(&tree, data.path().join("late")).unwrap();
    copy(&early, &tree);
    let refused = serve().await.wait_with_output().await.unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    let why = "cannot verify the records after the checkpoint";
    assert!(said.contains(why) && said.contains(&segment.display().to_string()), "{said}");

    fs::write(&segment, sound).unwrap();
    let server = start_on(&config, open(&config)).await;
    assert_eq!(verified(&server).await.failure, None);
    server.stop().await.unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_damage_in_a_full_segment_stops_new_rounds_with_a_significant_event() {
    let data = tempfile::tempdir().unwrap();
    let config = config(data.path());
    written(&config).await;
    let segment = segments(&config).into_iter().nth(1).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[5_000] ^= 1;
    fs::write(&segment, bytes).unwrap();

    let server = start_on(&config, open(&config)).await;
    let failure = verified(&server).await.failure.expect("the verification finds the damage");
    assert!(failure.contains(&segment.display().to_string()), "the failure does not name the file: {failure}");
    let standing = server.ledger().failed().await;
    assert_eq!(standing, Standing::Damaged(failure.clone()));
    let mut client = Client::connect(server.address()).await;
    let account = motherlode_tests::account("alice", EUR);
    client.spin(bet("third", &account, "0.01"), None).await.unwrap_err();
    assert!(client.balance(&account).await > 0, "reads continue");
    let told = Event::IntegrityFailed { check: "log".to_owned(), finding: failure };
    let last = server.ledger().fetch(server.ledger().durable()).unwrap();
    assert_eq!(last.commit.events, [told]);
    server.stop().await.unwrap();

    assert!(
        open_stores(&Config { verify: Verify::All, ..config.clone() }).is_err(),
        "with `--verify all` the damage is found before the first answer"
    );
    let mut serve = Command::new(PROGRAM);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--verify", "all", "--data"]).arg(data.path());
    let refused = serve.output().await.unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains(&segment.display().to_string()) && said.contains("byte"), "{said}");
    let audit = Command::new(PROGRAM).arg("audit").arg(data.path()).output().await.unwrap();
    assert_eq!(audit.status.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_signal_ends_a_start_that_still_reads() {
    let data = tempfile::tempdir().unwrap();
    let snapshot = index_folder(data.path(), 0).with_extension("views").join("checkpoints").join("0".repeat(64));
    fs::create_dir_all(snapshot.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&snapshot).status().await.unwrap().success());
    let mut serve = Command::new(PROGRAM);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--no-console", "--data"]).arg(data.path());
    let mut serving = serve.kill_on_drop(true).stdout(Stdio::null()).spawn().unwrap();
    let opened = spawn_blocking(move || fs::File::options().write(true).open(snapshot));
    let _endless = opened.await.unwrap().unwrap();
    let stop = format!("kill -TERM {}", serving.id().unwrap());
    assert!(Command::new("sh").args(["-c", &stop]).status().await.unwrap().success());
    let ended = timeout(Duration::from_secs(60), serving.wait())
        .await
        .expect("the process ends although no further call arrives");
    assert_eq!(ended.unwrap().code(), Some(0));
}
