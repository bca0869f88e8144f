use crate::{
    archive::{bytes, killed, played, printed, refused, serve},
    restores::{begun, continued, copy_folder, machine, on, prepared, started},
};
use motherlode_log::{Record, hash};
use motherlode_proofs::{Files, Witness, load, make, of_partition, of_restore, proofs_folder};
use motherlode_proto::{convert::record::decode, spin::v1::Played};
use motherlode_runtime::{config, stop};
use motherlode_server::log_folder;
use motherlode_state::{Event, LogRestored, StartEvidence};
use motherlode_tests::{Client, Player, next_choice, until};
use motherlode_tiles::{Checkpoint, KeyKind, Note};
use std::{collections::BTreeSet, fs, path::Path};
use tokio::net::TcpListener;

const PARTITIONS: u32 = 3;

fn records(data: &Path, partition: u32) -> Vec<Record> {
    motherlode_log::scan(&log_folder(data, partition)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn restored(record: &Record) -> LogRestored {
    match &decode(&record.bytes).unwrap().commit.events[..] {
        [Event::LogRestored(restored), Event::GenerationBegun(begun)] => {
            assert_eq!((begun.evidence, begun.unused_seals_end), (StartEvidence::Restored, true));
            (**restored).clone()
        }
        events => panic!("{events:?}"),
    }
}

fn digests(data: &Path, positions: &[usize]) -> Vec<String> {
    let positions = positions.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let text = printed(&["audit", data.to_str().unwrap(), "--base", &positions]);
    let mut lines = text.lines();
    let mut digests = vec![];
    while let Some(line) = lines.next() {
        if line.contains("digest of the state at position") {
            digests.push(lines.next().unwrap().trim().to_owned());
        }
    }
    digests
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_restore_to_any_position_is_the_prefix_and_another_log() {
    let at = tempfile::tempdir().unwrap();
    let [data, archive] = ["data", "archive"].map(|name| at.path().join(name));
    let [from, to] = [&data, &archive].map(|path| path.to_str().unwrap());
    played(&data, 240).await;
    printed(&["archive", "--from", from, "--to", to, "--segment-bytes", "65536"]);
    let key = load(&data.join("proofs.key")).unwrap().verifier().clone();
    let whole: Vec<_> = (0..PARTITIONS).map(|partition| records(&data, partition)).collect();
    let total: usize = whole.iter().map(Vec::len).sum();
    assert!(total > 2_000, "{total} records");
    let (mut state, mut numbers) = (7_u64, BTreeSet::new());
    for turn in 0..10 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let end = whole[0].len() - 1;
        let position = end / 3 + usize::try_from(state >> 33).unwrap() % (end - end / 3);
        let target = at.path().join(format!("restored-{turn}"));
        let arguments = ["restore", "--from", to, "--to", target.to_str().unwrap(), "--key", &key.to_string()];
        let text = printed(&[&arguments[..], &["--position", &position.to_string()]].concat());
        let mut ends = vec![];
        for partition in 0..PARTITIONS {
            let (kept, all) = (records(&target, partition), &whole[partition as usize]);
            let (last, prefix) = kept.split_last().unwrap();
            assert_eq!(prefix, &all[..prefix.len()], "partition {partition}");
            let of = restored(last);
            assert_eq!((of.position, of.record_hash), (prefix.len() as u64, hash(&prefix.last().unwrap().bytes)));
            assert_eq!(of.origin, format!("{}/log/{partition}", key.name().split("/log/").next().unwrap()));
            let signed: Note = of.checkpoint.parse().unwrap();
            let signed = Checkpoint::open(&signed, &of_partition(&key, partition).unwrap()).unwrap();
            assert_eq!(signed.size, all.len() as u64, "the last checkpoint of the previous log");
            let name = of_restore(&key, partition, of.number).unwrap();
            assert!(text.contains(&name.to_string()), "{text}");
            assert!(partition > 0 || numbers.insert(of.number), "each restore has its own number");
            assert!(numbers.contains(&of.number), "all partitions have the same number");
            ends.push(prefix.len());
        }
        assert_eq!(ends[0], position);
        assert_eq!(digests(&target, &ends), digests(&data, &ends), "position {position}");
    }
    let text = printed(&[
        "restore",
        "--from",
        to,
        "--to",
        at.path().join("end").to_str().unwrap(),
        "--time",
        "2999-01-01T00:00:00Z",
    ]);
    assert!(text.contains("so it is the same log"), "{text}");
    assert_eq!(records(&at.path().join("end"), 1), whole[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_cut_that_is_not_consistent_is_refused_and_a_time_cuts_all_partitions() {
    let at = tempfile::tempdir().unwrap();
    let [data, archive, back] = ["data", "archive", "back"].map(|name| at.path().join(name));
    let [from, to, target] = [&data, &archive, &back].map(|path| path.to_str().unwrap());
    played(&data, 20).await;
    printed(&["archive", "--from", from, "--to", to]);
    let whole: Vec<_> = (0..PARTITIONS).map(|partition| records(&data, partition)).collect();
    let ends: Vec<_> = whole.iter().map(Vec::len).collect();
    let restore = |positions: String| refused(&["restore", "--from", to, "--to", target, "--position", &positions]);
    let error = restore(format!("{},3", ends[0]));
    assert!(
        error.contains("partition 1 cannot be restored to position 3: partition 0 refers to the later position"),
        "{error}"
    );
    let error = restore(format!("5,{}", ends[1]));
    assert!(error.contains("of partition 0, but partition 0 would end at position 5"), "{error}");
    let error = restore((ends[0] + 1).to_string());
    assert!(error.contains("the partition's archive is complete only up to position"), "{error}");
    assert!(restore("1,2,3,4".into()).contains("4 positions, but the log has 3 partitions"));
    assert!(restore("0".into()).contains("must be above 0"));
    assert!(!back.join("log").exists());

    let time_of = |record: &Record| decode(&record.bytes).unwrap().commit.time_ms;
    let time_ms = whole.iter().map(|records| time_of(records.last().unwrap())).min().unwrap() - 1;
    let time = prost_types::Timestamp { seconds: time_ms / 1_000, nanos: (time_ms % 1_000) as i32 * 1_000_000 };
    printed(&["restore", "--from", to, "--to", target, "--time", &time.to_string()]);
    let kept: Vec<_> = (0..PARTITIONS).map(|partition| records(&back, partition).len() - 1).collect();
    for (partition, all) in whole.iter().enumerate() {
        assert!(time_of(&all[kept[partition] - 1]) <= time_ms, "{kept:?} of {ends:?}");
    }
    assert!(kept.iter().zip(&ends).all(|(kept, end)| kept < end), "{kept:?} of {ends:?}");
    fs::copy(data.join("proofs.key"), back.join("proofs.key")).unwrap();
    let server = serve(&back).await;
    let mut client = Client::connect(server.address()).await;
    Player::join(&mut client, "late", "0.05").await.play_rounds(&mut client, 3).await.unwrap();
    motherlode_tests::partitions::settled(server.ledgers()).await;
    server.stop().await.unwrap();
    printed(&["audit", target]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_restored_log_is_served_under_its_own_origin_and_deals_no_undone_draw() {
    let (at, home) = (tempfile::tempdir().unwrap(), machine());
    let [data, archive] = ["data", "archive"].map(|name| at.path().join(name));
    let (log_key, witness_key) = (at.path().join("log.key"), at.path().join("witness.key"));
    let key = make(&log_key, Some("example.com/x"), KeyKind::Log).unwrap().verifier().clone();
    let verifier = make(&witness_key, Some("witness.example/w"), KeyKind::Witness).unwrap().verifier().clone();
    let with = |data: &Path, witness: Option<&str>| {
        let mut config = on(data, &home);
        config.proofs.key_file = Some(log_key.clone());
        let witness = witness.map(|url| config::Witness { url: url.to_owned(), key: verifier.to_string() });
        config.proofs.witnesses = witness.into_iter().collect();
        config
    };
    let (server, open) = prepared(&with(&data, None)).await;
    let position = server.ledger().durable().to_string();
    let undone = continued(&server, "same").await;
    server.stop().await.unwrap();
    let [from, to] = [&data, &archive].map(|path| path.to_str().unwrap());
    printed(&["archive", "--from", from, "--to", to]);
    let archived = records(&data, 0).len() as u64;
    let old = Files::checkpoint(&proofs_folder(&data, 0), &of_partition(&key, 0).unwrap()).unwrap().unwrap();

    let mut keys = vec![of_partition(&key, 0).unwrap()];
    let targets = ["first", "second"].map(|name| at.path().join(name));
    for target in &targets {
        printed(&["restore", "--from", to, "--to", target.to_str().unwrap(), "--position", &position]);
        let number = restored(records(target, 0).last().unwrap()).number;
        keys.push(of_restore(&key, 0, number).unwrap());
        copy_folder(&data.join("keys"), &target.join("keys"));
    }
    let names: BTreeSet<_> = keys.iter().map(|key| key.name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");

    let witness = Witness::open(load(&witness_key).unwrap(), keys.clone(), at.path().join("seen")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stopper, stopped) = stop::channel();
    let serving = tokio::spawn(witness.serve(listener, stopped));
    let cosigned = |origin: String, size: u64| {
        let seen = at.path().join("seen");
        async move {
            let texts = fs::read_dir(seen).unwrap().filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok());
            let notes = texts.filter_map(|text| text.parse::<Note>().ok());
            let mut signed = notes.filter_map(|note| note.text().parse::<Checkpoint>().ok());
            signed.any(|signed| signed.origin == origin && signed.size >= size)
        }
    };
    let server = started(&with(&data, Some(&url))).await.unwrap();
    until("the old log is cosigned", || cosigned(keys[0].name().to_owned(), old.0.size)).await;
    server.stop().await.unwrap();

    let mut dealt = vec![undone];
    for (target, key) in targets.iter().zip(&keys[1..]) {
        let server = started(&with(target, Some(&url))).await.unwrap();
        let mut client = Client::connect(server.address()).await;
        let played: Played = client.choose("go-on", &open.round_id, next_choice(&open).unwrap(), None).await.unwrap();
        assert!(played.step > open.step, "the open round continues");
        dealt.push(continued(&server, "same").await);
        until("the restored log is cosigned", || cosigned(key.name().to_owned(), server.ledger().durable())).await;
        server.stop().await.unwrap();
        let (signed, _) = Files::checkpoint(&proofs_folder(target, 0), key).unwrap().unwrap();
        assert_eq!(signed.size, records(target, 0).len() as u64);
        printed(&["audit", target.to_str().unwrap(), "--key", &key.to_string()]);
        assert_eq!(begun(target)[1].lost_to, archived, "the last undone record");
    }
    stopper.stop();
    serving.await.unwrap();
    assert!(dealt.iter().all(|dealt| dealt.len() > 70));
    let all: BTreeSet<_> = dealt.iter().flatten().collect();
    assert_eq!(all.len(), dealt.iter().map(BTreeSet::len).sum::<usize>(), "no value is dealt twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_37_a_restore_to_a_position_killed_at_many_points_loses_nothing() {
    let at = tempfile::tempdir().unwrap();
    let [data, archive, back] = ["data", "archive", "back"].map(|name| at.path().join(name));
    let [from, to, target] = [&data, &archive, &back].map(|path| path.to_str().unwrap());
    played(&data, 240).await;
    printed(&["archive", "--from", from, "--to", to, "--segment-bytes", "4096"]);
    let (position, undone) = (records(&data, 0).len() / 2, at.path().join("undone"));
    let position_text = position.to_string();
    let arguments =
        ["restore", "--from", to, "--to", target, "--position", &position_text, "--undone", undone.to_str().unwrap()];
    let other = ["restore", "--from", to, "--to", target, "--position", "7"];
    killed(&other, || bytes(&back) > 4_000);
    let (mut kills, mut more, mut requests) = (0, 0, BTreeSet::new());
    while !back.join("log").exists() {
        let (before, wanted) = (bytes(&back), more % 3 * 500);
        if killed(&arguments, || bytes(&back) > before + wanted) {
            break;
        }
        (kills, more) = (kills + 1, more + 1);
        if let Ok(request) = fs::read_to_string(back.join("restoring/request"))
            && request.contains(&position_text)
        {
            requests.insert(request);
        }
    }
    assert!(kills >= 2, "{kills} kills");
    assert_eq!(requests.len(), 1, "a repetition continues the same restore");
    let request = requests.pop_first().unwrap();
    let whole = |back: &Path| {
        for partition in 0..PARTITIONS {
            let (kept, all) = (records(back, partition), records(&data, partition));
            let (last, prefix) = kept.split_last().unwrap();
            assert_eq!(prefix, &all[..prefix.len()]);
            assert!(request.starts_with(&format!("{} ", restored(last).number)));
        }
    };
    whole(&back);
    printed(&["audit", target]);

    // The last steps of a restore are too short to be interrupted by a kill, so the test creates the state in between:
    // only some partitions have the commit that records the restore.
    let again = at.path().join("again");
    fs::create_dir_all(again.join("restoring")).unwrap();
    fs::rename(back.join("log"), again.join("restoring/log")).unwrap();
    fs::remove_dir_all(again.join("restoring/log/2")).unwrap();
    fs::write(again.join("restoring/request"), &request).unwrap();
    printed(&["restore", "--from", to, "--to", again.to_str().unwrap(), "--position", &position_text]);
    whole(&again);
    assert!(!again.join("restoring").exists());
}
