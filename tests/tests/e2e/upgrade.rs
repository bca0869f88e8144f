use crate::PROGRAM;
use bytes::Bytes;
use motherlode_log::{Options, Position, SegmentStore, Store};
use motherlode_proto::{
    convert::record,
    ledger::v1::GetRoundRequest,
    log::v1::Commit,
    round::v1::{Account, RoundState, choice},
    spin::v1::ListOpenRoundsRequest,
};
use motherlode_runtime::{Config, config};
use motherlode_server::{LogLocation, log_folder};
use motherlode_state::{Currency, Event, HOME};
use motherlode_tests::{Client, Player, Process, checked, start_on};
use prost::Message;
use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output},
};

/// Golden logs of earlier versions, one record per line. Each log contains a round that awaits a guess. If the format
/// is extended, add a log; never change an existing log.
pub const LOGS: [(&str, &[&str]); 5] = [
    // The first log with five games, before reports, voids and switches existed.
    ("five-games", &[include_str!("../../golden/five-games.hex")]),
    // A log of a service without operators.
    ("one-machine", &[include_str!("../../golden/one-machine.hex")]),
    // A log of two partitions with one pool.
    (
        "two-partitions",
        &[include_str!("../../golden/two-partitions-0.hex"), include_str!("../../golden/two-partitions-1.hex")],
    ),
    // The first log with sealed draws. The open round's draw was sealed with the tests' key.
    ("sealed", &[include_str!("../../golden/sealed.hex")]),
    // The first log whose steps name the records that sealed their draws, with three rounds of each game.
    ("linked", &[include_str!("../../golden/linked.hex")]),
];

pub fn all_records(golden: &[&str]) -> Vec<Vec<Bytes>> {
    golden.iter().map(|golden| records(golden)).collect()
}

fn records(golden: &str) -> Vec<Bytes> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    golden.lines().map(|line| line.as_bytes().chunks(2).map(byte).collect::<Vec<_>>().into()).collect()
}

pub fn lay(data: &Path, partitions: &[Vec<Bytes>]) {
    for (partition, records) in (0..).zip(partitions) {
        let mut store = SegmentStore::open(&log_folder(data, partition), partition, Options::default()).unwrap();
        for append in records.chunks(5) {
            store.append(store.end(), append).unwrap();
        }
    }
}

fn stored(data: &Path, partition: u32) -> Vec<Bytes> {
    LogLocation::from_config(&here(data, 1)).existing(partition).unwrap().map(|record| record.unwrap().bytes).collect()
}

pub fn here(data: &Path, partitions: usize) -> Config {
    let partitions = u32::try_from(partitions).unwrap();
    Config { store: config::Store::default(), partitions, ..motherlode_tests::config(data) }
}

#[derive(Default)]
struct LogFigures {
    balances: BTreeMap<(String, Currency), i64>,
    rounds: BTreeMap<String, RoundState>,
}

fn figures(partitions: &[Vec<Bytes>]) -> LogFigures {
    let LogFigures { mut balances, mut rounds } = LogFigures::default();
    for bytes in partitions.iter().flatten() {
        let logged = record::decode(bytes).unwrap();
        let stream = logged.commit.stream.to_string();
        let Some(player) = stream.strip_prefix("player/") else { continue };
        for (currency, amount) in &logged.balances_after {
            balances.insert((player.to_owned(), *currency), amount.0);
        }
        for event in &logged.commit.events {
            let (round, state) = match event {
                Event::RoundSettled { round, .. } => (round, RoundState::Settled),
                Event::RoundVoided { round, .. } => (round, RoundState::Voided),
                _ => continue,
            };
            rounds.insert(format!("{player}/{round}"), state);
        }
    }
    LogFigures { balances, rounds }
}

