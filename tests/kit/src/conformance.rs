use std::{sync::Arc, thread};

use bytes::Bytes;

use motherlode_log::{AppendError, Hash, LogStart, Position, ReadError, Reader, Store, genesis, hash, previous_hash};

pub type Make<'a> = &'a mut dyn FnMut() -> Box<dyn Store>;

pub fn suite(make: Make<'_>) {
    an_empty_log_has_its_genesis_as_head(make);
    what_is_appended_is_read_back(make);
    reads_keep_their_limits(make);
    a_wrong_place_is_a_conflict(make);
    a_record_that_does_not_chain_is_refused(make);
    an_empty_append_changes_nothing(make);
    long_records_and_zeros_survive(make);
    readers_see_whole_appends_while_the_writer_appends(make);
}

pub fn a_log_that_starts_later(store: &mut dyn Store, kept: &[Bytes]) {
    let LogStart { first, previous } = store.start();
    assert!(first > 1, "the log begins after position 1");
    assert_eq!(kept.first().and_then(|record| previous_hash(record)), Some(previous));
    let end = first - 1 + kept.len() as Position;
    assert_eq!((store.end(), store.head()), (end, hash(kept.last().expect("the log has records"))));
    let appended = append(store, &[b"later", b"still later"]);
    let reader = store.reader();
    assert_eq!((reader.first(), reader.end()), (first, end + 2));
    for from in [0, 1, first - 1] {
        for most in [0, 1, usize::MAX] {
            match reader.read(from, most, usize::MAX) {
                Err(ReadError::Archived { position, first: named }) => {
                    assert_eq!((position, named), (from.max(1), first));
                }
                other => panic!("position {from} is archived, but the read returned {other:?}"),
            }
        }
    }
    assert_eq!(read_all(&*reader, first), [kept, &appended].concat());
    assert!(reader.read(end + 3, 10, 1000).expect("a read past the end returns nothing").is_empty());
}

#[must_use]
pub fn start_file(partition: u32, start: LogStart) -> (&'static str, Vec<u8>) {
    let LogStart { first, previous } = start;
    let body = [&partition.to_le_bytes()[..], &first.to_le_bytes(), &previous, &[7; 32]].concat();
    ("start", [&b"MLSTART1"[..], &hash(&body), &body].concat())
}

