use crate::root;
use std::{
    fs,
    path::{Path, PathBuf},
};

const FILES: [&str; 5] = [".rs", ".py", ".proto", ".toml", ".md"];

/// Files whose paths have these parts are not checked, because they are generated or belong to other projects.
const ELSEWHERE: [&str; 4] = ["target/", "tests/.venv/", "fuzz/corpus/", "fuzz/artifacts/"];

pub(crate) fn paths() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if [".git", ".venv", ".nats", ".openapi", "target", "node_modules", "__pycache__"].contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                walk(&path, found);
            }
            found.push(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
    let mut found = vec![];
    walk(&root(), &mut found);
    found
}

fn alternatives(name: &str) -> Vec<String> {
    let innermost = name.find('}').and_then(|close| Some((name[..close].rfind('{')?, close)));
    let Some((open, close)) = innermost else { return vec![name.to_owned()] };
    let whole = |part: &str| format!("{}{part}{}", &name[..open], &name[close + 1..]);
    name[open + 1..close].split(',').flat_map(|part| alternatives(&whole(part))).collect()
}

fn is_path(word: &str, folders: &[String]) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./{},".contains(letter);
    let from_root = folders.iter().any(|folder| word.starts_with(folder.as_str()));
    word.contains('/')
        && !word.starts_with('/')
        && !word.contains("...")
        && word.chars().all(plain)
        && (from_root || FILES.iter().any(|ending| word.ends_with(ending)))
        && !ELSEWHERE.iter().any(|elsewhere| word.starts_with(elsewhere))
}

#[test]
fn every_path_in_a_document_is_there() {
    let paths = paths();
    let folders = paths.iter().filter(|path| path.components().count() == 1 && root().join(path).is_dir());
    let folders: Vec<_> = folders.map(|path| format!("{}/", path.display())).collect();
    let documents: Vec<_> = paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    assert!(documents.len() > 10, "the documents are found");
    let mut missing = vec![];
    for document in documents.into_iter().filter(|path| !path.ends_with("CHANGELOG.md")) {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let words = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        for word in words.filter(|word| is_path(word, &folders)) {
            for name in alternatives(word.trim_end_matches('/')) {
                if !paths.iter().any(|path| path.ends_with(&name)) {
                    missing.push(format!("{}: {name}", document.display()));
                }
            }
        }
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            if !root().join(document).parent().unwrap().join(link).exists() {
                missing.push(format!("{}: link to {link}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "documents name paths that do not exist: {missing:#?}");
}

#[test]
fn every_column_of_an_export_is_documented() {
    let document = fs::read_to_string(root().join("docs/reference/exports.md")).unwrap();
    let (mut columns, mut missing) = (0, vec![]);
    for entry in fs::read_dir(root().join("services/motherlode/src/commands/export")).unwrap() {
        let source = fs::read_to_string(entry.unwrap().path()).unwrap();
        for name in source.split("column(\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            columns += 1;
            if !document.contains(&format!("`{name}`")) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(columns > 40, "the columns are found");
    assert!(missing.is_empty(), "docs/reference/exports.md lacks {missing:?}");
}

fn number(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let found = text.split_once(name).map(|(_, rest)| rest.trim_start_matches([' ', '=']).to_owned());
    let digits: String = found.unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("{file} has no {name}"))
}

#[test]
fn the_upgrade_guide_states_the_versions_of_this_program() {
    let guide = fs::read_to_string(root().join("docs/how-to/upgrade.md")).unwrap();
    let log = number("services/log/src/segment/format.rs", "const VERSION: u32 =");
    let state = number("services/ledger/src/players.rs", "const STATE_VERSION: u32 =");
    for row in [format!("| format {log} |"), format!("| state {state} |")] {
        assert!(guide.contains(&row), "the table of compatibility has no {row}");
    }
}
