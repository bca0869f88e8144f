//! Names the version of the fold that makes snapshots: a hash of the sources of the books, of the conversion from records to
//! commits, and of the names of requests.

#[path = "fold_version.rs"]
mod fold_version;

use std::io;

/// The sources that determine the state in a snapshot, and its format.
const SOURCES: [&str; 4] =
    ["../../engine/books/src", "../../proto/src/convert", "src/requests/name.rs", "src/requests/table.rs"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=fold_version.rs");
    fold_version::name("MOTHERLODE_FOLD", &SOURCES)
}