#[must_use]
pub fn record(previous: &Hash, payload: &[u8]) -> Bytes {
    let mut bytes = vec![0x0A, 0x20];
    bytes.extend_from_slice(previous);
    bytes.push(0x12);
    let mut rest = payload.len();
    while rest >= 0x80 {
        bytes.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    bytes.push(rest.to_le_bytes()[0]);
    bytes.extend_from_slice(payload);
    bytes.into()
}

pub fn records<P: AsRef<[u8]>>(head: Hash, payloads: impl IntoIterator<Item = P>) -> Vec<Bytes> {
    let mut head = head;
    let link = |payload: P| {
        let record = record(&head, payload.as_ref());
        head = hash(&record);
        record
    };
    payloads.into_iter().map(link).collect()
}

pub fn read_all(reader: &dyn Reader, from: Position) -> Vec<Bytes> {
    let mut all = Vec::new();
    let mut next = from.max(1);
    loop {
        let read = reader.read(next, 7, 4096).expect("an undamaged log is readable");
        if read.is_empty() {
            return all;
        }
        for record in read {
            assert_eq!(record.position, next, "positions are contiguous");
            next += 1;
            all.push(record.bytes);
        }
    }
}

fn append(store: &mut dyn Store, payloads: &[&[u8]]) -> Vec<Bytes> {
    let records = records(store.head(), payloads);
    let end = store.end();
    store.append(end, &records).expect("a chained append at the end is accepted");
    assert_eq!(store.end(), end + records.len() as Position, "an append moves the end by the number of its records");
    records
}

fn an_empty_log_has_its_genesis_as_head(make: Make<'_>) {
    let store = make();
    assert_eq!(store.end(), 0);
    assert_eq!(store.head(), genesis(store.partition()));
    let reader = store.reader();
    assert_eq!(reader.end(), 0);
    for from in [0, 1, 2, Position::MAX] {
        assert!(reader.read(from, 10, 1000).expect("an empty log is readable").is_empty());
    }
}

fn what_is_appended_is_read_back(make: Make<'_>) {
    let mut store = make();
    let early = store.reader();
    let mut all = append(&mut *store, &[b"one"]);
    all.extend(append(&mut *store, &[b"two", b"", b"four"]));
    all.extend(append(&mut *store, &[b"five".as_slice(); 40]));
    assert_eq!(store.head(), hash(all.last().expect("the log has records")));
    for reader in [early, store.reader()] {
        assert_eq!(reader.end(), 44);
        assert_eq!(read_all(&*reader, 0), all, "position 0 reads from the first record");
        for from in 1..=44 {
            let skipped = usize::try_from(from - 1).expect("the number is small");
            assert_eq!(read_all(&*reader, from), all[skipped..], "from {from}");
        }
        assert!(reader.read(45, 10, 1000).expect("a read past the end returns nothing").is_empty());
        assert!(reader.read(Position::MAX, 10, 1000).expect("a read far past the end returns nothing").is_empty());
    }
}

fn reads_keep_their_limits(make: Make<'_>) {
    let mut store = make();
    let all = append(&mut *store, &[&[1; 100], &[2; 100], &[3; 1000], &[4; 100]]);
    let size = all[0].len();
    let reader = store.reader();
    let count = |from, records, bytes| reader.read(from, records, bytes).expect("the log is readable").len();
    assert_eq!(count(1, 0, 10_000), 0, "a read of 0 records returns nothing");
    assert_eq!(count(1, 3, 100_000), 3);
    assert_eq!(count(1, 10, 2 * size), 2);
    assert_eq!(count(1, 10, 2 * size - 1), 1);
    assert_eq!(count(3, 10, 1), 1, "a read returns at least one record, however long it is");
    assert_eq!(count(3, 10, 0), 1);
    assert_eq!(count(1, usize::MAX, usize::MAX), 4);
}

fn a_wrong_place_is_a_conflict(make: Make<'_>) {
    let mut store = make();
    let all = append(&mut *store, &[b"one", b"two"]);
    for after in [0, 1, 3, Position::MAX] {
        let next = records(store.head(), [b"three"]);
        let refused = store.append(after, &next);
        assert!(
            matches!(refused, Err(AppendError::Conflict { end: 2 })),
            "an append after {after} returned {refused:?}"
        );
    }
    assert_eq!(read_all(&*store.reader(), 1), all, "a refused append adds no records");
    append(&mut *store, &[b"three"]);
}

fn a_record_that_does_not_chain_is_refused(make: Make<'_>) {
    let mut store = make();
    let first = append(&mut *store, &[b"one"]);
    let head = store.head();
    let wrong_first = records([9; 32], [b"two"]);
    let mut wrong_second = records(head, [b"two", b"xxx"]);
    wrong_second[1] = record(&head, b"record whose previous hash is that of an earlier record");
    let no_record = vec![Bytes::from_static(b"no record")];
    let empty_record = vec![Bytes::new()];
    for (wrong, place) in [(wrong_first, 2), (wrong_second, 3), (no_record, 2), (empty_record, 2)] {
        match store.append(1, &wrong) {
            Err(AppendError::Chain { position, .. }) => assert_eq!(position, place),
            other => panic!("an append of a record that does not chain returned {other:?}"),
        }
        assert_eq!((store.end(), store.head()), (1, head), "a refused append changes nothing");
    }
    assert_eq!(read_all(&*store.reader(), 1), first);
    append(&mut *store, &[b"two"]);
}

fn an_empty_append_changes_nothing(make: Make<'_>) {
    let mut store = make();
    store.append(0, &[]).expect("an empty append to an empty log succeeds");
    assert_eq!(store.end(), 0);
    append(&mut *store, &[b"one"]);
    store.append(1, &[]).expect("an empty append succeeds");
    assert!(
        matches!(store.append(0, &[]), Err(AppendError::Conflict { end: 1 })),
        "the position is checked even for an empty append"
    );
    assert_eq!(store.end(), 1);
}

fn long_records_and_zeros_survive(make: Make<'_>) {
    let mut store = make();
    let mut all = append(&mut *store, &[&[0; 3000]]);
    all.extend(append(&mut *store, &[&[0xFF; 3000], &[0; 1500], &[0xAB; 2000]]));
    all.extend(append(&mut *store, &[b"after"]));
    assert_eq!(read_all(&*store.reader(), 1), all);
}

fn readers_see_whole_appends_while_the_writer_appends(make: Make<'_>) {
    const APPENDS: u64 = 60;
    let ends: Vec<Position> =
        (0..APPENDS).map(|n| n % 5 + 1).scan(0, |end, n| Some(*end + n).inspect(|e| *end = *e)).collect();
    let last = ends[ends.len() - 1];
    let mut store = make();
    let partition = store.partition();
    thread::scope(|scope| {
        for _ in 0..2 {
            let (reader, ends) = (store.reader(), &ends);
            scope.spawn(move || follow(&reader, genesis(partition), ends, last));
        }
        for n in 0..APPENDS {
            let payload = n.to_le_bytes();
            let payloads = vec![&payload[..]; usize::try_from(n % 5 + 1).expect("the number is small")];
            append(&mut *store, &payloads);
        }
    });
}

fn follow(reader: &Arc<dyn Reader>, genesis: Hash, ends: &[Position], last: Position) {
    let (mut head, mut next) = (genesis, 1);
    while next <= last {
        let end = reader.end();
        assert!(end == 0 || ends.contains(&end), "a reader saw the end {end}, which is inside an append");
        let read = reader.read(next, 3, 10_000).expect("the log is readable while it is written");
        assert!(next > end || !read.is_empty(), "records before the end are returned");
        for record in read {
            assert_eq!(record.position, next);
            assert_eq!(previous_hash(&record.bytes), Some(head), "the record at position {next} chains");
            head = hash(&record.bytes);
            next += 1;
        }
        thread::yield_now();
    }
}
