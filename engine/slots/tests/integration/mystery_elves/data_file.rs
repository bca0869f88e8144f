use motherlode_slots::games::mystery_elves::model::Model;
use motherlode_slots::parts::file::{self, ModelError};
use proptest::prelude::*;

use crate::mystery_elves::naive::{FILE, Naive, elves};

fn compile(text: &str) -> Result<Model, ModelError> {
    Model::new(&file::parse(text)?)
}

fn refusal(from: &str, to: &str) -> ModelError {
    assert!(FILE.contains(from), "the file has no `{from}`");
    compile(&FILE.replacen(from, to, 1)).unwrap_err()
}

#[test]
fn a_fault_is_refused_with_its_part() {
    for (part, from, to) in [
        ("symbols", "role = \"bonus\"", "role = \"scatter\""),
        ("symbols", "role = \"wild\"", "role = \"regular\""),
        ("reels", " Ki ", " Xx "),
        ("lines", "\"11111\"", "\"11311\""),
        ("stake", "lines = [10, 10]", "lines = [10, 11]"),
        ("feature", "needs = 6", "needs = 0"),
        ("feature", "needs = 6", "needs = 15"),
        ("feature", "respins = 3", "respins = 0"),
        ("feature", "strip = \"Bo La Ow", "strip = \"La Ow\"\n# \"Bo"),
        ("mysteries", "bets = 1000", "bets = 10001"),
        ("mysteries", "weight = 600", "weight = 4294967295"),
        ("factors", "times = 5", "times = 1"),
        ("factors", "times = 2", "times = 3"),
        ("bonus", "values = [\n", "values = [ 1,\n"),
        ("buy", "bets = 70", "bets = 0"),
        ("buy", "bets = 70", "bets = 1001"),
        ("buy", "needs = 6", "needs = 7"),
        ("rtp", "rtp = \"0.9501\"", "rtp = \"95 %\""),
    ] {
        match refusal(from, to) {
            ModelError::Part { part: found, .. } => assert_eq!(found, part, "{from} -> {to}"),
            other => panic!("{from} -> {to}: {other}"),
        }
    }
    assert!(matches!(refusal("respins = 3", "respins = 3\nfree = 1"), ModelError::Parse(_)));
}

#[test]
fn pl_13_the_description_is_that_of_the_data_file() {
    let (info, naive) = (elves().info(), Naive::read());
    let table: toml::Table = FILE.parse().unwrap();
    assert_eq!((elves().name(), elves().rules_version()), ("mystery-elves", "1.0"));
    assert_eq!((elves().rules_date(), table["rules_date"].as_str().unwrap()), ("2025-09-11", "2025-09-11"));
    assert_eq!((info.title.as_str(), info.jackpot, info.ways, info.picks_of), ("Mystery Elves", false, false, 0));
    for (symbol, pays) in naive.pays.iter().enumerate() {
        for (count, &pays) in (1u8..).zip(pays).filter(|pays| *pays.1 > 0) {
            let row = info.paytable.iter().find(|r| usize::from(r.symbol) == symbol && r.count == count).unwrap();
            assert_eq!((row.pays, row.bonus), (pays, false));
        }
    }
    let bonus: Vec<u8> = info.paytable.iter().filter(|row| row.bonus).map(|row| row.count).collect();
    assert_eq!(bonus, (6..=15).rev().collect::<Vec<u8>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_file_is_an_error(place in 0usize..FILE.len(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = FILE.as_bytes().to_vec();
        if cut {
            bytes.truncate(place);
        } else {
            bytes[place] = byte;
        }
        if let Ok(text) = String::from_utf8(bytes) {
            let _ = compile(&text);
        }
    }
}
