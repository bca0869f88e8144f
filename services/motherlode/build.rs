//! Sets the commit that `motherlode --version` prints: `MOTHERLODE_COMMIT` if that variable is set; otherwise, in
//! release builds, the commit checked out in the repository; otherwise `unknown`.

mod build_commit;

use std::{env, path::Path};

fn main() {
    println!("cargo:rerun-if-env-changed=MOTHERLODE_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    let named = env::var("MOTHERLODE_COMMIT").ok().filter(|commit| !commit.is_empty());
    // A debug build omits the commit; otherwise it would be linked again after each commit.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let read = || build_commit::commit_of(&root, |file| println!("cargo:rerun-if-changed={}", file.display()));
    let commit = named.or_else(|| is_release.then(read).flatten()).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=MOTHERLODE_COMMIT={commit}");
}
