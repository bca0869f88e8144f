use crate::PROGRAM;
use motherlode_proto::report::v1::{GetServiceStatusRequest, PartitionStatus};
use motherlode_runtime::config::Store;
use motherlode_testkit::nats::{Node, toml};
use motherlode_tests::{Cable, Client, Player, Process, reason, serving, until};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

const NEVER: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(50);

const HELD: &str = "the log was loaded";
const TAKEN_OVER: &str = "took over the log";

struct Installation {
    folder: TempDir,
    node: Node,
    store: Store,
    partitions: u32,
    more: String,
}

impl Installation {
    fn new(partitions: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::start(&folder.path().join("nats"), "");
        let store = node.config("S");
        Self { folder, node, store, partitions, more: String::new() }
    }

    fn start_at(&self, nats: &str, name: &str, role: &str, more: &[&str]) -> Process {
        let data = self.folder.path().join(name);
        let text = format!(
            "partitions = {}\n{}[limits]\nrequest_ms_max = 3000\n{}",
            self.partitions,
            toml(&Store { url: Some(nats.to_owned()), ..self.store.clone() }),
            self.more
        );
        let file: PathBuf = self.folder.path().join(format!("{name}.toml"));
        fs::write(&file, text).unwrap();
        Process::start_as(PROGRAM, &data, Some(&file), &[&["--role", role], more].concat())
    }

    fn start(&self, name: &str, role: &str, more: &[&str]) -> Process {
        self.start_at(self.node.url(), name, role, more)
    }

    fn spin(&self, ledgers: [&Process; 2]) -> Process {
        let [a, b] = ledgers.map(|ledger| ledger.address);
        self.start("spin", "spin", &["--ledger", &format!("http://{a},http://{b}")])
    }

    fn audit(&self) {
        let output = Command::new(PROGRAM)
            .args(["audit", &format!("{}/S", self.node.url()), "--stream-key"])
            .arg(self.node.key_file())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}");
    }
}

async fn wait_for_line(process: &Process, words: &str) -> String {
    let saying = async {
        loop {
            match process.log_line(words) {
                Some(line) => return line,
                None => sleep(LOOK).await,
            }
        }
    };
    timeout(NEVER, saying).await.unwrap_or_else(|_| panic!("no log line with: {words}"))
}

fn number(line: &str, field: &str) -> u64 {
    let number = line.split_once(&format!(" {field}=")).unwrap().1.split(' ').next();
    number.unwrap().parse().unwrap()
}

async fn client(spin: SocketAddr, ledger: SocketAddr) -> Client {
    Client { spin: Client::connect(spin).await.spin, ..Client::connect(ledger).await }
}

