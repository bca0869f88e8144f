#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod circles;
mod configuration;
mod documents;
mod modules;
mod names;
mod prose;
mod rules;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const LINES_MAX: usize = 600;

const ENGINE_MAY_USE: [&str; 12] = [
    "data-encoding",
    "ed25519-dalek",
    "num-bigint",
    "num-rational",
    "num-traits",
    "rand_chacha",
    "serde",
    "sha2",
    "smallvec",
    "smol_str",
    "thiserror",
    "toml",
];

const ROUNDS_MAY_USE: [&str; 6] =
    ["motherlode-state", "motherlode-proto", "motherlode-slots", "prost", "prost-types", "thiserror"];

/// Packages on which the engine must not depend, even indirectly: I/O, async, clocks and sources of randomness.
const ENGINE_MUST_NOT_REACH: [&str; 15] = [
    "async-std",
    "chrono",
    "futures-core",
    "getrandom",
    "hyper",
    "mio",
    "rand",
    "rustix",
    "sled",
    "smol",
    "socket2",
    "time",
    "tokio",
    "tonic",
    "tracing",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources(endings: &[&str]) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, endings: &[&str], found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let foreign = name.starts_with('.') || ["target", "gen", "node_modules", "__pycache__"].contains(&&*name);
            if path.is_dir() && !foreign {
                walk(&path, endings, found);
            } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) {
                found.push((path.clone(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = vec![];
    for folder in ["deploy", "engine", "fuzz", "proto", "services", "tests"] {
        walk(&root().join(folder), endings, &mut found);
    }
    assert!(!found.is_empty());
    found
}

/// Dependencies of tests are excluded. The package is resolved alone, because other crates of the workspace could enable
/// features.
fn beneath(package: &str, depth: &str) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--package", package, "--depth", depth])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let lines = String::from_utf8(tree.stdout).unwrap();
    let names = lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    let mut names: BTreeSet<_> = names.collect();
    assert!(names.remove(package), "the tree begins with the package");
    names
}

#[test]
fn the_engine_depends_on_nothing_that_does_io_or_tells_the_time() {
    for engine in ["motherlode-slots", "motherlode-state", "motherlode-tiles"] {
        for direct in beneath(engine, "1") {
            assert!(ENGINE_MAY_USE.contains(&&*direct), "{engine} uses {direct}");
        }
        for reached in beneath(engine, "99") {
            assert!(!ENGINE_MUST_NOT_REACH.contains(&&*reached), "{engine} reaches {reached}");
        }
    }
    for direct in beneath("motherlode-rounds", "1") {
        assert!(ROUNDS_MAY_USE.contains(&&*direct), "motherlode-rounds uses {direct}");
    }
    for (path, text) in sources(&["rs"]) {
        if path.starts_with(root().join("services/rounds/src")) {
            let served = ["_client", "_server", "spin::v1", "ledger::v1", "jackpot::v1", "report::v1", "tonic"];
            assert!(served.iter().all(|of| !text.contains(of)), "{} names a service", path.display());
        }
    }
}

fn lines_of_crates() -> Vec<Vec<String>> {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let drawing = architecture.split("depends only on crates in lower lines of this list:\n\n```\n").nth(1).unwrap();
    let lines = drawing.split("```").next().unwrap().lines().rev();
    let names = |line: &'_ str| line.trim_start().split("   ").next().unwrap_or_default().to_owned();
    lines.map(|line| names(line).split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn crates_stand_on_lower_lines_of_architectures_drawing_only() {
    let lines = lines_of_crates();
    let line_of = |name: &str| lines.iter().position(|line| line.iter().any(|drawn| drawn == name));
    let mut found = 0;
    for folder in ["engine", "services", "."] {
        for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if !entry.path().join("src").is_dir() || ["tests", "fuzz"].contains(&&*name) {
                continue;
            }
            found += 1;
            let line = line_of(&name).unwrap_or_else(|| panic!("the list of crates in ARCHITECTURE.md lacks {name}"));
            let package = if name == "motherlode" { name.clone() } else { format!("motherlode-{name}") };
            for beneath in beneath(&package, "1").iter().filter_map(|beneath| beneath.strip_prefix("motherlode-")) {
                assert!(
                    line_of(beneath).is_some_and(|lower| lower < line),
                    "{name} depends on {beneath}, which is not on a lower line of ARCHITECTURE.md"
                );
            }
        }
    }
    assert_eq!(found, lines.iter().flatten().count(), "the list in ARCHITECTURE.md has exactly the crates");
}

#[test]
fn some_crates_never_reach_others_below_them() {
    let never: &[(&str, &[&str])] = &[
        ("motherlode-spin", &["motherlode-jackpot", "motherlode-report"]),
        ("motherlode-picture", &["motherlode-log", "motherlode-runtime"]),
        ("motherlode-rounds", &["motherlode-log", "motherlode-runtime"]),
        ("motherlode-audit", &["motherlode-jackpot", "motherlode-report", "motherlode-jetstream"]),
        ("motherlode-server", &["motherlode-loadtest"]),
        ("motherlode", &["motherlode-testkit"]),
    ];
    for (package, others) in never {
        let beneath = beneath(package, "99");
        for name in *others {
            assert!(!beneath.contains(*name), "{package} depends on {name}");
        }
    }
}

#[test]
fn pl_09_no_floating_point_near_money() {
    let near_money = [
        "engine/state/src",
        "services/rounds/src",
        "proto/src",
        "services/ledger/src",
        "services/jackpot/src",
        "services/spin/src",
        "services/wallet/src",
    ];
    let near_money = near_money.map(|folder| root().join(folder));
    let files = sources(&["rs"]);
    let files: Vec<_> =
        files.iter().filter(|(path, _)| near_money.iter().any(|folder| path.starts_with(folder))).collect();
    assert!(files.len() > 30, "the protos' folders are found");
    for (path, text) in files {
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let mut words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let float = |word: &str| {
                let number = word.trim_end_matches("f32").trim_end_matches("f64");
                number != word && number.chars().all(|letter| letter.is_ascii_digit() || letter == '_')
            };
            let of_serde = ["fn serialize_f32(", "fn serialize_f64("].iter().any(|function| code.contains(function));
            assert!(of_serde || !words.any(float), "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    for (path, text) in sources(&["rs", "py", "proto"]) {
        let lines = text.lines().count();
        // Protos may be longer than other files, because moving a message to another file breaks generated clients.
        let most = if path.extension().is_some_and(|of| of == "proto") { 700 } else { LINES_MAX };
        assert!(lines <= most || path.starts_with(root().join("proto/google")), "{}: {lines} lines", path.display());
    }
}

#[test]
fn no_doc_comment_begins_with_what() {
    for (path, text) in sources(&["rs"]) {
        for (number, line) in text.lines().map(str::trim_start).enumerate() {
            let what = ["/// What ", "//! What "].iter().any(|start| line.starts_with(start));
            assert!(!what, "{}:{}: {line}", path.display(), number + 1);
        }
    }
}
