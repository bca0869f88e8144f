//! Rules versions (PL-01): what was played stays as it was, and the latest is what is played.

#![allow(clippy::unwrap_used)] // A test that can't go on fails.

use std::path::Path;

use motherlode_slots::{Game, game, games, latest, latest_games};
use sha2::{Digest, Sha256};

/// Logs that earlier programs wrote, in hexadecimal.
const GOLDEN: [&str; 2] =
    [include_str!("../../../tests/golden/five-games.hex"), include_str!("../../../tests/golden/one-machine.hex")];
/// The versions that those logs played, and the SHA-256 of their files.
const PLAYED: [(&str, &str, &str); 5] = [
    ("bewitched", "1.6", "b4566c70580f2c5de67dc71c5c5e05d37716bfc238f9ab35541d72386cc3efd1"),
    ("dwarf-mine", "1.0", "be147d1d580297f42b04afd3e8c64cec0eccb0fa82d35a5c0dfb2e9f6dc7e6d4"),
    ("mystery-elves", "1.0", "f849234379a8e766aecc61d92378cba7945801a1b4919a5e0a2ca168c6feeb94"),
    ("neptune", "1.0", "bea7b53d3beeaf42e7ad6724af29231f196931c7277878d0f6c0a29a74425cb4"),
    ("witch-feature", "1.0", "caa5c3a25f8cf9a7d75267e51ff83164266418e2db4a7512c5cd079341c252ee"),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The data file of a version, as it lies in the source.
fn file(game: &dyn Game) -> String {
    let path = format!("games/{}/{}.toml", game.name(), game.rules_version());
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn table(game: &dyn Game) -> toml::Table {
    file(game).parse().unwrap()
}

#[test]
fn pl_01_the_versions_that_golden_logs_played_are_those_very_files() {
    for (name, version, hash) in PLAYED {
        let old = game(name, version).unwrap();
        assert_eq!(hex(&old.model_hash()), hash, "{name} {version}");
        for golden in GOLDEN {
            assert!(golden.contains(hash), "{name} {version} is in every golden log");
        }
    }
}

#[test]
fn pl_01_a_version_is_its_file() {
    for game in games() {
        let (text, table) = (file(*game), table(*game));
        assert_eq!(game.model_hash(), <[u8; 32]>::from(Sha256::digest(&text)), "{}", game.name());
        let said = |key: &str| table[key].as_str().unwrap().to_owned();
        let expected = (game.name(), game.rules_version(), game.rules_date());
        assert_eq!((&*said("name"), &*said("rules_version"), &*said("rules_date")), expected);
    }
}

#[test]
fn pl_01_every_game_has_its_first_rules_and_the_revised_ones_and_plays_the_latest() {
    let all: Vec<_> = games().iter().map(|game| (game.name(), game.rules_version())).collect();
    let played = |name, of| PLAYED.iter().any(|&(game, version, _)| (game, version) == (name, of));
    for (name, version, _) in PLAYED {
        let versions: Vec<_> = all.iter().filter(|of| of.0 == name).map(|of| of.1).collect();
        assert_eq!(versions, [version.to_owned(), format!("{version}.1")], "{name}, the oldest first");
        let newest = latest(name).unwrap();
        assert!(!played(name, newest.rules_version()), "{name}");
        assert_eq!(newest.rules_date(), "2026-11-22", "{name}");
        assert_ne!(newest.model_hash(), game(name, version).unwrap().model_hash(), "{name}");
    }
    let latest: Vec<_> = latest_games().iter().map(|game| (game.name(), game.rules_version())).collect();
    assert_eq!(latest.len(), PLAYED.len());
    assert_eq!(latest, all.iter().copied().filter(|of| !played(of.0, of.1)).collect::<Vec<_>>());
}

/// Odds and prizes are the same in every version: so are the returns, but for what a test says on its own.
#[test]
fn pl_01_the_revised_rules_are_played_on_the_same_tables() {
    for (name, version, _) in PLAYED {
        let (old, new) = (table(game(name, version).unwrap()), table(latest(name).unwrap()));
        for (part, was) in &old {
            let differs = ["rules_version", "rules_date", "rules", "stake"].contains(&part.as_str());
            assert!(differs || new.get(part) == Some(was), "{name}: {part}");
        }
    }
}
