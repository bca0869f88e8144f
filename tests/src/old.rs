use crate::config;
use motherlode_log::Store;
use motherlode_proto::convert::record::{self, Logged};
use motherlode_state::{Commit, Currency, Event, Minor, StreamId};
use std::path::Path;

pub fn deposit_of_old(data: &Path, stream: &StreamId, amount: i64) {
    let config = config(data);
    let mut stores = motherlode_server::open_stores(&config).expect("the log opens").stores;
    let partition =
        usize::try_from(stream.partition(config.partitions)).expect("the partition's number fits into usize");
    let store: &mut Box<dyn Store> = &mut stores[partition];
    let end = store.end();
    let reader = store.reader();
    let read = |position| {
        let read = reader.read(position, 1, usize::MAX).expect("the log can be read");
        record::decode(&read[0].bytes).expect("the commit can be decoded")
    };
    let last =
        (1..=end).rev().map(read).find(|logged| logged.commit.stream == *stream).expect("the player has a commit");
    let balances_after = last.balances_after.iter().map(|(currency, balance)| (*currency, Minor(balance.0 + amount)));
    let commit = Commit {
        partition: store.partition(),
        position: end + 1,
        stream: stream.clone(),
        version: last.commit.version + 1,
        previous: last.commit.position,
        request_id: "of-old".into(),
        fingerprint: [0; 16],
        time_ms: read(end).commit.time_ms,
        events: vec![Event::Deposited { currency: Currency::EUR, amount: Minor(amount) }],
    };
    let logged = Logged { commit, balances_after: balances_after.collect(), due_after: vec![], proposer: None };
    let bytes = record::encode(&store.head(), &logged);
    store.append(end, &[bytes]).expect("the commit is appended");
}
