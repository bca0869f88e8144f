use crate::upgrade;
use bytes::Bytes;
use motherlode_audit::{Checkpoints, Options as Audited, ShownDraw, Unproven, audit, verify};
use motherlode_ledger::Options;
use motherlode_log::{Options as StoreOptions, SegmentStore, Store, genesis, hash};
use motherlode_proofs::{Files, Witness, load, make, of_partition, proofs_folder, restored};
use motherlode_proto::{
    convert::record,
    log::v1::Commit,
    proof::v1::{
        GetCheckpointRequest, GetConsistencyRequest, GetRoundProofRequest, RoundRecords,
        proof_service_client::ProofServiceClient,
    },
};
use motherlode_rounds::draws;
use motherlode_runtime::{Config, config, stop};
use motherlode_server::{ServeError, log_folder};
use motherlode_slots::latest_games;
use motherlode_spin::Dealer;
use motherlode_state::{Event, HOME};
use motherlode_tests::{
    Client, Force, Server, bet, checked, commits, play, reason, scripted, smallest, stake_on, start_on, until,
};
use motherlode_tiles::{
    Checkpoint, Hash, KeyKind, Note, Policy, Proof, SignerKey, Tree, VerifierKey, is_consistent, leaf,
};
use prost::Message;
use std::{collections::BTreeMap, fs, net::SocketAddr, path::Path};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tonic::{Code, transport::Channel};

pub(crate) type Proofs = ProofServiceClient<Channel>;

async fn proofs(server: &Server) -> Proofs {
    ProofServiceClient::connect(format!("http://{}", server.address())).await.unwrap()
}

pub(crate) async fn proof_of(proofs: &mut Proofs, round: &str) -> (String, VerifierKey) {
    let request = GetRoundProofRequest { round_id: round.to_owned(), ..Default::default() };
    let answer = proofs.get_round_proof(request).await.unwrap().into_inner();
    (answer.proof, answer.verifier_key.parse().unwrap())
}

async fn brief(proofs: &mut Proofs, round: &str) -> Proof {
    let request = GetRoundProofRequest { round_id: round.to_owned(), brief: true, ..Default::default() };
    proofs.get_round_proof(request).await.unwrap().into_inner().proof.parse().unwrap()
}

pub(crate) fn in_folder(data: &Path) -> Config {
    Config { store: config::Store::default(), partitions: 1, ..motherlode_tests::config(data) }
}

pub(crate) async fn started(config: &Config) -> Result<motherlode_server::Server, ServeError> {
    let (stores, dealer) = (motherlode_server::open_stores(config)?, scripted(Dealer::from_master([5; 32])));
    motherlode_server::Server::start(config, stores, Options::default(), dealer).await
}

pub(crate) fn key_in(data: &Path, partition: u32) -> VerifierKey {
    of_partition(load(&data.join("proofs.key")).unwrap().verifier(), partition).unwrap()
}

pub(crate) fn signed_in(data: &Path) -> Checkpoint {
    Files::checkpoint(&proofs_folder(data, HOME), &key_in(data, HOME)).unwrap().unwrap().0
}

