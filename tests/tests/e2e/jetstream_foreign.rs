use crate::PROGRAM;
use motherlode_jetstream::exists;
use motherlode_log::{Position, block, hash};
use motherlode_proto::report::v1::{ListSignificantEventsRequest, SignificantKind};
use motherlode_runtime::config::Store;
use motherlode_server::LogLocation;
use motherlode_testkit::{conformance::records, nats::Node};
use motherlode_tests::{Client, Player, Process, until};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

struct Attacker(BufReader<TcpStream>);

impl Attacker {
    fn connect(node: &Node) -> Self {
        let mut stream = TcpStream::connect(node.url().trim_start_matches("nats://")).unwrap();
        stream.write_all(b"CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB answers 1\r\n").unwrap();
        Self(BufReader::new(stream))
    }

    fn publish(&mut self, subject: &str, epoch: Option<u64>, payload: &[u8]) -> String {
        let epoch = epoch.map(|epoch| format!("Motherlode-Epoch: {epoch}\r\n")).unwrap_or_default();
        let headers = format!("NATS/1.0\r\n{epoch}\r\n");
        let (length, all) = (headers.len(), headers.len() + payload.len());
        let stream = self.0.get_mut();
        stream.write_all(format!("HPUB {subject} answers {length} {all}\r\n{headers}").as_bytes()).unwrap();
        stream.write_all(payload).unwrap();
        stream.write_all(b"\r\n").unwrap();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the server has closed the connection");
            if line.starts_with('{') {
                assert!(!line.contains("\"error\""), "{line}");
                return line;
            }
        }
    }
}

fn configure(folder: &Path, node: &Node, key: Option<&Path>) -> std::path::PathBuf {
    let key = key.map(|key| format!("key_file = {key:?}\n")).unwrap_or_default();
    let name = if key.is_empty() { "without-key.toml" } else { "motherlode.toml" };
    let text = format!(
        "[store]\nurl = {:?}\nstream = \"S\"\nreplicas = 1\nmonitor = [{:?}]\n{key}[store.allow_unsafe]\nreplicas = true\n\
         [draws]\nkey_file = {:?}\n",
        node.url(),
        node.monitor(),
        folder.join("draws")
    );
    fs::write(folder.join(name), text).unwrap();
    folder.join(name)
}

fn run(arguments: &[&str], config: &Path) -> Output {
    Command::new(PROGRAM).args(arguments).arg("--config").arg(config).output().unwrap()
}

fn end(store: &Store) -> (Position, [u8; 32]) {
    let last = LogLocation::Stream(store.clone()).existing(0).unwrap().last().unwrap().unwrap();
    (last.position, hash(&last.bytes))
}