async fn serves(name: &str, client: &mut Client, old: &[Vec<Bytes>]) {
    let LogFigures { balances, rounds } = figures(old);
    assert!(balances.len() > 1 && rounds.len() > 20, "{name}");
    for ((player, currency), amount) in &balances {
        let (operator, player) = player.split_once('/').unwrap();
        let (operator_id, player_id) = (operator.to_owned(), player.to_owned());
        let account = Account { operator_id, player_id, currency_code: currency.code().to_owned() };
        assert_eq!(client.balance(&account).await, *amount, "{name}: {account:?}");
    }
    for (round_id, state) in rounds {
        let round = client.ledger.get_round(GetRoundRequest { round_id }).await.unwrap().into_inner().round.unwrap();
        assert_eq!(round.state(), state, "{name}: {}", round.round_id);
        assert!(!round.steps.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_01_pl_30_a_log_of_every_earlier_version_is_served_and_gone_on_with() {
    for (name, golden) in LOGS {
        let data = tempfile::tempdir().unwrap();
        let old = all_records(golden);
        lay(data.path(), &old);
        checked(data.path());
        let config = here(data.path(), old.len());
        let server = start_on(&config, motherlode_server::open_stores(&config).unwrap()).await;
        let mut client = Client::connect(server.address()).await;
        serves(name, &mut client, &old).await;
        let request = ListOpenRoundsRequest { operator_id: "demo".to_owned(), ..ListOpenRoundsRequest::default() };
        let open = client.spin.list_open_rounds(request).await.unwrap().into_inner().rounds;
        assert_eq!(open.len(), 1, "{name}");
        let round_id = &open[0].round.as_ref().unwrap().round_id;
        let collect = choice::Kind::Collect(choice::Collect {});
        let played = client.choose("collect", round_id, collect, None).await.unwrap();
        assert_eq!(played.state(), RoundState::Settled, "{name}");
        let mut player = Player::join(&mut client, "new", "0.05").await;
        player.play_rounds(&mut client, 10).await.unwrap();
        server.stop().await.unwrap();
        checked(data.path());
        let mut more = 0;
        for (partition, old) in (0..).zip(&old) {
            let now = stored(data.path(), partition);
            assert!(now.starts_with(old), "{name}");
            more += now.len() - old.len();
        }
        assert!(more > 10, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_the_data_folders_of_earlier_releases_are_served() {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/releases");
    let files: Vec<_> = fs::read_dir(releases).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let (folder, memory) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/dev/shm").unwrap());
        let (name, data) = (file.display().to_string(), folder.path().join("data"));
        fs::create_dir(&data).unwrap();
        let unpacked = Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(&data).status().unwrap();
        assert!(unpacked.success(), "{name}");
        let config = folder.path().join("config.toml");
        fs::write(&config, format!("[draws]\npage_folder = {:?}\n", memory.path())).unwrap();
        let old = vec![stored(&data, HOME)];
        for newcomer in ["first", "second"] {
            let process = Process::start(PROGRAM, &data, Some(&config));
            let mut client = Client::connect(process.address).await;
            serves(&name, &mut client, &old).await;
            let mut player = Player::join(&mut client, newcomer, "0.05").await;
            player.play_rounds(&mut client, 10).await.unwrap();
            assert_eq!(process.terminate().await, Some(0), "{name}");
        }
        checked(&data);
        assert!(stored(&data, HOME).starts_with(&old[0]), "{name}");
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn of_a_later_version(records: &[Bytes]) -> Bytes {
    let last = records.last().unwrap();
    let mut commit = Commit::decode(last.clone()).unwrap();
    commit.previous_hash = motherlode_log::hash(last).to_vec();
    commit.position += 1;
    commit.stream = "system".to_owned();
    commit.version = 1_000;
    commit.previous_position = 0;
    commit.request_id = "later".to_owned();
    commit.events.clear();
    commit.balances_after.clear();
    let mut bytes = commit.encode_to_vec();
    bytes.extend([10 << 3 | 2, 3, 0xC2, 0x3E, 0]);
    bytes.into()
}

#[test]
fn pl_01_pl_12_a_log_of_a_later_version_is_refused_by_its_position_and_left_as_it_is() {
    let data = tempfile::tempdir().unwrap();
    let mut all = records(LOGS[1].1[0]);
    let known = all.len() as Position;
    all.push(of_a_later_version(&all));
    lay(data.path(), std::slice::from_ref(&all));
    let folder = data.path().to_str().unwrap();
    let place = format!("position {}", known + 1);
    for arguments in [
        &["serve", "--new-log-key", "--listen", "127.0.0.1:0", "--data", folder][..],
        &["audit", folder],
        &["log", "tail", folder],
        &["replay", folder, "demo/alice/1"],
    ] {
        let output = run(arguments);
        let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {printed}");
        assert!(printed.contains(&place) && printed.contains("event"), "{arguments:?}: {printed}");
    }
    assert_eq!(stored(data.path(), HOME), all);
    assert!(run(&["log", "verify", folder]).status.success());
}
