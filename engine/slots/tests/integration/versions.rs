use std::path::Path;

use motherlode_slots::{Game, game, games, latest, latest_games};
use sha2::{Digest, Sha256};

const GOLDEN: [&str; 2] =
    [include_str!("../../../../tests/golden/five-games.hex"), include_str!("../../../../tests/golden/one-machine.hex")];
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

fn file(game: &dyn Game) -> String {
    let path = format!("../golden/{}/{}.toml", game.name(), game.rules_version());
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
        assert_eq!(versions, [version.to_owned(), format!("{version}.1")], "{name}: versions are sorted, oldest first");
        let newest = latest(name).unwrap();
        assert!(!played(name, newest.rules_version()), "{name}");
        assert_eq!(newest.rules_date(), "2026-11-22", "{name}");
        assert_ne!(newest.model_hash(), game(name, version).unwrap().model_hash(), "{name}");
    }
    let latest: Vec<_> = latest_games().iter().map(|game| (game.name(), game.rules_version())).collect();
    assert_eq!(latest.len(), PLAYED.len());
    assert_eq!(latest, all.iter().copied().filter(|of| !played(of.0, of.1)).collect::<Vec<_>>());
}

fn says(new: Option<&toml::Value>, old: &toml::Value) -> bool {
    match (new, old) {
        (Some(toml::Value::Table(new)), toml::Value::Table(old)) => {
            old.iter().all(|(key, value)| says(new.get(key), value))
        }
        (Some(toml::Value::Array(new)), toml::Value::Array(old)) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| says(Some(new), old))
        }
        (new, old) => new == Some(old),
    }
}

#[test]
fn pl_01_the_revised_rules_are_played_on_the_same_tables() {
    for (name, version, _) in PLAYED {
        let (old, new) = (table(game(name, version).unwrap()), table(latest(name).unwrap()));
        for (part, was) in &old {
            let differs = ["rules_version", "rules_date", "rules", "stake"].contains(&part.as_str());
            assert!(differs || says(new.get(part), was), "{name}: {part}");
        }
    }
}

#[test]
fn np_11_the_highest_treasure_is_over_all_lines_of_a_spin() {
    use motherlode_slots::games::neptune::{model::Model, par::prove};
    use motherlode_slots::parts::file::{ModelError, parse};
    let text = file(latest("neptune").unwrap());
    let model = Model::new(&parse(&text).unwrap()).unwrap();
    prove(&model).unwrap();
    assert_eq!((model.treasures.picks_max(), model.objects.highest(), model.objects.max_coins()), (5, 500, 2_500));
    let double = text.replacen("\"Tu Pe Sh Do Sh Tr Oc Pe", "\"Tu Pe Sh Tr Sh Tr Oc Pe", 1);
    assert_ne!(double, text);
    let compile = |text: &str| Model::new(&parse(text)?).and_then(|model| prove(&model));
    let refused = |text: &str| compile(text).unwrap_err();
    assert!(matches!(refused(&double), ModelError::Part { part: "treasure", .. }), "{}", refused(&double));
    let old = double.replacen("max_coins_of = \"spin\"", "max_coins_of = \"line\"", 1);
    assert!(matches!(refused(&old), ModelError::Return { .. }), "{}", refused(&old));
}

#[test]
fn np_11_no_window_lets_two_lines_award_picks() {
    let table = table(latest("neptune").unwrap());
    let texts = |of: &toml::Value| {
        of.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let strips: Vec<Vec<String>> =
        texts(&table["reels"]["strips"]).iter().map(|strip| strip.split(' ').map(str::to_owned).collect()).collect();
    let lines = texts(&table["lines"]["rows"]);
    let mut awarding = 0;
    for first in 0..strips[0].len() {
        for second in 0..strips[1].len() {
            for third in 0..strips[2].len() {
                let stops = [first, second, third];
                let treasure = |line: &String, reel: usize| {
                    let row = usize::from(line.as_bytes()[reel] - b'0');
                    strips[reel][(stops[reel] + row) % strips[reel].len()] == "Tr"
                };
                let starts = lines.iter().filter(|line| (0..3).all(|reel| treasure(line, reel))).count();
                assert!(starts <= 1, "{stops:?}");
                awarding += starts;
            }
        }
    }
    assert!(awarding > 0);
}

#[test]
fn dm_14_the_gift_belongs_to_the_player_and_not_to_a_currency() {
    let [old, revised] = ["1.0", "1.0.1"].map(|version| game("dwarf-mine", version).unwrap());
    assert_eq!(revised.carries().shared, ["given"]);
    assert!(old.carries().shared.is_empty());
    assert_eq!(revised.carries().keys, old.carries().keys, "both versions carry the same figures");
}
