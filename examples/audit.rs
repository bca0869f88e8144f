//! Verifies the log of a partition from a Rust program: the bytes, the outcome of each step, and the state.
//!
//! `cargo run --example audit -- FOLDER`, where FOLDER contains the segments, such as `data/log/0` of a stopped service.

use motherlode_audit::{Options, audit};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let log = std::env::args().nth(1).ok_or("usage: audit FOLDER, with the segments of a partition")?.into();
    let report = audit(&Options { log, index: None, partition: 0, ..Options::default() })?;
    if let Some(divergence) = report.divergence {
        return Err(divergence.to_string().into());
    }
    println!("verified to position {}", report.position);
    for played in &report.returns {
        println!("{}: {} rounds, bets {}, wins {} minor units", played.game, played.rounds, played.bets, played.wins);
    }
    Ok(())
}
