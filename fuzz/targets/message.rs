//! Parses JetStream messages: some mutated from a real stream, some arbitrary.
#![cfg_attr(feature = "libfuzzer", no_main)]

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use motherlode_fuzz::fuzz_target;
use motherlode_fuzz::golden;
use motherlode_jetstream::fuzzing::{RawMessage, walk};
use motherlode_log::{block, genesis};
use motherlode_testkit::conformance::records;
use std::sync::LazyLock;

static RECORDS: LazyLock<Vec<Bytes>> = LazyLock::new(|| {
    let all = golden::records(golden::LOGS[0]);
    records(genesis(0), &all[..all.len().min(12)])
});

fn message(choose: &mut Unstructured<'_>, sequence: u64, epoch: u64, first: u64, block: Bytes) -> Result<RawMessage> {
    let kind = if epoch == 0 { "FUZZ.epoch" } else { "FUZZ.block" };
    let mut headers = vec![
        ("Nats-Sequence".to_owned(), sequence.to_string()),
        ("Nats-Subject".to_owned(), kind.to_owned()),
        ("Motherlode-Epoch".to_owned(), epoch.to_string()),
    ];
    let mut block = block.to_vec();
    match choose.int_in_range(0..=15u8)? {
        0 => headers[0].1 = choose.arbitrary::<&str>()?.to_owned(),
        1 => headers[2].1 = choose.arbitrary::<&str>()?.to_owned(),
        2 => drop(headers.remove(choose.int_in_range(0..=2usize)?)),
        3 if !block.is_empty() => {
            let at = choose.choose_index(block.len())?;
            block[at] ^= choose.int_in_range(1..=255u8)?;
        }
        4 => block.truncate(choose.int_in_range(0..=block.len())?),
        5 => block = choose.bytes(choose.len().min(200))?.to_vec(),
        6 => block = block::encode(choose.arbitrary()?, &RECORDS[..1]).to_vec(),
        7 => headers[0].1 = (sequence + u64::from(choose.arbitrary::<u8>()?)).to_string(),
        _ => {}
    }
    let _ = first;
    Ok((headers, block.into()))
}

fn run(choose: &mut Unstructured<'_>) -> Result<()> {
    let (mut messages, mut sequence, mut next, mut epoch) = (vec![], 1, 0, 0);
    while next < RECORDS.len() && !choose.is_empty() {
        let begins = epoch == 0 || choose.ratio(1, 5)?;
        let many = if begins { 0 } else { choose.int_in_range(1..=3)?.min(RECORDS.len() - next) };
        let payload = if begins { Bytes::new() } else { block::encode(next as u64 + 1, &RECORDS[next..next + many]) };
        messages.push(message(choose, sequence, if begins { 0 } else { epoch }, next as u64 + 1, payload)?);
        if begins {
            epoch = sequence;
        }
        sequence += 1;
        next += many;
    }
    let (found, position) = walk(0, messages);
    assert_eq!(found.len() as u64 + 1, position);
    assert!(RECORDS.starts_with(&found), "a record was invented");
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(&mut Unstructured::new(bytes));
});
