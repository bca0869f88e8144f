use bytes::Bytes;
use motherlode_jetstream::JetStreamStore;
use motherlode_log::{AppendError, Position, Store};
use motherlode_runtime::config::Store as Config;
use motherlode_testkit::conformance::records;
use std::collections::BTreeMap;

pub type Acknowledged = BTreeMap<Position, Bytes>;

pub fn append(
    store: &mut JetStreamStore,
    payloads: &[Vec<u8>],
    acknowledged: &mut Acknowledged,
) -> Result<(), AppendError> {
    let (end, records) = (store.end(), records(store.head(), payloads));
    store.append(end, &records)?;
    acknowledged.extend((end + 1..).zip(records));
    Ok(())
}

pub fn holds(config: &Config, acknowledged: &Acknowledged) -> Position {
    let scan = motherlode_jetstream::scan(config, 0).expect("the stream must exist");
    let all: BTreeMap<_, _> = scan.map(|record| record.expect("sound")).map(|r| (r.position, r.bytes)).collect();
    for (position, bytes) in acknowledged {
        assert_eq!(all.get(position), Some(bytes), "position {position} was acknowledged with other bytes");
    }
    all.len() as Position
}

pub fn payloads(writer: &str, append: usize) -> Vec<Vec<u8>> {
    (0..append % 4 + 1).map(|record| format!("{writer} {append} {record}").into_bytes()).collect()
}
