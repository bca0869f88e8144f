use crate::{
    PROGRAM,
    proofs::{in_folder, signed_in},
    telemetry::{collector, counted, prometheus},
};
use motherlode_ledger::{DrawKeys, Options, Standing};
use motherlode_proofs::{Witness, load, make, of_partition};
use motherlode_proto::{convert::record::decode, round::v1::RoundState, spin::v1::Played};
use motherlode_runtime::{Config, config, config::Role, stop};
use motherlode_server::{LogLocation, ServeError, Server, copy, log_folder, open_stores};
use motherlode_spin::Dealer;
use motherlode_state::{Event, GenerationBegun, StartEvidence};
use motherlode_testkit::nats::Node;
use motherlode_tests::{Client, EUR, Force, account, bet, checked, next_choice, reason, scripted, until};
use motherlode_tiles::{Checkpoint, KeyKind, Note};
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64},
};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tonic::Code;

const ROUNDS: u32 = 100;
const PLAYERS: [&str; 4] = ["ann", "ben", "cat", "dan"];

/// Creates one simulated machine's `draws.page_folder`, in memory. Copies of the data folder do not include it.
pub(crate) fn machine() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

pub(crate) fn on(data: &Path, machine: &TempDir) -> Config {
    let mut config = in_folder(data);
    config.draws.page_folder = Some(machine.path().to_owned());
    config
}

pub(crate) async fn started(config: &Config) -> Result<Server, ServeError> {
    let keys = DrawKeys::open(&config.draw_key_file().unwrap())?;
    Server::start(config, open_stores(config)?, Options::default(), scripted(Dealer::from_keys(keys))).await
}

async fn refused(config: &Config) -> String {
    started(config).await.err().expect("the start is refused").to_string()
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.as_ref().unwrap().file_name()));
        if path.is_dir() { copy_folder(&path, &to) } else { fs::copy(&path, &to).map(drop).unwrap() }
    }
}

pub(crate) async fn continued(server: &Server, tag: &str) -> BTreeSet<Vec<u8>> {
    let mut client = Client::connect(server.address()).await;
    let mut revealed = BTreeSet::new();
    for round in 0..ROUNDS {
        let player = account(PLAYERS[round as usize % PLAYERS.len()], EUR);
        let request = bet(&format!("{tag}-{round}"), &player, "0.05");
        let played = match client.spin(request, Some(Force::Loss)).await {
            Ok(played) => played,
            Err(status) if reason(&status) == "ROUND_IN_PROGRESS" => continue,
            Err(status) => panic!("{status}"),
        };
        revealed.extend(played.dealt);
    }
    revealed
}

pub(crate) async fn prepared(config: &Config) -> (Server, Played) {
    let server = started(config).await.unwrap();
    let mut client = Client::connect(server.address()).await;
    for player in PLAYERS {
        client.fund(player, EUR, 1_000_000).await;
        client.spin(bet(&format!("first-{player}"), &account(player, EUR), "0.05"), Some(Force::Loss)).await.unwrap();
    }
    let open = client.spin(bet("open", &account("dan", EUR), "0.05"), Some(Force::Pick)).await.unwrap();
    assert_eq!(open.state(), RoundState::Open);
    (server, open)
}

pub(crate) fn begun(data: &Path) -> Vec<GenerationBegun> {
    let records = motherlode_log::scan(&log_folder(data, 0)).unwrap();
    let events = records.flat_map(|record| decode(&record.unwrap().bytes).unwrap().commit.events);
    let begun = events.filter_map(|event| match event {
        Event::GenerationBegun(begun) => Some(*begun),
        _ => None,
    });
    begun.collect()
}

