//! Measures how many records per second startup reads from segment files, from one JetStream server, and from three
//! servers.
//!
//! `cargo run --release -p motherlode-jetstream --example recovery [-- turns]` prints median rates and their ratios to
//! the rate of segment files. The phase *opening* verifies all records and takes over the log; *reading* replays the
//! records.

mod parts;

use motherlode_jetstream::JetStreamStore;
use motherlode_log::{Options, SegmentStore, Store};
use motherlode_runtime::config::Store as Config;
use motherlode_testkit::{
    conformance::records,
    nats::{Cluster, Node},
};
use parts::PAYLOAD;
use std::{
    env,
    error::Error,
    path::PathBuf,
    time::{Duration, Instant},
};

const RECORDS: usize = 400_000;
const BATCH: usize = 256;
const READ_BYTES: usize = 4 << 20;

enum Location {
    Folder(PathBuf),
    JetStream(Box<Config>),
}

impl Location {
    fn open(&self) -> Result<Box<dyn Store>, Box<dyn Error>> {
        Ok(match self {
            Self::Folder(folder) => Box::new(SegmentStore::open(folder, 0, Options::default())?),
            Self::JetStream(config) => Box::new(JetStreamStore::open(config, 0)?),
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let turns = env::args().nth(1).map_or(Ok(5), |turns| turns.parse())?;
    let folder = tempfile::tempdir_in(".")?;
    let node = Node::start(&folder.path().join("one"), "");
    let cluster = Cluster::start(&folder.path().join("three"));
    let places = [
        ("segment files", Location::Folder(folder.path().join("segments"))),
        ("JetStream, 1 replica", Location::JetStream(Box::new(node.config("BENCH")))),
        ("JetStream, 3 replicas", Location::JetStream(Box::new(cluster.config("BENCH")))),
    ];
    for (_, place) in &places {
        fill(&mut *place.open()?)?;
    }
    println!("{turns} turns, {RECORDS} records; records per second, relative to segment files");
    let mut rates: [[Vec<f64>; 3]; 2] = Default::default();
    for _ in 0..turns {
        for (at, (_, place)) in places.iter().enumerate() {
            let begun = Instant::now();
            let store = place.open()?;
            rates[0][at].push(rate(begun.elapsed()));
            let begun = Instant::now();
            read(&*store)?;
            rates[1][at].push(rate(begun.elapsed()));
        }
    }
    for (what, rates) in ["opening", "reading"].iter().zip(rates) {
        parts::print(what, &places.each_ref().map(|(name, _)| *name), &rates)?;
    }
    Ok(())
}

fn fill(store: &mut dyn Store) -> Result<(), Box<dyn Error>> {
    for _ in 0..RECORDS.div_ceil(BATCH) {
        let next = records(store.head(), vec![PAYLOAD; BATCH]);
        store.append(store.end(), &next)?;
    }
    Ok(())
}

fn read(store: &dyn Store) -> Result<(), Box<dyn Error>> {
    let (reader, mut next) = (store.reader(), 1);
    while let Some(last) = reader.read(next, usize::MAX, READ_BYTES)?.last() {
        next = last.position + 1;
    }
    if next <= store.end() { Err(format!("read up to {next} of {}", store.end()).into()) } else { Ok(()) }
}

fn rate(time: Duration) -> f64 {
    let records = u32::try_from(RECORDS.next_multiple_of(BATCH)).unwrap_or(u32::MAX);
    f64::from(records) / time.as_secs_f64()
}