pub(crate) async fn played(config: &Config, rounds: usize) {
    let server = started(config).await.unwrap();
    let mut client = Client::connect(server.address()).await;
    let account = client.fund("ann", "EUR", 1_000_000).await;
    for round in 0..rounds {
        client.spin(bet(&format!("spin-{round}"), &account, "0.01"), Some(Force::Loss)).await.unwrap();
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_06_a_round_of_every_game_is_proven_by_its_file_and_a_key_and_nothing_in_the_file_can_be_changed() {
    let data = tempfile::tempdir().unwrap();
    let config = motherlode_tests::config(data.path());
    let server = start_on(&config, motherlode_server::open_stores(&config).unwrap()).await;
    let (mut client, mut proofs) = (Client::connect(server.address()).await, proofs(&server).await);
    let (mut several, mut files) = (0, vec![]);
    for (number, game) in latest_games().iter().enumerate() {
        let account = client.fund(&format!("player-{number}"), "EUR", 10_000_000).await;
        for turn in 0..3 {
            let request = stake_on(*game, &format!("bet-{turn}"), &account, smallest(*game));
            let played = play(&mut client, *game, request, turn).await;
            let round = &played[0].round_id;
            let (file, said) = proof_of(&mut proofs, round).await;
            let key = key_in(data.path(), server.ledger_of(&account.player_id).partition());
            assert_eq!(said, key);
            let proof: Proof = file.parse().unwrap();
            assert_eq!(proof.to_string(), file);
            let proven = verify(&proof, &key, None).unwrap();
            assert!(proven.replayed.matches(), "{round}: {:?}", proven.replayed.differs);
            assert_eq!(proven.replayed.view.steps.len(), played.len(), "{round}");
            let sealed = |draw: &ShownDraw| matches!(draw, ShownDraw::Sealed(..));
            assert!(!proven.draws.is_empty() && proven.draws.iter().all(sealed), "{round}: {:?}", proven.draws);
            assert_eq!(format!("{}/{}", proven.stream, proven.number), format!("player/{round}"));
            let extra = RoundRecords::decode(&*proof.extra).unwrap();
            assert!(extra.records.iter().chain(&extra.sealing).all(|record| record.path.is_empty()), "{round}");
            assert_eq!(proven.named.len(), proven.positions.len() - 1 + extra.sealing.len(), "{round}");
            let (bytes, whole) = (bytes_at_ten_million(&proof), older_form(&proof, round).1.concat().len());
            println!(
                "{round} of {}: {} records, with seals {whole} bytes: {bytes}",
                game.name(),
                proven.positions.len()
            );
            assert!(bytes <= 2_500 || whole > 1_000, "{round}: {bytes} bytes");
            let brief = brief(&mut proofs, round).await;
            let short = verify(&brief, &key, None).unwrap();
            assert_eq!((&short.replayed, &short.draws), (&proven.replayed, &proven.draws), "{round}: worked out");
            let length = bytes_at_ten_million(&brief);
            assert!(length < bytes, "{round}: the brief proof has {length} bytes, the full one {bytes}");
            let records = RoundRecords::decode(&*brief.extra).unwrap().records;
            assert!(records.iter().any(|record| record.brief), "{round}: the brief proof omits derivable content");
            files.push((brief, key.clone()));
            several += usize::from(proven.positions.len() > 1);
            files.push((proof, key));
        }
    }
    assert!(several > 0, "some rounds have several commits");
    forged(&files);
    server.stop().await.unwrap();
    checked(data.path());
}

fn forged(files: &[(Proof, VerifierKey)]) {
    let mut state = 1_u64;
    let mut roll = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut same = 0;
    for attempt in 0..10_000 {
        let at = roll(files.len());
        let (honest, key) = &files[at];
        let mut proof = honest.clone();
        let mut extra = RoundRecords::decode(&*proof.extra).unwrap();
        match attempt % 8 {
            0 | 1 => {
                let at = roll(proof.extra.len());
                proof.extra[at] ^= 1 << roll(8);
            }
            2 => {
                let of = roll(files.len());
                if of / 2 == at / 2 {
                    continue;
                }
                let other = RoundRecords::decode(&*files[of].0.extra).unwrap();
                (extra.records, extra.sealing) = (other.records, other.sealing);
                proof.extra = extra.encode_to_vec();
            }
            3 => {
                extra.records.remove(roll(extra.records.len()));
                proof.extra = extra.encode_to_vec();
            }
            7 => {
                let all = extra.records.iter_mut().chain(&mut extra.sealing);
                let mut copying: Vec<_> = all.filter(|record| !record.copied.is_empty()).collect();
                let [.., record] = &mut copying[..] else { continue };
                let at = roll(record.copied.len());
                record.copied[at] ^= 1 << roll(8);
                proof.extra = extra.encode_to_vec();
            }
            4 => proof.index ^= 1 << roll(5),
            5 => match proof.path.len() {
                0 => continue,
                length => {
                    let at = roll(length);
                    proof.path[at][roll(32)] ^= 1 << roll(8);
                }
            },
            _ => {
                let seed: [u8; 32] = std::array::from_fn(|_| u8::try_from(roll(256)).unwrap());
                let thief = SignerKey::new(key.name(), KeyKind::Log, seed).unwrap();
                let mut signature = thief.sign(proof.checkpoint.text());
                signature.id = key.id();
                proof.checkpoint = proof.checkpoint.with(vec![signature]);
            }
        }
        // A modified proof is valid if it only lacks the sealing records (it then states no seals), or if bytes were
        // replaced by identical bytes.
        if let Ok(proven) = verify(&proof, key, None)
            && !proven.draws.iter().any(|draw| matches!(draw, ShownDraw::NotShown(_)))
        {
            let (now, before) = (older_form(&proof, "").1, older_form(honest, "").1);
            assert!(now == before, "the forged proof of attempt {attempt} was accepted: {:?}", proven.positions);
            same += 1;
        }
    }
    assert!(same < 100, "{same} of 10,000 changed nothing");
}

fn bytes_at_ten_million(proof: &Proof) -> usize {
    let (mut proof, mut extra) = (proof.clone(), RoundRecords::decode(&*proof.extra).unwrap());
    (proof.index, proof.path) = (9_999_999, vec![[0; 32]; 24]);
    let own = extra.records.iter_mut().chain(&mut extra.sealing).filter(|record| !record.path.is_empty());
    own.for_each(|record| record.path = vec![vec![0; 32]; 24]);
    proof.extra = extra.encode_to_vec();
    proof.to_string().len()
}

fn older_form(proof: &Proof, round: &str) -> (RoundRecords, Vec<Vec<u8>>) {
    let mut extra = RoundRecords::decode(&*proof.extra).unwrap();
    (extra.round, extra.round_id) = (0, round.to_owned());
    let mut whole: Vec<Vec<u8>> = vec![];
    for record in extra.sealing.iter_mut().chain(&mut extra.records) {
        record.record = restored(&record.record, &record.copied, whole.last().map(|before| &before[..])).unwrap();
        record.copied.clear();
        record.position = Commit::decode(&*record.record).unwrap().position;
        whole.push(record.record.clone());
    }
    (extra, whole)
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_06_a_proof_without_seals_is_short_and_older_ones_say_that_they_show_none() {
    let data = tempfile::tempdir().unwrap();
    let config = in_folder(data.path());
    let server = start_on(&config, motherlode_server::open_stores(&config).unwrap()).await;
    let (mut client, mut proofs) = (Client::connect(server.address()).await, proofs(&server).await);
    let account = client.fund("ann", "EUR", 1_000_000).await;
    let mut rounds = vec![];
    for spin in 0..2 {
        let played = client.spin(bet(&format!("spin-{spin}"), &account, "0.01"), Some(Force::Loss)).await.unwrap();
        client.fund("ann", "GBP", 1_000).await;
        rounds.push(played.round_id);
    }
    for round in &rounds {
        let (file, key) = proof_of(&mut proofs, round).await;
        let full: Proof = file.parse().unwrap();
        let proven = verify(&full, &key, None).unwrap();
        let [ShownDraw::Sealed(sealed, at)] = proven.draws[..] else { panic!("{:?}", proven.draws) };
        assert!(
            at < proven.positions[0] && Some(sealed.seal) == proven.replayed.view.steps[0].draw.as_ref().unwrap().seal
        );
        let request =
            GetRoundProofRequest { round_id: round.clone(), without_seals: true, ..GetRoundProofRequest::default() };
        let short: Proof = proofs.get_round_proof(request).await.unwrap().into_inner().proof.parse().unwrap();
        let proven = verify(&short, &key, None).unwrap();
        assert!(proven.replayed.matches() && proven.draws == [ShownDraw::NotShown(sealed.name.number)]);
        // Proofs of older versions contain whole records, with positions and the round's name; the oldest contain no
        // seals.
        let mut older = full.clone();
        let mut extra = older_form(&full, round).0;
        assert_eq!(extra.sealing.len(), 1);
        older.extra = extra.encode_to_vec();
        assert_eq!(verify(&older, &key, None).unwrap().draws, [ShownDraw::Sealed(sealed, at)]);
        extra.sealing.clear();
        older.extra = extra.encode_to_vec();
        assert_eq!(verify(&older, &key, None).unwrap().draws, [ShownDraw::NotShown(sealed.name.number)]);
        let (with, without) = (bytes_at_ten_million(&full), bytes_at_ten_million(&short));
        println!("{round}: {with} bytes with seals, {without} without, at ten million records");
        assert!(without <= 2_000 && with <= 2_500, "{without} and {with} bytes");
    }
    server.stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn np_12_an_open_round_is_not_proven_and_nothing_is_that_is_not_there() {
    let data = tempfile::tempdir().unwrap();
    let config = in_folder(data.path());
    let server = start_on(&config, motherlode_server::open_stores(&config).unwrap()).await;
    let (mut client, mut proofs) = (Client::connect(server.address()).await, proofs(&server).await);
    let account = client.fund("ann", "EUR", 1_000_000).await;
    let mut request = bet("open", &account, "0.01");
    request.offer_double = true;
    let round = client.spin(request, Some(Force::Open)).await.unwrap().round_id;
    let refused = proofs
        .get_round_proof(GetRoundProofRequest { round_id: round, ..GetRoundProofRequest::default() })
        .await
        .unwrap_err();
    assert_eq!((refused.code(), reason(&refused)), (Code::FailedPrecondition, "ROUND_OPEN".into()));
    let unknown = GetRoundProofRequest { round_id: "acme/ann/9".into(), ..GetRoundProofRequest::default() };
    let refused = proofs.get_round_proof(unknown).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused)), (Code::NotFound, "ROUND_UNKNOWN".into()));
    let refused = proofs.get_checkpoint(GetCheckpointRequest { partition: 1 }).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused)), (Code::InvalidArgument, "INVALID_FIELD".into()));
    let ahead = GetConsistencyRequest { partition: 0, old_size: 1 << 40 };
    let refused = proofs.get_consistency(ahead).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused)), (Code::OutOfRange, "CHECKPOINT_AHEAD".into()));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_stop_signs_what_there_is_and_a_tree_that_is_missing_or_damaged_is_made_anew() {
    let data = tempfile::tempdir().unwrap();
    let config = in_folder(data.path());
    played(&config, 300).await;
    let (folder, first) = (proofs_folder(data.path(), HOME), signed_in(data.path()));
    assert!(first.size > 300, "{first:?}");
    let before = ["entries", "1"].map(|name| fs::read(folder.join(name)).unwrap());
    let change = |name: &str, at: usize| {
        let mut bytes = fs::read(folder.join(name)).unwrap();
        bytes[at] ^= 1;
        fs::write(folder.join(name), bytes).unwrap();
    };
    let damages: [(&str, &dyn Fn()); 7] = [
        ("the folder is missing", &|| fs::remove_dir_all(&folder).unwrap()),
        ("the entries are missing", &|| fs::remove_file(folder.join("entries")).unwrap()),
        ("a level is empty", &|| fs::write(folder.join("1"), []).unwrap()),
        ("an entry is changed", &|| change("entries", 5000)),
        ("the last entry is changed", &|| change("entries", usize::try_from(first.size * 32 - 1).unwrap())),
        ("a hash of a level is changed", &|| change("1", 3)),
        ("the checkpoint is changed", &|| change("checkpoint", 40)),
    ];
    for (what, damage) in damages {
        damage();
        let server = started(&config).await.unwrap();
        let whole = async || {
            let names = ["entries", "1"].map(|name| fs::read(folder.join(name)).unwrap_or_default());
            names.iter().zip(&before).all(|(now, before)| now.starts_with(before))
        };
        until(what, whole).await;
        server.stop().await.unwrap();
        let again = signed_in(data.path());
        assert!(again.size >= first.size, "{what}");
        checked(data.path());
    }
    let server = started(&config).await.unwrap();
    let mut proofs = Proofs::connect(format!("http://{}", server.address())).await.unwrap();
    let request = GetConsistencyRequest { partition: 0, old_size: first.size };
    let answer = proofs.get_consistency(request).await.unwrap().into_inner();
    let note: Note = answer.checkpoint.parse().unwrap();
    let new = Checkpoint::open(&note, &key_in(data.path(), HOME)).unwrap();
    let path: Vec<Hash> = answer.hashes.iter().map(|hash| hash[..].try_into().unwrap()).collect();
    assert!(is_consistent((first.size, &first.root), (new.size, &new.root), &path));
    server.stop().await.unwrap();
}