fn evidence(data: &Path) -> Vec<StartEvidence> {
    begun(data).iter().map(|begun| begun.evidence).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a1_a_restart_in_the_same_boot_ends_no_seals() {
    let (data, machine) = (tempfile::tempdir().unwrap(), machine());
    let config = on(data.path(), &machine);
    let (server, mut open) = prepared(&config).await;
    server.stop().await.unwrap();
    for restart in 0..3 {
        let server = started(&config).await.unwrap();
        let mut client = Client::connect(server.address()).await;
        open = match next_choice(&open) {
            Some(choice) => client.choose(&format!("go-on-{restart}"), &open.round_id, choice, None).await.unwrap(),
            None => client.spin(bet(&format!("next-{restart}"), &account("dan", EUR), "0.05"), None).await.unwrap(),
        };
        client.spin(bet(&format!("ann-{restart}"), &account("ann", EUR), "0.05"), Some(Force::Loss)).await.unwrap();
        server.stop().await.unwrap();
    }
    use StartEvidence::{EmptyLog, MemoryPage};
    assert_eq!(evidence(data.path()), [EmptyLog, MemoryPage, MemoryPage, MemoryPage]);
    let seals = motherlode_tests::audited(data.path(), 1).seals();
    assert_eq!((seals.unsure_starts, seals.ended), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a1_a_copied_folder_deals_nothing_that_the_original_revealed() {
    for running in [false, true] {
        let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
        let (data, kept) = (at.path().join("data"), at.path().join("kept"));
        let (mut server, _) = prepared(&on(&data, &home)).await;
        if running {
            copy_folder(&data, &kept);
        } else {
            server.stop().await.unwrap();
            copy_folder(&data, &kept);
            server = started(&on(&data, &home)).await.unwrap();
        }
        let original = continued(&server, "original").await;
        server.stop().await.unwrap();
        assert!(original.len() > 70, "{}", original.len());

        let error = refused(&on(&kept, &home)).await;
        for part in ["was acknowledged, but the log ends at position", "serve --restored"] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(begun(&kept).len(), 1, "a refused start changes nothing");
        let mut accepted = on(&kept, &home);
        accepted.draws.accept_loss = true;
        let there = at.path().join("there");
        copy_folder(&kept, &there);

        for (config, expected) in
            [(accepted, StartEvidence::Restored), (on(&there, &elsewhere), StartEvidence::Missing)]
        {
            let server = started(&config).await.unwrap();
            let again = continued(&server, "original").await;
            server.stop().await.unwrap();
            assert!(again.len() > 70 && again.is_disjoint(&original), "no revealed value is dealt again");
            let last = begun(&config.data).pop().unwrap();
            assert_eq!((last.evidence, last.unused_seals_end), (expected, true));
            assert_eq!(last.lost_to > 0, expected == StartEvidence::Restored);
            checked(&config.data);
            let seals = motherlode_tests::audited(&config.data, 1).seals();
            assert_eq!((seals.unsure_starts, seals.ended), (1, PLAYERS.len() as u64 - 1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a8_two_copies_that_are_served_at_once_share_no_dealt_value() {
    let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
    let [data, kept] = ["data", "kept"].map(|name| at.path().join(name));
    let (server, _) = prepared(&on(&data, &home)).await;
    server.stop().await.unwrap();
    copy_folder(&data, &kept);
    let first = started(&on(&data, &home)).await.unwrap();
    let error = refused(&on(&kept, &home)).await;
    assert!(error.contains("another process on this machine serves this log or a copy of it"), "{error}");
    let second = started(&on(&kept, &elsewhere)).await.unwrap();
    let (one, other) = tokio::join!(continued(&first, "same"), continued(&second, "same"));
    assert!(one.len() > 70 && other.len() > 70 && one.is_disjoint(&other));
    first.stop().await.unwrap();
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a8_a_copied_log_that_is_served_deals_nothing_that_the_original_revealed() {
    let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
    let [data, target] = ["data", "target"].map(|name| at.path().join(name));
    let (server, _) = prepared(&on(&data, &home)).await;
    let (from, to) = (LogLocation::from_config(&in_folder(&data)), LogLocation::from_config(&in_folder(&target)));
    copy(&from, &to, false, &AtomicBool::new(false), &AtomicU64::new(0)).unwrap();
    copy_folder(&data.join("keys"), &target.join("keys"));
    let original = continued(&server, "same").await;
    server.stop().await.unwrap();
    assert!(refused(&on(&target, &home)).await.contains("serve --restored"));
    let server = started(&on(&target, &elsewhere)).await;
    let server = match server {
        Ok(server) => server,
        Err(error) => {
            assert!(error.to_string().contains("serve --restored"), "{error}");
            let mut accepted = on(&target, &elsewhere);
            accepted.draws.accept_loss = true;
            started(&accepted).await.unwrap()
        }
    };
    let again = continued(&server, "same").await;
    server.stop().await.unwrap();
    assert!(again.len() > 70 && again.is_disjoint(&original));
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a6_lost_or_damaged_draw_keys_are_refused_with_the_draws_that_depend_on_them() {
    let (data, machine) = (tempfile::tempdir().unwrap(), machine());
    let config = on(data.path(), &machine);
    let file = config.draw_key_file().unwrap();
    let (server, open) = prepared(&config).await;
    server.stop().await.unwrap();
    let whole = fs::read(&file).unwrap();
    let ends = |data: &[u8]| fs::write(&file, data).unwrap();
    let digit = whole.len() - 20;
    let mut wrong = whole.clone();
    wrong[digit] = if wrong[digit] == b'0' { b'1' } else { b'0' };
    let mut older = String::from_utf8(whole.clone()).unwrap();
    older.truncate(older.trim_end().rfind(' ').unwrap());
    let mut wrong_older = older.clone().into_bytes();
    let last = wrong_older.len() - 1;
    wrong_older[last] = if wrong_older[last] == b'0' { b'1' } else { b'0' };
    wrong_older.push(b'\n');
    for (damaged, expected) in [
        (vec![], "4 sealed draws and 1 open rounds depend on these keys"),
        (vec![0; whole.len()], "4 sealed draws and 1 open rounds depend on these keys"),
        (whole[..whole.len() - 9].to_vec(), "4 sealed draws and 1 open rounds depend on these keys"),
        (wrong_older, "4 sealed draws and 1 open rounds depend on these keys"),
        (wrong, "is not a draw key, or its checksum is wrong"),
    ] {
        ends(&damaged);
        let error = refused(&config).await;
        assert!(error.contains(expected), "{error}");
        assert_eq!(fs::read(&file).unwrap(), damaged, "a refused start changes nothing");
    }
    fs::remove_file(&file).unwrap();
    let error = refused(&config).await;
    assert!(error.contains("serve --draw-keys-lost") && error.contains(&file.display().to_string()), "{error}");
    assert!(!file.exists(), "a refused start creates no key");
    assert_eq!(begun(data.path()).len(), 1);

    let mut accepted = config.clone();
    accepted.draws.accept_lost_keys = true;
    let server = started(&accepted).await.unwrap();
    let mut client = Client::connect(server.address()).await;
    let choice = next_choice(&open).unwrap();
    let status = client.choose("go-on", &open.round_id, choice, None).await.unwrap_err();
    assert_eq!(reason(&status), "DRAW_KEY_LOST");
    client.spin(bet("after", &account("ann", EUR), "0.05"), Some(Force::Loss)).await.unwrap();
    server.stop().await.unwrap();
    let last = begun(data.path()).pop().unwrap();
    assert_eq!((last.keys_lost.len(), last.keys_added.len()), (1, 1));
    started(&config).await.unwrap().stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a5_a_damaged_or_older_mark_is_no_evidence() {
    for damage in ["older", "damaged", "empty", "not text"] {
        let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
        let [data, kept] = ["data", "kept"].map(|name| at.path().join(name));
        let (server, _) = prepared(&on(&data, &home)).await;
        server.stop().await.unwrap();
        copy_folder(&data, &kept);
        let server = started(&on(&data, &home)).await.unwrap();
        let original = continued(&server, "same").await;
        server.stop().await.unwrap();
        let mark = in_folder(&kept).draw_key_file().unwrap().with_file_name("draws.log-0");
        match damage {
            "damaged" => fs::write(&mark, "7 0000\n").unwrap(),
            "empty" => fs::write(&mark, "").unwrap(),
            "not text" => fs::write(&mark, [0xff, 0xfe, 0x00]).unwrap(),
            _ => {}
        }
        let server = started(&on(&kept, &elsewhere)).await.unwrap();
        assert_eq!(evidence(&kept), [StartEvidence::EmptyLog, StartEvidence::Missing], "{damage}");
        let again = continued(&server, "same").await;
        server.stop().await.unwrap();
        assert!(again.is_disjoint(&original), "{damage}");
        let text = fs::read_to_string(&mark).unwrap();
        assert!(text.contains(" stopped ") && text.starts_with('0'), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a1_keys_that_know_of_a_longer_log_refuse_a_shorter_one() {
    let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
    let [data, kept] = ["data", "kept"].map(|name| at.path().join(name));
    let (server, _) = prepared(&on(&data, &home)).await;
    server.stop().await.unwrap();
    copy_folder(&data, &kept);
    let server = started(&on(&data, &home)).await.unwrap();
    continued(&server, "same").await;
    server.stop().await.unwrap();
    let signed = signed_in(&data).size;
    fs::remove_dir_all(kept.join("keys")).unwrap();
    copy_folder(&data.join("keys"), &kept.join("keys"));
    let error = refused(&on(&kept, &elsewhere)).await;
    assert!(error.contains(&format!("a record at position {signed} was acknowledged")), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a2_a_spin_process_with_its_own_keys_deals_nothing_that_was_revealed() {
    let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
    let [data, kept, spin] = ["data", "kept", "spin"].map(|name| at.path().join(name));
    let key_file = |data: &Path| in_folder(data).draw_key_file();
    let start = async |config: &Config| {
        let mut ledger = Config { role: Role::Ledger, ..config.clone() };
        ledger.draws.key_file = key_file(&config.data);
        let ledger = started(&ledger).await.unwrap();
        let mut joined = Config { role: Role::Spin, data: spin.clone(), ..config.clone() };
        joined.ledger.targets = vec![format!("http://{}", ledger.address())];
        let keys = DrawKeys::open(&key_file(&spin).unwrap()).unwrap();
        let dealer = scripted(Dealer::from_keys(keys));
        (ledger, Server::join(&joined, Options::default(), dealer).await.unwrap())
    };
    let (server, _) = prepared(&on(&data, &home)).await;
    server.stop().await.unwrap();
    copy_folder(&data, &kept);
    copy_folder(&data.join("keys"), &spin.join("keys"));
    let (ledger, spins) = start(&on(&data, &home)).await;
    let original = continued(&spins, "same").await;
    spins.stop().await.unwrap();
    ledger.stop().await.unwrap();
    fs::remove_dir_all(spin.join("index")).ok();
    let (ledger, spins) = start(&on(&kept, &elsewhere)).await;
    let again = continued(&spins, "same").await;
    spins.stop().await.unwrap();
    ledger.stop().await.unwrap();
    assert!(original.len() > 70 && again.len() > 70 && again.is_disjoint(&original));
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a8_a_partition_that_is_restored_alone_deals_nothing_that_was_revealed() {
    let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
    let [data, kept] = ["data", "kept"].map(|name| at.path().join(name));
    let with = |data: &Path, machine| Config { partitions: 2, ..on(data, machine) };
    let (server, _) = prepared(&with(&data, &home)).await;
    server.stop().await.unwrap();
    copy_folder(&data, &kept);
    let server = started(&with(&data, &home)).await.unwrap();
    let original = continued(&server, "same").await;
    server.stop().await.unwrap();
    for partition in [0, 1] {
        let restored = at.path().join(format!("restored-{partition}"));
        copy_folder(&data, &restored);
        for folder in [log_folder(&restored, partition), restored.join("index"), restored.join("proofs")] {
            fs::remove_dir_all(&folder).unwrap();
        }
        copy_folder(&log_folder(&kept, partition), &log_folder(&restored, partition));
        let error = refused(&with(&restored, &home)).await;
        assert!(error.contains(&format!("partition {partition}: a record at position")), "{error}");
        fs::remove_file(in_folder(&restored).draw_key_file().unwrap().with_file_name(format!("draws.log-{partition}")))
            .unwrap();
        let mut config = with(&restored, &elsewhere);
        let server = match started(&config).await {
            Ok(server) => server,
            Err(error) => {
                eprintln!("partition {partition}: {error}");
                config.draws.accept_loss = true;
                started(&config).await.unwrap()
            }
        };
        let again = continued(&server, "again").await;
        server.stop().await.unwrap();
        assert!(again.is_disjoint(&original), "partition {partition}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a7_a_stream_without_its_last_records_deals_nothing_that_was_revealed() {
    let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
    let [streams, kept, keys, older_keys] = ["streams", "kept", "keys", "older-keys"].map(|name| at.path().join(name));
    let mut node = Node::start(&streams, "");
    let store = node.config("S");
    let with = |data: &str, keys: &Path, machine| {
        let mut config = on(&at.path().join(data), machine);
        config.store = store.clone();
        config.draws.key_file = Some(keys.join("draws"));
        config
    };
    let (server, _) = prepared(&with("data", &keys, &home)).await;
    server.stop().await.unwrap();
    node.kill();
    copy_folder(&streams, &kept);
    copy_folder(&keys, &older_keys);
    node.restart();
    let server = started(&with("data", &keys, &home)).await.unwrap();
    let original = continued(&server, "same").await;
    server.stop().await.unwrap();
    node.kill();
    fs::remove_dir_all(&streams).unwrap();
    copy_folder(&kept, &streams);
    node.restart();
    for (data, machine) in [("by-page", &home), ("by-mark", &elsewhere)] {
        let error = refused(&with(data, &keys, machine)).await;
        assert!(error.contains("serve --restored"), "{error}");
    }
    let server = started(&with("unsure", &older_keys, &elsewhere)).await.unwrap();
    let generations = server.ledger().generations();
    assert!(!generations.is_usable(generations.current().number - 1));
    let again = continued(&server, "same").await;
    server.stop().await.unwrap();
    assert!(original.len() > 70 && again.len() > 70 && again.is_disjoint(&original));
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a3_a_log_that_is_shorter_than_a_witness_has_seen_takes_no_rounds() {
    let (at, home, elsewhere) = (tempfile::tempdir().unwrap(), machine(), machine());
    let [data, kept, other] = ["data", "kept", "other"].map(|name| at.path().join(name));
    let (log_key, witness_key) = (at.path().join("log.key"), at.path().join("witness.key"));
    let log = of_partition(make(&log_key, Some("example.com/x"), KeyKind::Log).unwrap().verifier(), 0).unwrap();
    let verifier = make(&witness_key, Some("witness.example/w"), KeyKind::Witness).unwrap().verifier().clone();
    let witness = Witness::open(load(&witness_key).unwrap(), vec![log], at.path().join("seen")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stopper, stopped) = stop::channel();
    let serving = tokio::spawn(witness.serve(listener, stopped));
    let with = |data: &Path, machine| {
        let mut config = on(data, machine);
        config.proofs.key_file = Some(log_key.clone());
        config.proofs.witnesses = vec![config::Witness { url: url.clone(), key: verifier.to_string() }];
        config
    };
    let (server, _) = prepared(&with(&data, &home)).await;
    server.stop().await.unwrap();
    copy_folder(&data, &kept);
    let server = started(&with(&data, &home)).await.unwrap();
    let end = server.ledger().durable();
    continued(&server, "same").await;
    until("a cosignature", async || seen(&at.path().join("seen")) > end).await;
    server.stop().await.unwrap();
    let error = refused(&with(&kept, &elsewhere)).await;
    assert!(error.contains("was acknowledged, but the log ends at position"), "{error}");

    let server = started(&with(&other, &elsewhere)).await.unwrap();
    let Standing::Damaged(why) = server.ledger().failed().await else {
        panic!("the first writer must stop once another process writes the log")
    };
    assert!(why.contains("has cosigned"), "{why}");
    let mut client = Client::connect(server.address()).await;
    let ann = account("ann", EUR);
    let status = client.spin(bet("late", &ann, "0.05"), Some(Force::Loss)).await.unwrap_err();
    assert_ne!(status.code(), Code::Ok);
    server.stop().await.unwrap();
    stopper.stop();
    serving.await.unwrap();
}

pub(crate) fn seen(folder: &Path) -> u64 {
    let texts = fs::read_dir(folder).unwrap().filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok());
    let notes = texts.filter_map(|text| text.parse::<Note>().ok());
    notes.filter_map(|note| note.text().parse::<Checkpoint>().ok()).map(|found| found.size).max().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a4_a_damaged_checkpoint_is_rebuilt_and_the_log_is_audited() {
    let (data, machine) = (tempfile::tempdir().unwrap(), machine());
    let config = on(data.path(), &machine);
    let (server, _) = prepared(&config).await;
    server.stop().await.unwrap();
    let signed = signed_in(data.path()).size;
    let file = data.path().join("proofs/0/checkpoint");
    let damages: [fn(&Path); 5] = [
        |file| fs::write(file, [0xff, 0xfe, 0x80]).unwrap(),
        |file| fs::create_dir_all(file.join("folder")).unwrap(),
        |file| std::os::unix::fs::symlink("/nowhere/at/all", file).unwrap(),
        |file| fs::write(file, "").unwrap(),
        |file| fs::write(file, "log\n1\nAAAA\n\n\u{2014} x AAAA\n").unwrap(),
    ];
    for damage in damages {
        fs::remove_file(&file).unwrap();
        damage(&file);
        let audited = Command::new(PROGRAM).arg("audit").arg(data.path()).output().unwrap();
        let printed = String::from_utf8_lossy(&audited.stdout);
        assert!(audited.status.success() && printed.contains("All checks passed"), "{printed}");
        let server = started(&config).await.unwrap();
        server.stop().await.unwrap();
        assert!(signed_in(data.path()).size > signed);
        assert!(fs::symlink_metadata(file.with_file_name("checkpoint.damaged")).is_ok());
    }
    assert!(evidence(data.path()).iter().skip(1).all(|evidence| *evidence == StartEvidence::MemoryPage));
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a3_a_refused_start_is_counted_and_logged() {
    let (at, home) = (tempfile::tempdir().unwrap(), machine());
    let [data, kept] = ["data", "kept"].map(|name| at.path().join(name));
    let (server, _) = prepared(&on(&data, &home)).await;
    server.stop().await.unwrap();
    copy_folder(&data, &kept);
    let server = started(&on(&data, &home)).await.unwrap();
    continued(&server, "same").await;
    server.stop().await.unwrap();

    let (endpoint, mut exports) = collector().await;
    let file = at.path().join("motherlode.toml");
    let page_folder = home.path().display();
    let text = format!("[draws]\npage_folder = \"{page_folder}\"\n[telemetry]\notlp_endpoint = \"{endpoint}\"\n");
    fs::write(&file, text).unwrap();
    for _ in 0..2 {
        let mut serve = tokio::process::Command::new(PROGRAM);
        serve
            .args(["serve", "--no-console", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .arg("--data")
            .arg(&kept);
        let ended = serve.kill_on_drop(true).output().await.unwrap();
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(1), "{error}");
        assert!(error.contains("was acknowledged, but the log"), "{error}");
        let metrics = exports.recv().await.unwrap();
        let refused = metrics.iter().find(|metric| prometheus(metric) == "motherlode_starts_refused_total");
        assert_eq!(counted(refused.unwrap(), &[]), 1);
    }
    let mut config = on(&kept, &home);
    config.draws.accept_loss = true;
    started(&config).await.unwrap().stop().await.unwrap();
    config.draws.accept_loss = false;
    started(&config).await.unwrap().stop().await.unwrap();
    let records = motherlode_log::scan(&log_folder(&kept, 0)).unwrap();
    let events = records.flat_map(|record| decode(&record.unwrap().bytes).unwrap().commit.events);
    let findings = events.filter_map(|event| match event {
        Event::IntegrityFailed { check, finding } if check == "start" => Some(finding),
        _ => None,
    });
    let findings: Vec<_> = findings.collect();
    assert_eq!(findings.len(), 1, "two refused starts are reported as one finding: {findings:?}");
    assert!(findings[0].contains("was acknowledged, but the log"), "{findings:?}");
    let audit = Command::new(PROGRAM).arg("audit").arg(&kept).args(["--format", "json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&audit.stdout).unwrap();
    assert_eq!(report["draws"]["refused_starts"], 1, "{report}");
}
