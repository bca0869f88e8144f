//! Measures a prune of a log of a million records on three servers.
//!
//! `cargo run --release -p motherlode-jetstream --example prune`

use motherlode_jetstream::JetStreamStore;
use motherlode_log::Store;
use motherlode_testkit::{conformance::records, nats::Cluster};
use std::{
    error::Error,
    thread,
    time::{Duration, Instant},
};

const PAYLOAD: [u8; 213] = [0xA5; 213];
const RECORDS: u64 = 1_000_000;
const KEPT: u64 = 100_000;
const BATCH: usize = 16;
const MARGIN: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let cluster = Cluster::start(folder.path());
    let config = cluster.config("BENCH");
    let mut store = JetStreamStore::open(&config, 0)?;
    let begun = Instant::now();
    let (first, last) = (RECORDS - KEPT, RECORDS);
    fill(&mut store, first)?;
    // The removed messages must be older than the margin.
    thread::sleep(2 * MARGIN);
    fill(&mut store, last)?;
    let filled = begun.elapsed();
    let begun = Instant::now();
    let start = store.record_start(first)?;
    let recorded = begun.elapsed();
    store.remove_before_start(MARGIN)?;
    let removed = begun.elapsed();
    fill(&mut store, last + KEPT)?;
    drop(store);
    let begun = Instant::now();
    let store = JetStreamStore::open(&config, 0)?;
    println!("{RECORDS} records written in {filled:.1?}");
    println!(
        "start at position {} recorded in {recorded:.3?}, earlier messages removed after {removed:.3?}",
        start.first
    );
    println!("the pruned log of {} records opened in {:.1?}", store.end() + 1 - store.start().first, begun.elapsed());
    Ok(())
}

fn fill(store: &mut dyn Store, end: u64) -> Result<(), Box<dyn Error>> {
    while store.end() < end {
        let next = records(store.head(), vec![PAYLOAD; BATCH]);
        store.append(store.end(), &next)?;
    }
    Ok(())
}
