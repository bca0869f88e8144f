use crate::parts::{Acknowledged, append, holds, payloads};
use motherlode_jetstream::{JetStreamStore, OpenError};
use motherlode_log::{AppendError, Store};
use motherlode_runtime::config::Store as Config;
use motherlode_testkit::{conformance, nats::Cluster};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

#[test]
fn the_store_conforms_with_three_replicas_and_no_override() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(folder.path());
    let config = cluster.config("CONFORMANCE");
    let mut partition = 0;
    conformance::suite(&mut || {
        partition += 1;
        Box::new(JetStreamStore::open(&config, partition).unwrap())
    });
    let config = Config { monitor: config.monitor[1..].to_vec(), ..config };
    match JetStreamStore::open(&config, 1) {
        Err(OpenError::Unsafe(refused)) => assert_eq!(refused.key, "sync_interval"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pl_30_a_writer_outlives_each_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path());
    let config = Config { append_ms_max: 300_000, ..cluster.config("S") };
    let (mut store, mut all) = (JetStreamStore::open(&config, 0).unwrap(), Acknowledged::new());
    for victim in 0..3 {
        for n in 0..10 {
            append(&mut store, &payloads("up", n), &mut all).unwrap();
        }
        cluster.nodes[victim].kill();
        for n in 0..10 {
            append(&mut store, &payloads("down", n), &mut all).unwrap();
        }
        cluster.nodes[victim].restart();
        cluster.nodes[victim].catch_up();
    }
    let wanted: Vec<_> = all.values().cloned().collect();
    assert_eq!(conformance::read_all(&*store.reader(), 1), wanted);
    assert_eq!(holds(&cluster.config("S"), &all), all.len() as u64, "each append must be stored exactly once");
}

#[test]
fn pl_30_writers_that_race_never_both_append_though_servers_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path());
    let over = Arc::new(AtomicBool::new(false));
    let mut config = cluster.config("S");
    JetStreamStore::open(&config, 0).unwrap();
    config.allow_unsafe.sync_interval = true;
    let race = |name: &'static str| {
        let (config, over) = (config.clone(), Arc::clone(&over));
        thread::spawn(move || {
            let (mut all, mut n) = (Acknowledged::new(), 0);
            while !over.load(Ordering::Acquire) || all.is_empty() {
                let Ok(mut store) = JetStreamStore::open(&config, 0) else { continue };
                for _ in 0..20 {
                    n += 1;
                    match append(&mut store, &payloads(name, n), &mut all) {
                        Ok(()) => {}
                        Err(AppendError::Fenced { .. } | AppendError::Failed { .. }) => break,
                        Err(other) => panic!("{other}"),
                    }
                }
            }
            all
        })
    };
    let racing = ["a", "b"].map(race);
    for node in &mut cluster.nodes[1..] {
        node.restart();
    }
    over.store(true, Ordering::Release);
    let mut all = Acknowledged::new();
    for writer in racing {
        let acknowledged = writer.join().unwrap();
        let count = all.len() + acknowledged.len();
        all.extend(acknowledged);
        assert_eq!(all.len(), count, "two appends were acknowledged for one position");
    }
    assert!(holds(&cluster.config("S"), &all) >= all.len() as u64);
}
