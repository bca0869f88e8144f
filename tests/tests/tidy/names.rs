use std::collections::BTreeSet;

use motherlode_slots::latest_games;

use crate::{root, sources};

const THEIRS: [&str; 2] = ["engine/slots/src/games", "engine/slots/examples"];

fn names() -> BTreeSet<String> {
    let forms = |game: &str, title: &str| {
        [game.to_owned(), game.replace('-', "_"), game.replace('-', ""), title.to_lowercase()]
    };
    latest_games().iter().flat_map(|game| forms(game.name(), &game.info().title)).collect()
}

fn named(text: &str, names: &BTreeSet<String>) -> Option<(usize, String)> {
    let code = text.lines().take_while(|line| !line.ends_with("mod tests {"));
    let lines = (1..).zip(code).map(|(number, line)| (number, line.to_lowercase()));
    let mut in_test = false;
    for (number, line) in lines {
        in_test = (in_test && !line.trim().is_empty()) || line.trim() == "#[cfg(test)]";
        let letter = |letter: char| letter.is_ascii_alphanumeric();
        let names_it = |name: &String| {
            line.match_indices(name.as_str()).any(|(at, _)| {
                let (before, after) = (&line[..at], &line[at + name.len()..]);
                !before.ends_with(letter) && !after.starts_with(letter)
            })
        };
        if !in_test && let Some(name) = names.iter().find(|name| names_it(name)) {
            return Some((number, name.clone()));
        }
    }
    None
}

#[test]
fn games_are_named_by_themselves_alone() {
    let names = names();
    assert!(names.len() >= 10, "{names:?}");
    let mut looked = 0;
    for (path, text) in sources(&["rs"]) {
        let path = path.strip_prefix(root()).unwrap();
        let of_source = path.components().any(|part| part.as_os_str() == "src");
        let is_test = path.starts_with("tests") || path.starts_with("fuzz") || path.ends_with("tests.rs");
        let is_test = is_test || path.components().any(|part| part.as_os_str() == "tests");
        if !of_source || is_test || THEIRS.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        looked += 1;
        if let Some((line, name)) = named(&text, &names) {
            panic!("{}:{line} names {name}", path.display());
        }
    }
    assert!(looked > 300, "{looked} sources");
}

#[test]
fn the_checker_finds_a_game() {
    let names = names();
    let found = |text: &str| named(text, &names).map(|(line, _)| line);
    let game = latest_games()[0].name();
    assert_eq!(found(&format!("fn f() {{\n    g(\"{game}\");\n}}")), Some(2));
    assert_eq!(found(&format!("use crate::{}::x;", game.replace('-', "_"))), Some(1));
    assert_eq!(found(&format!("// As in {}.", latest_games()[0].info().title)), Some(1));
    assert_eq!(found(&format!("fn f() {{}}\n\n#[cfg(test)]\nmod tests {{\n    // {game}\n}}")), None);
    assert_eq!(found(&format!("let x = \"un{game}ly\";")), None);
}
