//! A round's proof in a log of ten million records, without its seals: its size, how long it takes to make, and to verify without resolving the round,
//! beside one verification of an Ed25519 signature, which is most of it.
//!
//! The tree is a real one over entries that are made up; the round is one of a log as it was played (tests/golden/sealed.hex).
//! `cargo bench -p motherlode-proofs` needs 330 MB of disk for its run.
#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]
#![allow(clippy::unwrap_used, reason = "a bench may panic")]

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use ed25519_dalek::{Signer, SigningKey, Verifier};
use motherlode_books::Event;
use motherlode_log::{Record, hash};
use motherlode_proofs::{Files, proof_of};
use motherlode_proto::{convert::record::decode, proof::v1::RoundRecords};
use motherlode_tiles::{Checkpoint, Hash, KeyKind, Note, Proof, SignerKey, Tree, VerifierKey, is_included, leaf};
use prost::Message as _;
use std::{fs, hint::black_box, path::Path};

const SIZE: u64 = 10_000_000;
/// The most that a proof file may have, bytes.
const BYTES_MAX: usize = 2_500;

/// The record of a round that ended with its first step.
fn one_step_round() -> Bytes {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/sealed.hex");
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let records = fs::read_to_string(golden).unwrap();
    let mut records = records.lines().map(|line| line.as_bytes().chunks(2).map(byte).collect::<Vec<_>>());
    let is_one = |record: &Vec<u8>| {
        let events = decode(record).map(|logged| logged.commit.events).unwrap_or_default();
        let has = |wanted: fn(&Event) -> bool| events.iter().any(wanted);
        has(|event| matches!(event, Event::RoundStarted(_)))
            && has(|event| matches!(event, Event::DrawsRevealed { .. }))
    };
    records.find(is_one).unwrap().into()
}

/// The files of a tree that has one record at a position, and the tree's root.
fn grown(folder: &Path, positions: [u64; 2], record: &[u8]) -> Hash {
    let (mut tree, mut entries) = (Tree::default(), Vec::with_capacity(32 * usize::try_from(SIZE).unwrap()));
    let mut levels: [Vec<u8>; 8] = Default::default();
    for index in 0..SIZE {
        let entry = if positions.contains(&(index + 1)) { hash(record) } else { hash(&index.to_be_bytes()) };
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

/// All that a verifier does but for resolving the round: text, signature, inclusion of each record.
fn verified(file: &str, key: &VerifierKey) -> bool {
    let proof: Proof = file.parse().unwrap();
    let checkpoint = Checkpoint::open(&proof.checkpoint, key).unwrap();
    let extra = RoundRecords::decode(&*proof.extra).unwrap();
    let record = &extra.records[0].record;
    decode(record).is_ok()
        && is_included(&leaf(&hash(record)), proof.index, checkpoint.size, &proof.path, &checkpoint.root)
}

fn proofs(criterion: &mut Criterion) {
    // The record before it in the player's stream seals its draw.
    let (folder, bytes, position, before) = (tempfile::tempdir().unwrap(), one_step_round(), 7_654_321, 7_123_456);
    let root = grown(folder.path(), [position, before], &bytes);
    let files = Files::open(folder.path()).unwrap();
    let signer = SignerKey::new("example.com/motherlode/log/0", KeyKind::Log, [7; 32]).unwrap();
    let key = signer.verifier().clone();
    let checkpoint = Checkpoint { origin: key.name().to_owned(), size: SIZE, root };
    let mut note = checkpoint.sign(&signer).unwrap();
    let records = [Record { position, bytes: bytes.clone() }];
    let with = |note: &Note, sealing: &[Record]| {
        proof_of(&files, &checkpoint, note, "acme/ann/12345", &records, sealing).unwrap().to_string()
    };
    let make = |note: &Note| with(note, &[]);
    let file = make(&note);
    assert!(verified(&file, &key));
    for number in 0..3 {
        let witness = SignerKey::new(&format!("witness-{number}.example/w"), KeyKind::Witness, [number; 32]).unwrap();
        let cosignature = witness.cosign(note.text(), 1_800_000_000);
        note.signatures.push(cosignature);
    }
    let cosigned = make(&note).len();
    let sealed = with(&note, &[Record { position: before, bytes: bytes.clone() }]).len();
    println!(
        "a record of {} bytes in a log of {SIZE}: the proof file has {} bytes, {cosigned} with three cosignatures, and {sealed} with these \
         and the record that seals its draw",
        bytes.len(),
        file.len()
    );
    assert!(cosigned <= BYTES_MAX);
    let mut group = criterion.benchmark_group("a round's proof of ten million records");
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
