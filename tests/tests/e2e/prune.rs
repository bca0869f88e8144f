use crate::{
    PROGRAM,
    archive::{KILLS, Random},
    restores::copy_folder,
};
use motherlode_proto::{
    ledger::v1::{GetRoundRequest, VoidRoundRequest},
    round::v1::Account,
};
use motherlode_runtime::{Config, config::Store};
use motherlode_server::open_stores;
use motherlode_tests::{Client, EUR, Server, bet, config, reason, start_on};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

const ROUNDS: usize = 250;
const SEGMENT: &str = "16384";

async fn serve(data: &Path) -> Server {
    serve_with(data, None).await
}

pub(crate) async fn serve_with(data: &Path, archive: Option<&Path>) -> Server {
    let mut config = Config { partitions: 1, store: Store::default(), ..config(data) };
    config.limits.segment_bytes = 8 << 10;
    config.console.listen = Some(([127, 0, 0, 1], 0).into());
    config.archive.place = archive.map(|place| text(place).to_owned());
    start_on(&config, open_stores(&config).unwrap()).await
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).args(["--priority", "normal"]);
    command
}

pub(crate) fn run(arguments: &[&str]) -> Result<String, String> {
    let output = command(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

pub(crate) fn segments(log: &Path) -> Vec<u64> {
    let names = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut firsts: Vec<_> = names.filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect();
    firsts.sort_unstable();
    firsts
}

/// Log whose first rounds can be pruned: the digest of the state after them is logged and confirmed.
pub(crate) struct Played {
    at: tempfile::TempDir,
    pub(crate) account: Account,
    pub(crate) rounds: Vec<String>,
}

impl Played {
    async fn new() -> Self {
        let (mut played, server) = Self::with_base(ROUNDS).await;
        let mut client = Client::connect(server.address()).await;
        played.play(&mut client, ROUNDS).await;
        server.stop().await.unwrap();
        played.archive();
        played
    }

    pub(crate) async fn with_base(rounds: usize) -> (Self, Server) {
        let mut played = Self { at: tempfile::tempdir().unwrap(), account: Account::default(), rounds: vec![] };
        let (data, server) = (played.data(), serve(&played.data()).await);
        let mut client = Client::connect(server.address()).await;
        played.account = client.fund("alice", EUR, 100_000_000).await;
        played.play(&mut client, rounds).await;
        server.stop().await.unwrap();

        let server = serve(&data).await;
        let target = format!("http://{}", server.address());
        let copy = played.path("copy");
        let taken = run(&["base", "take", text(&data), "--actor", "anna", "--target", &target]).unwrap();
        let (position, digest) = (word_after(&taken, "state at position "), word_after(&taken, "digest  "));
        copy_folder(&data.join("index"), &played.path("base/index"));
        run(&["copy", "--from", text(&data), "--to", text(&copy)]).unwrap();
        assert!(
            run(&["audit", text(&copy), "--base", position])
                .unwrap()
                .contains("equal to the digest logged by `base take`")
        );
        run(&["base", "confirm", position, digest, "--actor", "bob", "--target", &target]).unwrap();
        (played, server)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.at.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.data().join("log/0")
    }

    pub(crate) async fn play(&mut self, client: &mut Client, rounds: usize) {
        for _ in 0..rounds {
            let id = format!("r{}", self.rounds.len());
            let answers = client.play_out(bet(&id, &self.account, "0.01")).await.unwrap();
            self.rounds.push(answers[0].round_id.clone());
        }
    }

    pub(crate) fn archive(&self) {
        let (data, archive) = (self.data(), self.path("archive"));
        run(&["archive", "--from", text(&data), "--to", text(&archive), "--segment-bytes", SEGMENT]).unwrap();
    }

    pub(crate) fn prune(&self, more: &[&str]) -> Result<String, String> {
        let (data, archive) = (self.data(), self.path("archive"));
        run(&[&["prune", text(&data), "--archive", text(&archive), "--keep-days", "0"], more].concat())
    }

    fn restored(&self, name: &str) -> String {
        let (archive, to) = (self.path("archive"), self.path(name));
        run(&["restore", "--from", text(&archive), "--to", text(&to)]).unwrap();
        run(&["audit", text(&to)]).unwrap();
        let verified = run(&["log", "verify", text(&to)]).unwrap();
        verified.lines().find(|line| line.starts_with("  head")).unwrap().to_owned()
    }
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn word_after<'a>(text: &'a str, before: &str) -> &'a str {
    text.split_once(before).unwrap().1.split([',', '\n']).next().unwrap().trim()
}

pub(crate) fn is_archived(status: &Status) {
    assert_eq!((status.code(), &*reason(status)), (Code::FailedPrecondition, "ARCHIVED"), "{status:?}");
    let details = status.get_error_details();
    assert!(details.error_info().unwrap().metadata.contains_key("first_position"), "{details:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_pruned_log_plays_on_and_applies_no_request_of_its_archive() {
    let mut played = Played::new().await;
    let before = segments(&played.log());
    let planned = played.prune(&["--dry-run"]).unwrap();
    assert_eq!(segments(&played.log()), before, "{planned}");
    let pruned = played.prune(&[]).unwrap();
    let first = segments(&played.log())[0];
    assert!(first > ROUNDS as u64 / 2, "{pruned}");
    assert!(pruned.contains(&format!("partition 0 now starts at position {first}")), "{pruned}");
    assert!(run(&["audit", text(&played.data())]).unwrap_err().contains("archive"));

    let server = serve(&played.data()).await;
    let (mut client, account) = (Client::connect(server.address()).await, played.account.clone());
    let (balance, end) = (client.balance(&account).await, server.ledger().durable());
    let mut archived = vec![];
    for turn in 0..4 {
        for number in 0..ROUNDS {
            match client.spin(bet(&format!("r{number}"), &account, "0.01"), None).await {
                Ok(answer) => assert_eq!(answer.round_id, played.rounds[number]),
                Err(status) => {
                    is_archived(&status);
                    archived.extend((turn == 0).then_some(number));
                }
            }
        }
    }
    assert!(archived.len() > 100, "{} archived rounds", archived.len());
    for (number, of) in archived.iter().take(100).enumerate() {
        let round_id = played.rounds[*of].clone();
        is_archived(&client.ledger.get_round(GetRoundRequest { round_id: round_id.clone() }).await.unwrap_err());
        let (request_id, reason, actor) = (format!("void-{number}"), "fault".to_owned(), "ann".to_owned());
        let void = VoidRoundRequest { request_id, round_id, reason, actor };
        is_archived(&client.ledger.void_round(void).await.unwrap_err());
    }
    assert_eq!((client.balance(&account).await, server.ledger().durable()), (balance, end), "nothing was applied");
    played.play(&mut client, 40).await;
    let round_id = played.rounds.last().unwrap().clone();
    let (request_id, reason, actor) = ("void-new".to_owned(), "fault".to_owned(), "ann".to_owned());
    client.ledger.void_round(VoidRoundRequest { request_id, round_id, reason, actor }).await.unwrap();
    let head = *server.ledger().head().borrow();
    server.stop().await.unwrap();

    played.archive();
    let again = played.prune(&[]).unwrap();
    assert!(again.contains("now starts at position"), "{again}");
    let restored = played.restored("restored");
    assert!(restored.len() > 64 && head.position > end, "{restored}");
    let server = serve(&played.data()).await;
    let mut client = Client::connect(server.address()).await;
    played.play(&mut client, 3).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_prune_needs_a_confirmed_base_and_an_undamaged_archive() {
    let played = Played::new().await;
    let files = |folder: &Path| -> BTreeMap<PathBuf, Vec<u8>> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    };
    let (before, data) = (segments(&played.log()), played.data());
    let empty = played.path("empty");
    fs::create_dir(&empty).unwrap();
    let nothing = run(&["prune", text(&data), "--archive", text(&empty), "--keep-days", "0"]).unwrap();
    assert!(nothing.contains("archive: records from position 1 must stay  (this limit decides)"), "{nothing}");
    let archived = played.path("archive").join("0/segments");
    let kept = files(&archived);
    let (path, bytes) = kept.first_key_value().unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    fs::write(path, damaged).unwrap();
    let refused = played.prune(&[]).unwrap_err();
    assert!(refused.contains("SHA-256"), "{refused}");
    fs::remove_file(path).unwrap();
    let refused = played.prune(&[]).unwrap_err();
    assert!(refused.contains("is missing"), "{refused}");
    fs::write(path, bytes).unwrap();
    assert_eq!(segments(&played.log()), before);
    let server = serve(&data).await;
    assert!(played.prune(&[]).unwrap_err().contains("in use"));
    server.stop().await.unwrap();
    played.prune(&["--dry-run"]).unwrap();

    let other = played.path("other");
    let server = serve(&other).await;
    Client::connect(server.address()).await.fund("alice", EUR, 100).await;
    server.stop().await.unwrap();
    let refused = run(&["prune", text(&other), "--archive", text(&empty)]).unwrap_err();
    assert!(refused.contains("no confirmed base"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_prune_killed_at_30_random_points_loses_nothing() {
    let mut played = Played::new().await;
    let (data, archive) = (played.data(), played.path("archive"));
    let arguments = ["prune", text(&data), "--archive", text(&archive), "--keep-days", "0"];
    let whole: BTreeMap<_, _> =
        segments(&played.log()).into_iter().map(|first| (first, segment(&played.log(), first))).collect();
    let (mut random, mut kills, mut turns) = (Random(2), 0, 0);
    while kills < KILLS {
        whole.iter().for_each(|(first, bytes)| fs::write(path_of(&played.log(), *first), bytes).unwrap());
        let _ = fs::remove_file(played.log().join("start"));
        kills += usize::from(killed(&arguments, &played.log(), random.below(whole.len() as u64 / 2)));
        let verified = run(&["doctor", text(&data)]).unwrap_or_else(|error| error);
        assert!(!verified.contains("damaged"), "{verified}");
        turns += 1;
        assert!(turns < 8 * KILLS, "{kills} kills");
    }
    let pruned = played.prune(&[]).unwrap();
    let first = segments(&played.log())[0];
    assert!(first > 1, "{pruned}");
    assert!(pruned.contains(&format!("partition 0 now starts at position {first}")), "{pruned}");
    let server = serve(&data).await;
    let mut client = Client::connect(server.address()).await;
    played.play(&mut client, 3).await;
    server.stop().await.unwrap();
    played.archive();
    played.restored("restored");
}

pub(crate) fn flip(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    fs::write(path, changed).unwrap();
    bytes
}

fn path_of(log: &Path, first: u64) -> PathBuf {
    log.join(format!("{first:020}.log"))
}

fn segment(log: &Path, first: u64) -> Vec<u8> {
    fs::read(path_of(log, first)).unwrap()
}

fn killed(arguments: &[&str], log: &Path, removed: u64) -> bool {
    let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let before = segments(log).len();
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let due = match usize::try_from(removed).unwrap() {
            0 => log.join("start.new").exists() || log.join("start").exists(),
            removed => segments(log).len() + removed <= before,
        };
        if due {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        std::thread::yield_now();
    }
}