async fn foreign_messages_reported(client: &Client) -> bool {
    let request = ListSignificantEventsRequest { page_size: 100, ..ListSignificantEventsRequest::default() };
    let events = client.report.clone().list_significant_events(request).await.unwrap().into_inner().events;
    events.iter().any(|event| {
        event.kind() == SignificantKind::IntegrityFailed && format!("{event:?}").contains("no writer of the log")
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e4_a_service_goes_on_through_junk_forged_blocks_and_epochs_and_reports_them() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let (data, without_key) = (folder.path().join("data"), configure(folder.path(), &node, None));
    let key = data.join("keys").join("stream");
    let store = Store { key_file: Some(key.clone()), ..node.config("S") };
    let mut attacker = Attacker::connect(&node);
    let process = Process::start(PROGRAM, &data, Some(&without_key));
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = Client::connect(process.address).await;
    let mut player = Player::join(&mut client, "p", "0.05").await;
    for _ in 0..10 {
        attacker.publish("S_0.block", None, b"junk");
        attacker.publish("S_0.epoch", None, b"0123456789abcdef0123456789abcdef");
        let (position, head) = end(&store);
        let forged = block::encode(position + 1, &records(head, [b"5000000000000000 for the attacker"]));
        attacker.publish("S_0.block", Some(1), &forged);
        player.play_rounds(&mut client, 3).await.unwrap();
    }
    until("a significant event", async || foreign_messages_reported(&client).await).await;
    player.check(&mut client).await;
    process.kill();
    attacker.publish("S_0.block", None, b"junk");
    let data = folder.path().join("no-key");
    let refused = run(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()], &without_key);
    let printed = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && printed.contains("there is no stream key"), "{printed}");
    assert!(!data.join("keys").join("stream").exists(), "the refused start created a second key");
    let config = configure(folder.path(), &node, Some(&key));
    let process = Process::start(PROGRAM, &folder.path().join("empty"), Some(&config));
    let mut client = Client::connect(process.address).await;
    player.check(&mut client).await;
    player.play_rounds(&mut client, 3).await.unwrap();
    assert_eq!(process.terminate().await, Some(0));

    let place = format!("{}/S", node.url());
    let audit = run(&["audit", &place], &config);
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
    let audit = run(&["audit", &place, "--stream-key", key.to_str().unwrap()], &without_key);
    assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stderr));
    let refused = run(&["audit", &place], &without_key);
    let printed = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && printed.contains("there is no stream key"), "{printed}");

    attacker.publish("$JS.API.STREAM.DELETE.S_0", None, b"");
    let data = folder.path().join("empty");
    let refused = run(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()], &config);
    let printed = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && printed.contains("stream S_0 does not exist"), "{printed}");
    assert!(!tokio::task::spawn_blocking(move || exists(&store, 0)).await.unwrap().unwrap());
}

#[test]
fn mf_e4_a_copy_of_a_damaged_stream_keeps_the_records_before_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(&folder.path().join("nats"), "");
    let mut store = Store { key_file: None, ..node.config("S") };
    store.allow_unsafe.unsigned = true;
    let config = configure(folder.path(), &node, None);
    fs::write(
        &config,
        fs::read_to_string(&config).unwrap().replace("replicas = true", "replicas = true\nunsigned = true"),
    )
    .unwrap();
    let from = LogLocation::Stream(store);
    let mut log = from.open(0).unwrap();
    let all = records(log.head(), [b"one".to_vec(), b"two".to_vec()]);
    log.append(0, &all).unwrap();
    let mut attacker = Attacker::connect(&node);
    attacker.publish("S_0.more", None, b"junk is skipped");
    attacker.publish("S_0.block", Some(1), b"and this is damage");
    let to = folder.path().join("copy");
    let copied = run(&["copy", "--from", &format!("{}/S", node.url()), "--to", to.to_str().unwrap()], &config);
    let printed = String::from_utf8_lossy(&copied.stderr);
    assert!(copied.status.code().is_some_and(|code| code != 0), "{printed}");
    assert!(printed.contains("message 4 of stream S_0") && printed.contains("position 3"), "{printed}");
    let to = LogLocation::Folder { data: to, segment_bytes: 1 << 20 };
    let kept: Vec<_> = to.existing(0).unwrap().map(|record| record.unwrap().bytes).collect();
    assert_eq!(kept, all);
}

#[test]
fn mf_e6_a_password_in_the_address_of_nats_is_refused_and_not_printed() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("motherlode.toml");
    fs::write(&config, "[store]\nurl = \"nats://ledger:secret-word@127.0.0.1:4222\"\n").unwrap();
    let none = folder.path().join("none.toml");
    fs::write(&none, "").unwrap();
    for output in [
        run(&["serve", "--listen", "127.0.0.1:0"], &config),
        run(&["config"], &config),
        run(&["audit", "nats://ledger:secret-word@127.0.0.1:4222/S"], &none),
        run(&["log", "tail", "nats://ledger:secret-word@127.0.0.1:4222/S"], &none),
        run(&["copy", "--from", "nats://ledger:secret-word@127.0.0.1:4222", "--to", "copy"], &none),
    ] {
        let printed = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && printed.contains("[store] credentials"), "{printed}");
        assert!(!printed.contains("secret-word"), "{printed}");
    }
}
