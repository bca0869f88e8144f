//! Measures the proof of a round in a log of ten million records: its size, the time to create it, and the time to verify it
//! without resolving the round, compared with one Ed25519 verification.
//!
//! `cargo bench -p motherlode-proofs` needs 330 MB of disk space.
#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]
#![allow(clippy::unwrap_used, reason = "a bench may panic")]

use criterion::{Criterion, criterion_group, criterion_main};
use ed25519_dalek::{Signer, SigningKey, Verifier};
use motherlode_log::{Record, hash};
use motherlode_proofs::{Files, proof_of, restored};
use motherlode_proto::{
    convert::record::{Logged, decode, encode},
    proof::v1::{ProvenRecord, RoundRecords},
};
use motherlode_rounds::draws::{sealed, sealed_by};
use motherlode_state::{Commit, Event, draw};
use motherlode_tiles::{Checkpoint, Hash, KeyKind, Note, Proof, SignerKey, Tree, VerifierKey, is_included, leaf};
use prost::Message as _;
use std::{fs, hint::black_box, path::Path, slice};

const SIZE: u64 = 10_000_000;
const BYTES_MAX: usize = 2_500;

const POSITIONS: [u64; 2] = [7_123_456, 7_654_321];

fn rounds_of_one_step() -> [Record; 2] {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/linked.hex");
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let lines = fs::read_to_string(golden).unwrap();
    let records = lines.lines().map(|line| line.as_bytes().chunks(2).map(byte).collect::<Vec<_>>());
    let records: Vec<_> = records.map(|bytes| (hash(&bytes), decode(&bytes).unwrap())).collect();
    let is_one = |logged: &Logged| {
        let has = |wanted: fn(&Event) -> bool| logged.commit.events.iter().any(wanted);
        has(|event| matches!(event, Event::RoundStarted(_)))
            && has(|event| matches!(event, Event::DrawsRevealed { .. }))
    };
    let pair = records.iter().filter(|(_, logged)| is_one(logged)).find_map(|(_, logged)| {
        let named = sealed_by(&logged.commit.events).next()?;
        let (_, before) = records.iter().find(|(entry, before)| *entry == named && is_one(before))?;
        Some([before.clone(), logged.clone()])
    });
    let [mut before, mut round] = pair.unwrap();
    before.commit.position = POSITIONS[0];
    let before = encode(&[1; 32], &before);
    (round.commit.position, round.commit.previous) = (POSITIONS[1], POSITIONS[0]);
    for event in &mut round.commit.events {
        if let Event::StepResolved(step) = event
            && let Some(draw) = &mut step.draw
        {
            draw.sealed_by = Some(hash(&before));
        }
    }
    let round = encode(&[2; 32], &round);
    let [first, second] = POSITIONS;
    [Record { position: first, bytes: before }, Record { position: second, bytes: round }]
}

fn grown(folder: &Path, records: &[Record]) -> Hash {
    let (mut tree, mut entries) = (Tree::default(), Vec::with_capacity(32 * usize::try_from(SIZE).unwrap()));
    let mut levels: [Vec<u8>; 8] = Default::default();
    for index in 0..SIZE {
        let record = records.iter().find(|record| record.position == index + 1);
        let entry = record.map_or_else(|| hash(&index.to_be_bytes()), |record| hash(&record.bytes));
        entries.extend_from_slice(&entry);
        tree.append(&entry, |level, hash| {
            if (1..5).contains(&level) {
                levels[usize::from(level)].extend_from_slice(&hash);
            }
        });
    }
    fs::write(folder.join("entries"), entries).unwrap();
    for (level, hashes) in (0..5).zip(&levels).skip(1) {
        fs::write(folder.join(level.to_string()), hashes).unwrap();
    }
    tree.root()
}

fn verified(file: &str, key: &VerifierKey) -> bool {
    let proof: Proof = file.parse().unwrap();
    let checkpoint = Checkpoint::open(&proof.checkpoint, key).unwrap();
    let extra = RoundRecords::decode(&*proof.extra).unwrap();
    let mut before = None;
    for ProvenRecord { record, copied, .. } in extra.sealing.iter().chain(&extra.records) {
        let bytes = restored(record, copied, before.as_ref().map(|(bytes, ..): &(Vec<u8>, _, _)| &bytes[..])).unwrap();
        let (entry, logged) = (hash(&bytes), decode(&bytes).unwrap());
        before = match before {
            Some((_, sealing, Logged { commit: Commit { events, .. }, .. })) => {
                let sealed = sealed(&events).last().unwrap();
                let named = sealed_by(&logged.commit.events).next() == Some(sealing);
                let dealt = logged.commit.events.iter().find_map(|event| match event {
                    Event::DrawsRevealed { dealt, .. } => dealt.first(),
                    _ => None,
                });
                if !named || dealt.map(draw::seal) != Some(sealed.seal) {
                    return false;
                }
                Some((bytes, entry, logged))
            }
            None => Some((bytes, entry, logged)),
        };
    }
    let (_, entry, logged) = before.unwrap();
    logged.commit.position == proof.index + 1
        && is_included(&leaf(&entry), proof.index, checkpoint.size, &proof.path, &checkpoint.root)
}

fn proofs(criterion: &mut Criterion) {
    let (folder, [before, round]) = (tempfile::tempdir().unwrap(), rounds_of_one_step());
    let root = grown(folder.path(), &[before.clone(), round.clone()]);
    let files = Files::open(folder.path()).unwrap();
    let signer = SignerKey::new("example.com/motherlode/log/0", KeyKind::Log, [7; 32]).unwrap();
    let key = signer.verifier().clone();
    let checkpoint = Checkpoint { origin: key.name().to_owned(), size: SIZE, root };
    let mut note = checkpoint.sign(&signer).unwrap();
    let number = 12_345;
    let with = |note: &Note, sealing: &[Record]| {
        proof_of(&files, &checkpoint, note, number, slice::from_ref(&round), sealing, false).unwrap().to_string()
    };
    let make = |note: &Note| with(note, slice::from_ref(&before));
    let (file, without) = (make(&note), with(&note, &[]).len());
    assert!(verified(&file, &key));
    for number in 0..3 {
        let witness = SignerKey::new(&format!("witness-{number}.example/w"), KeyKind::Witness, [number; 32]).unwrap();
        let cosignature = witness.cosign(note.text(), 1_800_000_000);
        note.signatures.push(cosignature);
    }
    let cosigned = make(&note).len();
    println!(
        "a round's record of {} bytes, and the record of {} bytes that seals its draw, in a log of {SIZE} records: the proof file has {} bytes, {without} without the \
         sealing record, and {cosigned} with three cosignatures",
        round.bytes.len(),
        before.bytes.len(),
        file.len()
    );
    assert!(file.len() <= BYTES_MAX);
    let mut group = criterion.benchmark_group("proof of a round among ten million records");
    let ed25519 = SigningKey::from_bytes(&[7; 32]);
    let signature = ed25519.sign(note.text().as_bytes());
    let public = ed25519.verifying_key();
    group.bench_function("one Ed25519 verification", |bench| {
        bench.iter(|| public.verify(black_box(note.text().as_bytes()), &signature).is_ok());
    });
    group.bench_function("verified", |bench| bench.iter(|| verified(black_box(&file), &key)));
    group.bench_function("made", |bench| bench.iter(|| make(black_box(&note))));
    group.finish();
}

criterion_group!(benches, proofs);
criterion_main!(benches);
