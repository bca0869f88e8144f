//! Measures audits of a log of spins.
//!
//! `cargo run --release -p motherlode-audit --example speed [ROUNDS] [PLAYERS] [FOLDER]`; if FOLDER is named, the log is
//! stored there and reused by later runs.

#[path = "../tests/integration/common/mod.rs"]
mod common;

use common::{Tale, options};
use motherlode_audit::audit;
use motherlode_log::{SegmentStore, Store};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Instant,
};

const POOL_EVERY: u32 = 1_000;

fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().expect("a line").split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("ticks") / 100.0).sum()
}

fn main() {
    let mut arguments = env::args().skip(1);
    let mut number = |default: u32| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (rounds, players) = (number(300_000), number(1_000));
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = arguments.next().map_or_else(|| temporary.path().to_owned(), PathBuf::from);

    if fs::read_dir(&folder).map_or(true, |mut files| files.next().is_none()) {
        write(&folder, rounds, players);
    }
    for _ in 0..5 {
        let (started, cpu) = (Instant::now(), cpu_seconds());
        let report = audit(&options(&folder)).expect("a log");
        let seconds = started.elapsed().as_secs_f64();
        assert_eq!(report.divergence, None);
        let cpu = cpu_seconds() - cpu;
        let rounds: u64 = report.returns.iter().map(|of| of.rounds).sum();
        #[allow(clippy::cast_precision_loss, reason = "for display")]
        let rounds = rounds as f64;
        println!("{seconds:.2} s: {:.0} rounds/s", rounds / seconds);
        println!("  {cpu:.2} s of processor time: {:.0} rounds/s per core", rounds / cpu);
    }
}

fn write(folder: &Path, rounds: u32, players: u32) {
    let names: Vec<_> = (0..players).map(|number| format!("player-{number:05}")).collect();
    let mut tale = Tale::sealed(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for round in 0..rounds {
        tale.plain_spin(&names[round as usize * 617 % names.len()]);
        if round % POOL_EVERY == 0 {
            tale.tend();
        }
    }
    let records = common::chained(&tale.log);
    let bytes: usize = records.iter().map(|record| record.len()).sum();
    let mut store = SegmentStore::open(folder, 0, motherlode_log::Options::default()).expect("a log");
    for block in records.chunks(256) {
        store.append(store.end(), block).expect("an append");
    }
    println!("{rounds} rounds of {players} players, {} commits of {} bytes", records.len(), bytes / records.len());
}