fn rewritten(records: &[Bytes], at: usize) -> Vec<Bytes> {
    let (mut head, mut sealed_by) = (genesis(HOME), BTreeMap::new());
    let anew = records.iter().enumerate().map(|(index, bytes)| {
        let mut logged = record::decode(bytes).unwrap();
        if index == at {
            logged.commit.request_id = format!("{}x", logged.commit.request_id).into();
        }
        let steps = logged.commit.events.iter_mut().filter_map(|event| match event {
            Event::StepResolved(step) => step.draw.as_mut(),
            _ => None,
        });
        steps.for_each(|draw| draw.sealed_by = sealed_by.get(&logged.commit.stream).copied());
        let bytes = record::encode(&head, &logged);
        head = hash(&bytes);
        if draws::sealed(&logged.commit.events).next().is_some() {
            sealed_by.insert(logged.commit.stream, head);
        }
        bytes
    });
    anew.collect()
}

fn lay_instead(data: &Path, records: &[Bytes]) {
    fs::remove_dir_all(log_folder(data, HOME)).unwrap();
    drop(fs::remove_dir_all(data.join("index")));
    let mut store = SegmentStore::open(&log_folder(data, HOME), HOME, StoreOptions::default()).unwrap();
    store.append(0, records).unwrap();
}

