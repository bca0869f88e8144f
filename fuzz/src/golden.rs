//! Records of a golden log that contains every kind of event.

use bytes::Bytes;
use motherlode_proto::convert::record::{self, Logged};
use std::sync::LazyLock;

pub const LOGS: [&str; 4] = [
    include_str!("../../tests/golden/one-machine.hex"),
    include_str!("../../tests/golden/five-games.hex"),
    include_str!("../../tests/golden/two-partitions-0.hex"),
    include_str!("../../tests/golden/two-partitions-1.hex"),
];

#[must_use]
pub fn records(log: &str) -> Vec<Bytes> {
    log.lines().filter(|line| !line.trim().is_empty()).map(|line| unhex(line.trim())).collect()
}

pub static COMMITS: LazyLock<Vec<Vec<Logged>>> = LazyLock::new(|| {
    let decoded =
        |log: &&str| records(log).iter().map(|bytes| record::decode(bytes).expect("a golden record")).collect();
    LOGS.iter().map(decoded).collect()
});

fn unhex(text: &str) -> Bytes {
    let digits = text.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(|pair| byte(pair).expect("hexadecimal")).collect()
}
