//! Writes a log of spins with sealed draws, for measurements.
//!
//! `cargo run --release -p motherlode-audit --example long_log ROUNDS PLAYERS FOLDER`

#[path = "../tests/integration/common/mod.rs"]
mod common;

use common::Tale;
use motherlode_log::{SegmentStore, Store, hash};
use motherlode_proto::convert::{play::hex, record};
use motherlode_state::Hand;
use std::{
    env,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

const POOL_EVERY: u64 = 1_000;
const COHORT: u64 = 100_000;
const BLOCK: usize = 4_096;

fn main() {
    let mut arguments = env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok()).expect("ROUNDS PLAYERS FOLDER");
    let (rounds, players) = (number(), number());
    let folder = PathBuf::from(arguments.next().expect("ROUNDS PLAYERS FOLDER"));
    let begun = Instant::now();
    let mut store = SegmentStore::open(&folder.join("log/0"), 0, motherlode_log::Options::default()).expect("a log");
    assert_eq!(store.end(), 0, "the folder already contains a log");
    let mut head = store.head();
    let mut bytes = 0;
    let mut append = |tale: &mut Tale, least: usize| {
        if tale.log.len() < least {
            return;
        }
        let encode = |logged| {
            let record = record::encode(&head, logged);
            head = hash(&record);
            bytes += record.len();
            record
        };
        let records: Vec<_> = tale.log.iter().map(encode).collect();
        tale.log.clear();
        for block in records.chunks(BLOCK) {
            store.append(store.end(), block).expect("an append");
        }
    };
    let name = |number: u64| format!("player-{number:08}");
    let mut tale = Tale::sealed(&[]);
    tale.books.watch();
    for first in (0..players).step_by(usize::try_from(COHORT).expect("a number of players")) {
        let cohort = COHORT.min(players - first);
        for number in first..first + cohort {
            tale.join(&name(number));
            append(&mut tale, BLOCK);
        }
        for round in rounds * first / players..rounds * (first + cohort) / players {
            tale.request_id = Some(format!("bet-{round:032x}"));
            tale.plain_spin(&name(first + round * 617 % cohort));
            if round % POOL_EVERY == 0 {
                tale.tend();
            }
            append(&mut tale, BLOCK);
        }
        tale.books.freeze();
        drop(tale.books.thaw(None));
        let mut hand = Hand::default();
        while !tale.books.evict(&mut hand, 1_000, true) {}
    }
    tale.tend();
    append(&mut tale, 1);
    leave_key(&folder, &tale.key.expect("a key")).expect("a draw key");
    println!("{rounds} rounds of {players} players, {bytes} bytes of records, in {:.1?}", begun.elapsed());
}

fn leave_key(data: &Path, key: &[u8; 32]) -> io::Result<()> {
    let folder = data.join("keys");
    fs::create_dir_all(&folder)?;
    let made = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?.as_millis();
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(folder.join("draws"))?;
    writeln!(file, "{made} {}", hex(key))
}
