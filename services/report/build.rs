//! Names the version of the fold that makes the reports' figures: a hash of the sources that they come from, from the records'
//! conversion and the games on.

#[path = "../ledger/fold_version.rs"]
mod fold_version;

use std::io;

/// The sources that determine the figures of a log, and the format that they're kept in.
const SOURCES: [&str; 6] = [
    "src",
    "../rounds/src",
    "../../engine/books/src",
    "../../engine/slots",
    "../../proto/src",
    "../../proto/motherlode",
];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=../ledger/fold_version.rs");
    fold_version::name("MOTHERLODE_REPORTS", &SOURCES)
}
