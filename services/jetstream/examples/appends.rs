//! Measures durable appends per second to segment files, to one JetStream server, and to three servers.
//!
//! `cargo run --release -p motherlode-jetstream --example appends [-- turns]` prints median rates and their ratios to
//! the rate of segment files.

mod parts;

use motherlode_jetstream::JetStreamStore;
use motherlode_log::{Options, SegmentStore, Store};
use motherlode_testkit::{
    conformance::records,
    nats::{Cluster, Node},
};
use parts::PAYLOAD;
use std::{
    env,
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

const BATCHES: [usize; 3] = [1, 64, 512];
const TURN: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn Error>> {
    let turns = env::args().nth(1).map_or(Ok(9), |turns| turns.parse())?;
    let folder = tempfile::tempdir_in(".")?;
    let at = |name: &str| folder.path().join(name);
    let node = Node::start(&at("one"), "");
    let cluster = Cluster::start(&at("three"));
    let mut stores: [(&str, Box<dyn Store>); 3] = [
        ("segment files", Box::new(open_segments(&at("segments"))?)),
        ("JetStream, 1 replica", Box::new(JetStreamStore::open(&node.config("BENCH"), 0)?)),
        ("JetStream, 3 replicas", Box::new(JetStreamStore::open(&cluster.config("BENCH"), 0)?)),
    ];
    println!("{turns} turns of {} ms each; records per second, relative to segment files", TURN.as_millis());
    for batch in BATCHES {
        let mut rates: [Vec<f64>; 3] = Default::default();
        for _ in 0..turns {
            for ((_, store), rates) in stores.iter_mut().zip(&mut rates) {
                rates.push(rate(&mut **store, batch)?);
            }
        }
        parts::print(&format!("{batch} each"), &stores.each_ref().map(|(name, _)| *name), &rates)?;
    }
    Ok(())
}

fn open_segments(folder: &Path) -> Result<SegmentStore, Box<dyn Error>> {
    Ok(SegmentStore::open(folder, 0, Options::default())?)
}

fn rate(store: &mut dyn Store, batch: usize) -> Result<f64, Box<dyn Error>> {
    let (started, before) = (Instant::now(), store.end());
    while started.elapsed() < TURN {
        let next = records(store.head(), vec![PAYLOAD; batch]);
        store.append(store.end(), &next)?;
    }
    let appended = u32::try_from(store.end() - before)?;
    Ok(f64::from(appended) / started.elapsed().as_secs_f64())
}
