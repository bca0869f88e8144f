#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_ledger::fuzzing::balance;

fuzz_target!(|bytes: &[u8]| {
    let (cut, bytes) = bytes.split_first().unwrap_or((&0, bytes));
    let (key, value) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    if let Some(read) = balance(key, value) {
        assert_eq!(value, [&read.position.to_be_bytes()[..], &read.amount.to_be_bytes()].concat());
        assert_eq!(&key[1..], [read.stream.as_bytes(), b"\0", read.currency.as_bytes()].concat());
    }
});
