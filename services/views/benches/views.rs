//! Measures lookups in 12 runs of 12-byte entries, and the time to write and merge an entry: `cargo bench -p
//! motherlode-views`.
#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use motherlode_views::{Keyspace, Run, Store, Writer, filter_hash};
use std::hint::black_box;

const NAMES: Keyspace = Keyspace { name: "names", version: 1, widths: Some((12, 0)), filtered: 7 };
const ENTRIES: u64 = 1 << 17;
const RUNS: u64 = 12;

fn name(number: u64) -> [u8; 12] {
    let mut name = [0; 12];
    name[..7].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[..7]);
    name[7..].copy_from_slice(&number.to_be_bytes()[3..]);
    name
}

fn write(store: &Store, from: u64, mut names: Vec<[u8; 12]>) -> Run {
    names.sort_unstable();
    let mut writer = Writer::new(store, &NAMES, (from, from + ENTRIES), u64::MAX);
    names.iter().for_each(|name| writer.put(name, &[]).expect("an entry is written"));
    writer.finish().expect("a run is written")
}

fn find(runs: &[Run], number: u64) -> usize {
    let name = name(number);
    let (prefix, mut found) = (&name[..7], 0);
    let hash = filter_hash(prefix);
    for run in runs.iter().filter(|run| run.may_contain(prefix, hash)) {
        run.find(prefix, |_, _| found += 1).expect("a block is read");
    }
    found
}

fn views(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path(), 0);
    let names = |run: u64| (run * ENTRIES..(run + 1) * ENTRIES).map(name).collect::<Vec<_>>();
    let runs: Vec<_> = (0..RUNS).map(|run| write(&store, run * ENTRIES, names(run))).collect();
    let bytes: u64 = runs.iter().map(Run::file_bytes).sum();
    let memory: u64 = runs.iter().flat_map(Run::tables).map(|table| table.memory()).sum();
    let entries = RUNS * ENTRIES;
    println!("{entries} entries: {bytes} bytes on disk, {memory} in memory");

    let mut group = criterion.benchmark_group("lookup in 12 runs");
    let mut number = entries;
    group.bench_function("absent", |bencher| {
        bencher.iter(|| {
            number += 1;
            black_box(find(&runs, number))
        });
    });
    group.bench_function("present", |bencher| {
        bencher.iter(|| {
            number = (number + 7_919) % entries;
            assert_eq!(find(&runs, number), 1);
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("entries");
    group.sample_size(10).throughput(Throughput::Elements(ENTRIES));
    group.bench_function("sort and write", |bencher| bencher.iter(|| write(&store, 0, names(0))));
    group.throughput(Throughput::Elements(4 * ENTRIES));
    group.bench_function("merge of four runs", |bencher| {
        bencher.iter(|| Writer::merge(&store, &NAMES, &runs[..4], u64::MAX).expect("runs are merged"));
    });
    group.finish();
}

criterion_group!(benches, views);
criterion_main!(benches);