async fn play(player: &mut Player, client: &mut Client, rounds: usize) {
    let playing = async {
        while let Err(status) = player.play_rounds(client, rounds).await {
            let known = matches!(&*reason(&status), "OUTCOME_UNKNOWN" | "NOT_CURRENT" | "NOT_THE_WRITER");
            assert!(known, "{status:?}");
        }
    };
    timeout(NEVER, playing).await.expect("play continues");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_standby_takes_over_what_it_holds_and_reads_only_what_came_since() {
    for partitions in [1, 2] {
        let installation = Installation::new(partitions);
        let a = installation.start("a", "all", &[]);
        let mut player = Player::join(&mut Client::connect(a.address).await, "p", "0.05").await;
        play(&mut player, &mut Client::connect(a.address).await, 50).await;
        let b = installation.start("b", "ledger", &[]);
        let mut held = vec![];
        for partition in 0..partitions {
            held.push(number(&wait_for_line(&b, &format!("{HELD} partition={partition}")).await, "position"));
        }
        assert!(held.iter().sum::<u64>() > 50, "the log has the earlier commits and at least one per round: {held:?}");
        let spin = installation.spin([&a, &b]);
        let mut at_spin = client(spin.address, a.address).await;
        play(&mut player, &mut at_spin, 10).await;
        a.kill();
        play(&mut player, &mut at_spin, 10).await;

        for (partition, held) in held.into_iter().enumerate() {
            let taken_over = wait_for_line(&b, &format!("{TAKEN_OVER} partition={partition}")).await;
            let [from, to, applied] = ["held", "position", "applied"].map(|field| number(&taken_over, field));
            assert!(from >= held && to - from == applied, "{held}: {taken_over}");
        }
        player.check(&mut client(spin.address, b.address).await).await;
        for process in [spin, b] {
            assert_eq!(process.terminate().await, Some(0));
        }
        installation.audit();
    }
}

async fn readers(writer: &Process) -> BTreeMap<(String, u32), u64> {
    let mut client = Client::connect(writer.address).await;
    let told = client.report.get_service_status(GetServiceStatusRequest {}).await.unwrap().into_inner();
    let of =
        |of: PartitionStatus| of.readers.into_iter().map(move |reader| ((reader.name, of.partition), reader.behind));
    told.partitions.into_iter().flat_map(of).collect()
}

async fn wait_for_readers(writer: &Process, wanted: impl Fn(&BTreeMap<(String, u32), u64>) -> bool) {
    let waiting = async {
        while !wanted(&readers(writer).await) {
            sleep(LOOK).await;
        }
    };
    let waited = timeout(NEVER, waiting).await;
    assert!(waited.is_ok(), "the expected readers did not connect: {:?}", readers(writer).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_writer_lists_standbys_that_read_jetstream_and_processes_that_follow_it_with_their_lag() {
    let installation = Installation::new(2);
    let a = installation.start("a", "all", &[]);
    let mut player = Player::join(&mut Client::connect(a.address).await, "p", "0.05").await;
    let b = installation.start("b", "ledger", &[]);
    let spin = installation.spin([&a, &b]);
    let standby = |readers: &BTreeMap<(String, u32), u64>, process: &Process, partition| {
        readers.get(&(format!("standby {}", process.address), partition)).copied()
    };
    wait_for_readers(&a, |all| {
        (0..2).all(|partition| standby(all, &b, partition) == Some(0))
            && all.keys().filter(|(name, _)| !name.starts_with("standby ")).count() == 2
    })
    .await;
    play(&mut player, &mut Client::connect(a.address).await, 20).await;
    wait_for_readers(&a, |all| (0..2).all(|partition| standby(all, &b, partition) == Some(0))).await;
    b.hold();
    play(&mut player, &mut Client::connect(a.address).await, 20).await;
    wait_for_readers(&a, |all| (0..2).any(|partition| standby(all, &b, partition) > Some(0))).await;
    b.kill();
    wait_for_readers(&a, |all| all.keys().all(|(name, _)| !name.starts_with("standby "))).await;
    for process in [spin, a] {
        assert_eq!(process.terminate().await, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_standby_that_was_cut_from_the_log_takes_up_what_it_missed() {
    let installation = Installation::new(1);
    let cable = Cable::to(installation.node.url().trim_start_matches("nats://").parse().unwrap()).await;
    let a = installation.start("a", "all", &[]);
    let b = installation.start_at(&format!("nats://{}", cable.address), "b", "ledger", &[]);
    let held = number(&wait_for_line(&b, HELD).await, "position");
    let spin = installation.spin([&a, &b]);
    let mut at_spin = client(spin.address, a.address).await;
    let mut player = Player::join(&mut at_spin, "p", "0.05").await;
    cable.cut();
    play(&mut player, &mut at_spin, 20).await;
    wait_for_line(&b, "failed to follow the log").await;
    cable.mend();
    a.kill();
    play(&mut player, &mut at_spin, 10).await;
    assert!(number(&wait_for_line(&b, TAKEN_OVER).await, "held") >= held);
    player.check(&mut client(spin.address, b.address).await).await;
    for process in [spin, b] {
        assert_eq!(process.terminate().await, Some(0));
    }
    installation.audit();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_standby_from_before_the_log_holds_it_and_so_does_a_writer_that_lost_it() {
    // Enables telemetry, to test that metrics release a ledger that stops serving.
    let more = "[telemetry]\notlp_endpoint = \"http://127.0.0.1:1\"\n".to_owned();
    let installation = Installation { more, ..Installation::new(1) };
    let b = installation.start("b", "ledger", &[]);
    let a = installation.start("a", "all", &[]);
    wait_for_line(&b, HELD).await;
    let mut player = Player::join(&mut Client::connect(a.address).await, "p", "0.05").await;
    play(&mut player, &mut Client::connect(a.address).await, 5).await;
    let c = installation.start("c", "all", &[]);
    wait_for_line(&a, HELD).await;
    assert_eq!(a.log_line("the index does not open"), None);
    player.check(&mut Client::connect(c.address).await).await;
    b.kill();
    c.kill();
    let spin = installation.spin([&a, &a]);
    let mut at_spin = client(spin.address, a.address).await;
    play(&mut player, &mut at_spin, 5).await;
    wait_for_line(&a, TAKEN_OVER).await;
    player.check(&mut at_spin).await;
    for process in [spin, a] {
        assert_eq!(process.terminate().await, Some(0));
    }
    installation.audit();
}

const LACKS: &str = "the log names draw keys";

async fn wait_for_takeover(standby: &Process) {
    until("a takeover", async || serving(standby.address).await || standby.log_line(LACKS).is_some()).await;
    assert_eq!(standby.log_line(LACKS), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a7_a_standby_that_is_older_than_the_draw_keys_takes_over_at_once() {
    let mut installation = Installation::new(1);
    let keys = installation.folder.path().join("draws");
    installation.more = format!("[draws]\nkey_file = {keys:?}\n");
    let b = installation.start("b", "ledger", &[]);
    let a = installation.start("a", "all", &[]);
    let mut player = Player::join(&mut Client::connect(a.address).await, "p", "0.05").await;
    play(&mut player, &mut Client::connect(a.address).await, 5).await;
    wait_for_line(&b, HELD).await;
    a.kill();
    wait_for_takeover(&b).await;
    let spin = installation.spin([&b, &b]);
    play(&mut player, &mut client(spin.address, b.address).await, 5).await;
    player.check(&mut client(spin.address, b.address).await).await;
    for process in [spin, b] {
        assert_eq!(process.terminate().await, Some(0));
    }
    installation.audit();
}

fn write_key_of_yesterday(file: &Path) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let yesterday = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() - Duration::from_secs(86_400);
    let mut file = fs::File::options().create_new(true).write(true).mode(0o600).open(file).unwrap();
    writeln!(file, "{} {}", yesterday.as_millis(), "5c".repeat(32)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a7_a_standby_reads_draw_keys_that_were_renewed_since_its_start() {
    let installation = Installation::new(1);
    let [keys_a, keys_c] = ["a", "c"].map(|name| installation.folder.path().join(name).join("keys/draws"));
    let a = installation.start("a", "all", &[]);
    let mut player = Player::join(&mut Client::connect(a.address).await, "p", "0.05").await;
    play(&mut player, &mut Client::connect(a.address).await, 5).await;
    write_key_of_yesterday(&keys_c);
    let c = installation.start("c", "all", &[]);
    play(&mut player, &mut Client::connect(c.address).await, 5).await;
    let renewed = fs::read_to_string(&keys_c).unwrap();
    assert_eq!(
        renewed.lines().filter(|line| !line.starts_with('#')).count(),
        2,
        "the file has yesterday's and today's key"
    );
    wait_for_line(&a, HELD).await;
    fs::copy(&keys_c, &keys_a).unwrap();
    c.kill();
    wait_for_takeover(&a).await;
    play(&mut player, &mut Client::connect(a.address).await, 5).await;
    player.check(&mut Client::connect(a.address).await).await;
    assert_eq!(a.terminate().await, Some(0));
    installation.audit();
}
