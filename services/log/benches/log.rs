//! Compares appends to the log with appends to a plain file on the same disk, and times a scan: `cargo bench -p
//! motherlode-log`.
#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use std::{
    fs::File,
    hint::black_box,
    os::unix::fs::FileExt,
    time::{Duration, Instant},
};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use motherlode_log::{Options, SegmentStore, Store, scan};
use motherlode_testkit::conformance::records;

const PAYLOAD: [u8; 213] = [0xA5; 213];

struct Plain {
    file: File,
    at: u64,
}

impl Plain {
    const BYTES: u64 = 64 << 20;

    fn new(dir: &std::path::Path) -> Self {
        let file = File::create(dir.join("plain")).expect("the bench's directory is writable");
        file.write_all_at(&vec![0; 64 << 20], 0)
            .and_then(|()| file.sync_all())
            .expect("the disk has enough free space");
        Self { file, at: 0 }
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.at + bytes.len() as u64 > Self::BYTES {
            self.at = 0;
        }
        self.file.write_all_at(bytes, self.at).and_then(|()| self.file.sync_data()).expect("the disk works");
        self.at += bytes.len() as u64;
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn append(c: &mut Criterion) {
    for batch in [1, 8, 64, 512] {
        let mut group = c.benchmark_group("append");
        group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
        group.throughput(Throughput::Elements(batch as u64));
        let dir = tempfile::tempdir().expect("a directory for the bench");
        let mut store = SegmentStore::open(&dir.path().join("p"), 0, Options::default()).expect("a new log opens");
        let mut plain = Plain::new(dir.path());
        let (mut logs, mut plains) = (Vec::new(), Vec::new());
        group.bench_function(BenchmarkId::from_parameter(batch), |b| {
            b.iter_custom(|iterations| {
                let mut append_both = || {
                    let batch = records(store.head(), vec![PAYLOAD; batch]);
                    let bytes = batch.concat();
                    let log = timed(|| store.append(store.end(), &batch).expect("the disk works"));
                    plains.push(timed(|| plain.append(&bytes)));
                    logs.push(log);
                    log
                };
                (0..iterations).map(|_| append_both()).sum()
            });
        });
        println!("batch {batch}: median of the log {:?}, of a plain file {:?}", median(logs), median(plains));
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn scan_speed(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a directory for the bench");
    let mut store = SegmentStore::open(dir.path(), 0, Options::default()).expect("a new log opens");
    let mut bytes = 0;
    while bytes < 100_000_000 {
        let batch: Vec<Bytes> = records(store.head(), vec![PAYLOAD; 512]);
        bytes += batch.iter().map(|record| record.len() as u64).sum::<u64>();
        store.append(store.end(), &batch).expect("the disk works");
    }
    let mut group = c.benchmark_group("scan");
    group.sample_size(10).throughput(Throughput::Bytes(bytes));
    group.bench_function("250-byte records", |b| {
        b.iter(|| {
            black_box(scan(dir.path()).expect("the log is there").map(|r| r.expect("sound").bytes.len()).sum::<usize>())
        });
    });
    group.finish();

    let reader = store.reader();
    let end = reader.end();
    let mut position = 1;
    c.bench_function("read one record at a random position", |b| {
        b.iter(|| {
            position = (position * 6_364_136_223 + 1_442_695) % end + 1;
            black_box(reader.read(position, 1, 1).expect("sound"))
        });
    });
}

criterion_group!(benches, append, scan_speed);
criterion_main!(benches);