fn records_in(data: &Path) -> Vec<Bytes> {
    motherlode_log::scan(&log_folder(data, HOME)).unwrap().map(|record| record.unwrap().bytes).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_a_log_that_is_not_the_one_that_was_signed_is_refused_with_place_and_reason_and_found_by_the_audit() {
    let data = tempfile::tempdir().unwrap();
    let config = in_folder(data.path());
    played(&config, 20).await;
    let (records, signed) = (records_in(data.path()), signed_in(data.path()));
    let end = records.len();
    assert_eq!(signed.size, end as u64);
    let audited = || {
        let checkpoints = Checkpoints { signed: vec![signed.clone()], files: None };
        let options = Audited { log: log_folder(data.path(), HOME), checkpoints, ..Audited::default() };
        audit(&options).unwrap().divergence
    };
    assert_eq!(audited(), None);

    for at in 0..end {
        lay_instead(data.path(), &rewritten(&records, at));
        let found = audited().expect("a divergence");
        assert_eq!(found.position, signed.size, "{found}");
        assert!(found.what.contains("differs from a signed checkpoint"), "{found}");
    }
    let refused = started(&config).await.err().expect("a refusal").to_string();
    let place = format!("partition 0, position {end}: the record in the log differs from the signed record");
    assert!(refused.contains(&place), "{refused}");

    lay_instead(data.path(), &records[..end - 1]);
    let found = audited().expect("a divergence");
    assert!(found.what.contains("shorter than its signed checkpoint"), "{found}");
    let refused = started(&config).await.err().expect("a refusal").to_string();
    assert!(refused.contains(&format!("the log ends at position {}", end - 1)), "{refused}");

    lay_instead(data.path(), &rewritten(&records, 3));
    fs::remove_file(proofs_folder(data.path(), HOME).join("entries")).unwrap();
    let server = started(&config).await.unwrap();
    let mut proofs = Proofs::connect(format!("http://{}", server.address())).await.unwrap();
    let refused = proofs.get_checkpoint(GetCheckpointRequest::default()).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused)), (Code::DataLoss, "LOG_CONTRADICTED".into()));
    let home = server.ledger().clone();
    let told = |event: &Event| matches!(event, Event::IntegrityFailed { check, .. } if check == "proofs");
    let logged = async || commits(&home, end as u64 + 1).any(|logged| logged.commit.events.iter().any(told));
    until("a significant event reports it", logged).await;
    server.stop().await.unwrap();
    assert_eq!(signed_in(data.path()), signed, "no checkpoint was signed after the refused start");

    lay_instead(data.path(), &records);
    started(&config).await.unwrap().stop().await.unwrap();
    checked(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_logs_of_earlier_versions_get_a_tree_too() {
    for (name, golden) in upgrade::LOGS {
        let data = tempfile::tempdir().unwrap();
        let records = upgrade::all_records(golden);
        upgrade::lay(data.path(), &records);
        let config = upgrade::here(data.path(), records.len());
        started(&config).await.unwrap().stop().await.unwrap();
        for (partition, records) in (0..).zip(&records) {
            let (folder, key) = (proofs_folder(data.path(), partition), key_in(data.path(), partition));
            let (checkpoint, _) = Files::checkpoint(&folder, &key).unwrap().unwrap();
            assert!(checkpoint.size >= records.len() as u64, "{name}");
            let entries = Files::open_unchanged(&folder).unwrap().entries(0, records.len()).unwrap();
            assert!(records.iter().map(|record| hash(record)).eq(entries), "{name}");
        }
        checked(data.path());
    }
}

pub(crate) async fn get(address: SocketAddr, method: &str, path: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![];
    stream.read_to_end(&mut answer).await.unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
    (status, answer[end + 4..].to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tree_is_read_as_the_files_of_a_tile_log() {
    let data = tempfile::tempdir().unwrap();
    let mut config = in_folder(data.path());
    played(&config, 300).await;
    config.proofs.listen = Some(([127, 0, 0, 1], 0).into());
    let server = started(&config).await.unwrap();
    let at = server.tiles_address().unwrap();
    let (status, note) = get(at, "GET", "/log/0/checkpoint").await;
    assert_eq!(status, 200);
    let note: Note = String::from_utf8(note).unwrap().parse().unwrap();
    let checkpoint = Checkpoint::open(&note, &key_in(data.path(), HOME)).unwrap();
    let size = checkpoint.size;
    let width = size - 256;
    let mut entries = vec![];
    for bundle in ["000".to_owned(), format!("001.p/{width}")] {
        let (status, content) = get(at, "GET", &format!("/log/0/tile/entries/{bundle}")).await;
        assert_eq!(status, 200);
        for entry in content.chunks(34) {
            assert_eq!(entry[..2], [0, 32]);
            entries.push(<Hash>::try_from(&entry[2..]).unwrap());
        }
    }
    let mut tree = Tree::default();
    entries.iter().for_each(|entry| tree.append(entry, |_, _| {}));
    assert_eq!((tree.size(), tree.root()), (size, checkpoint.root));
    let (_, tile) = get(at, "GET", &format!("/log/0/tile/0/001.p/{width}")).await;
    assert_eq!(tile, entries[256..].iter().flat_map(|entry| leaf(entry)).collect::<Vec<_>>());
    let (_, above) = get(at, "GET", "/log/0/tile/1/000.p/1").await;
    let mut first = Tree::default();
    entries[..256].iter().for_each(|entry| first.append(entry, |_, _| {}));
    assert_eq!(above, first.root());
    let absent = [
        "/",
        "/log/0",
        "/log/1/checkpoint",
        "/log/00/checkpoint",
        "/log/0/tile/0/002",
        "/log/0/tile/0/001",
        "/log/0/tile/2/000.p/1",
        "/log/0/tile/1/000.p/2",
        "/log/0/tile/0/../../checkpoint",
        "/log/0/tile/9/000",
        "/proofs.key",
    ];
    for path in absent {
        assert_eq!(get(at, "GET", path).await.0, 404, "{path}");
    }
    assert_eq!(get(at, "POST", "/log/0/checkpoint").await.0, 405);
    assert_eq!(get(at, "HEAD", "/log/0/checkpoint").await, (200, vec![]));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_witness_cosigns_one_history_of_a_log_and_remembers_it() {
    let data = tempfile::tempdir().unwrap();
    let (log_key, witness_key) = (data.path().join("log.key"), data.path().join("witness.key"));
    let log = of_partition(make(&log_key, Some("example.com/x"), KeyKind::Log).unwrap().verifier(), HOME).unwrap();
    let verifier = make(&witness_key, Some("witness.example/w"), KeyKind::Witness).unwrap().verifier().clone();
    let open = || Witness::open(load(&witness_key).unwrap(), vec![log.clone()], data.path().join("seen")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (stopper, stopped) = stop::channel();
    let serving = tokio::spawn(open().serve(listener, stopped));

    let config = |name: &str| {
        let mut config = in_folder(&data.path().join(name));
        config.proofs.key_file = Some(log_key.clone());
        config.proofs.witnesses = vec![config::Witness { url: format!("http://{at}"), key: verifier.to_string() }];
        config
    };
    let policy: Policy = format!("log {log}\nwitness w {verifier}\nquorum w\n").parse().unwrap();
    let round = |server: &motherlode_server::Server| {
        let address = server.address();
        async move {
            let mut client = Client::connect(address).await;
            let account = client.fund("ann", "EUR", 1_000_000).await;
            for spin in 0..8 {
                client.spin(bet(&format!("spin-{spin}"), &account, "0.01"), Some(Force::Loss)).await.unwrap();
            }
            let mut proofs = Proofs::connect(format!("http://{address}")).await.unwrap();
            let (file, _) = proof_of(&mut proofs, "acme/ann/3").await;
            file.parse::<Proof>().unwrap()
        }
    };
    let honest = started(&config("honest")).await.unwrap();
    let proven = verify(&round(&honest).await, &log, Some(&policy)).unwrap();
    assert_eq!(proven.cosigned.len(), 1, "{proven:?}");
    honest.stop().await.unwrap();

    let mut unwitnessed = config("split");
    unwitnessed.proofs.witnesses.clear();
    let split = started(&unwitnessed).await.unwrap();
    let shown = round(&split).await;
    assert!(verify(&shown, &log, None).is_ok(), "without a witness the second log is not detected");
    let refused = verify(&shown, &log, Some(&policy)).unwrap_err();
    assert!(matches!(refused, Unproven::Witnesses { found: 0, known: 1 }), "{refused}");
    split.stop().await.unwrap();
    let origin: String = motherlode_log::hash(log.name().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("/{origin}/checkpoint");
    let (status, seen) = get(at, "GET", &path).await;
    stopper.stop();
    serving.await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (stopper, stopped) = stop::channel();
    let serving = tokio::spawn(open().serve(listener, stopped));
    assert_eq!((status, &seen), (200, &get(at, "GET", &path).await.1));
    let seen: Note = String::from_utf8(seen).unwrap().parse().unwrap();
    assert!(seen.verify(&log).is_ok() && seen.verify(&verifier).is_ok());
    stopper.stop();
    serving.await.unwrap();
}

#[test]
fn a_key_is_its_owners_alone_and_never_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("keys").join("log.key");
    let key = make(&file, None, KeyKind::Log).unwrap();
    assert!(key.verifier().name().starts_with("motherlode-"), "{key:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(load(&file).unwrap().verifier(), key.verifier());
    assert!(make(&file, None, KeyKind::Log).is_err());
    assert_eq!(load(&file).unwrap().verifier(), key.verifier());
}
