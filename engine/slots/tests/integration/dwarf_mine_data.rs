use crate::dwarf_mine::{FILE, Naive, dwarf_mine};
use motherlode_slots::games::dwarf_mine::data::GameData;
use motherlode_slots::games::dwarf_mine::model::Model;
use motherlode_slots::parts::file::{self, ModelError};
use proptest::prelude::*;

fn compile(text: &str) -> Result<Model, ModelError> {
    Model::new(&file::parse::<GameData>(text)?)
}

#[test]
fn a_fault_is_refused_with_its_part() {
    for (part, from, to) in [
        ("symbols", "code = \"Pi\"", "code = \"Ha\""),
        ("symbols", "code = \"Yc\"", "code = \"*\""),
        ("symbols", "role = \"collected\"", "role = \"bonus\""),
        ("symbols", "role = \"free-spins\"", "role = \"bonus\""),
        ("symbols", "[0, 10, 25, 75, 150]", "[0, 0, 25, 75, 150]"),
        ("symbols", "[0, 0, 8, 20, 60]", "[0, 1, 8, 20, 60]"),
        ("symbols", "[0, 0, 8, 20, 60]", "[0, 0, 0, 20, 60]"),
        ("symbols", "[0, 0, 8, 20, 60]", "[0, 0, 8, 20, 60, 70]"),
        ("symbols", "role = \"free-spins\"", "role = \"free-spins\"\nfree_spins = [1]"),
        ("symbols", "role = \"collected\"", "role = \"collected\"\npays = [0, 0, 1]"),
        ("ways", "[0, 10, 25, 75, 150]", "[1, 10, 25, 75, 150]"),
        ("ways", "[0, 0, 8, 20, 60]", "[0, 0, 8, 20, 10]"),
        ("ways", "[0, 0, 8, 20, 60]", "[0, 0, 8, 20, 1000001]"),
        ("stake", "lines = [1, 1]", "lines = [1, 2]"),
        ("stake", "coins_per_line = [25, 25]", "coins_per_line = [25, 50]"),
        ("stake", "coins_per_line = [25, 25]", "coins_per_line = [20, 20]"),
        ("stake", "\"0.004\", \"0.01\"", "\"0.01\", \"0.004\""),
        ("stake", "\"0.004\"", "\"0.0000004\""),
        ("free_spins", "spins = 10", "spins = 0"),
        ("free_spins", "spins = 10", "spins = 101"),
        ("free_spins", "spins = 5\n", "spins = 101\n"),
        ("collection", "gift = 3", "gift = 5"),
        ("collection", "needs = 5", "needs = 0"),
        ("rtp", "rtp = \"0.9680\"", "rtp = \"96.8 %\""),
        ("reels", "base = [", "base = [\n  \"Pi Ha Pi Ha Pi Ha\","),
        ("reels", "free = [", "free = [\n  \"Pi Ha Pi Ha Pi Ha *\","),
        ("reels", "base = [\n  \"", "base = [\n  \"Xx "),
        ("reels", " Bo ", " Bo Bo "),
        ("reels", " Bo ", " Bo Pi Pi Bo "),
        ("reels", "base = [\n  \"", "base = [\n  \"Gc "),
        ("reels", "base = [\n  \"", "base = [\n  \"Em "),
        ("reels", "base = [\n  \"", "base = [\n  \"* "),
        ("reels", "free = [\n  \"", "free = [\n  \"Bo "),
        ("reels", "free = [\n  \"", "free = [\n  \"Rc "),
        ("expansion", "{ code = \"Pi\", weight = 8_000_000 }", "{ code = \"Pi\", weight = 0 }"),
        ("expansion", "{ code = \"Pi\", weight = 8_000_000 }", "{ code = \"Ha\", weight = 8_000_000 }"),
        ("expansion", "{ code = \"Pi\", weight = 8_000_000 }", "{ code = \"Pi\", weight = 4_294_967_295 }"),
        ("expansion", "\ncrystal = ", "\ncrystal = 1_000_000_000 # "),
        ("expansion", "\ncrystal = ", "\ncrystal = 1_073_741_823 # "),
        ("expansion", "\ncrystal = ", "\ncrystal = 2_000_000_000 # "),
        ("expansion", "\ncrystal = ", "\ncrystal = 0 # "),
        ("reels", "{ code = \"Pi\", weight", "{ code = \"Bo\", weight"),
    ] {
        assert!(FILE.contains(from), "the file has no `{from}`");
        let refused = compile(&FILE.replacen(from, to, 1)).map(|_| ());
        match refused {
            Err(ModelError::Part { part: other, .. }) => assert_eq!(other, part, "{to}"),
            other if to.contains("1_000_000_000") => {
                assert_eq!(other, Ok(()), "four times this weight fits into 32 bits")
            }
            other => panic!("`{to}` gives {other:?}"),
        }
    }
}

#[test]
fn bonus_symbols_on_other_reels_and_none_on_their_own_are_refused() {
    let naive = Naive::read(FILE);
    let strip = |reel: usize| naive.base[reel].join(" ");
    let without =
        |strip: &[String], code: &str| strip.iter().filter(|of| *of != code).cloned().collect::<Vec<_>>().join(" ");
    for text in [
        FILE.replacen(&strip(1), &format!("{} Bo", strip(1)), 1),
        FILE.replacen(&strip(2), &without(&naive.base[2], "Bo"), 1),
        FILE.replacen(&naive.free[3].join(" "), &without(&naive.free[3], "*"), 1),
    ] {
        assert!(matches!(compile(&text), Err(ModelError::Part { part: "reels", .. })));
    }
}

#[test]
fn unknown_fields_are_refused() {
    let text = FILE.replacen("gift = 3", "gift = 3\ngifts = 3", 1);
    assert!(matches!(compile(&text), Err(ModelError::Parse(_))));
}

#[test]
fn pl_13_the_description_is_that_of_the_data_file() {
    let (info, naive) = (dwarf_mine().info(), Naive::read(FILE));
    assert_eq!(info.title, "Dwarf Mine");
    let mut rows = 0;
    for (code, pays) in &naive.pays {
        for (count, &pays) in (1u8..).zip(pays).filter(|(_, pays)| **pays > 0) {
            let of =
                |row: &&motherlode_slots::contract::info::PayRow| row.symbol == naive.index(code) && row.count == count;
            assert_eq!(info.paytable.iter().find(of).unwrap().pays, pays);
            rows += 1;
        }
    }
    let awards: Vec<_> = info.paytable.iter().filter(|row| row.free_spins > 0).collect();
    assert_eq!(info.paytable.len(), rows + 5);
    assert_eq!((awards[0].symbol, awards[0].count, awards[0].free_spins), (naive.index("Bo"), 3, 10));
    for (row, code) in awards[1..].iter().zip(["Gc", "Yc", "Bc", "Rc"]) {
        assert_eq!((row.symbol, row.count, row.free_spins), (naive.index(code), 5, 5));
    }
    let facts = dwarf_mine().facts();
    let facts: Vec<(&str, &str)> = facts.iter().map(|fact| (fact.key, fact.value.as_str())).collect();
    assert_eq!(info.collection_needs, 5);
    let expected = [("free_spins", "10"), ("collection_needs", "5"), ("collection_spins", "5"), ("gift_crystals", "3")];
    assert_eq!(facts, expected);
    assert!(!info.jackpot && info.doubles_max == 0 && info.buy_feature_bets.is_none());
    assert!(info.rules_text.contains("16,807 ways"));
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
