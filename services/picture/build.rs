//! Generates the list of sprites from `assets`, so that the code does not name games.

use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=assets");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("assets");
    let mut files = fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "svg"));
    files.sort();
    // The list contains no path of this machine, so that builds are reproducible.
    let entry = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let read = format!(r#"include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/{name}"))"#);
        format!("    ({:?}, {read}),\n", file.file_stem().unwrap_or_default())
    };
    let list: String = files.iter().map(entry).collect();
    let to = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("sprites.rs");
    fs::write(to, format!("&[\n{list}]\n"))
}
