//! Names the version of the fold that makes snapshots: a hash of the sources of the books, of the conversion from records to
//! commits, and of the names of requests.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The sources that determine the state in a snapshot, and its format.
const SOURCES: [&str; 4] =
    ["../../engine/books/src", "../../proto/src/convert", "src/requests/name.rs", "src/requests/table.rs"];

fn main() -> io::Result<()> {
    let mut files = vec![];
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        list(Path::new(source), &mut files)?;
    }
    files.sort();
    // FNV-1a, 64 bits: it tells versions apart, and nobody gains by making two alike.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        for byte in fs::read(file)? {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    println!("cargo:rustc-env=MOTHERLODE_FOLD={hash:016x}");
    Ok(())
}

fn list(at: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if at.is_file() {
        files.push(at.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(at)? {
        list(&entry?.path(), files)?;
    }
    Ok(())
}
