use crate::common::{FILE, Naive, bewitched};
use motherlode_slots::contract::info::{PrizeInfo, SymbolRole};
use motherlode_slots::games::bewitched::model::Model;
use motherlode_slots::games::bewitched::par;
use motherlode_slots::parts::file::{self, ModelError};
use proptest::prelude::*;

fn compile(text: &str) -> Result<Model, ModelError> {
    let model = Model::new(&file::parse(text)?)?;
    par::prove(&model)?;
    Ok(model)
}

fn refusal(from: &str, to: &str) -> ModelError {
    assert!(FILE.contains(from), "the file has no `{from}`");
    compile(&FILE.replacen(from, to, 1)).unwrap_err()
}

fn part_of(from: &str, to: &str) -> &'static str {
    match refusal(from, to) {
        ModelError::Part { part, .. } => part,
        other => panic!("{other}"),
    }
}

#[test]
fn a_fault_is_refused_with_its_part() {
    let too_many_lines = vec!["\"11111\""; 65].join(", ");
    for (part, from, to) in [
        ("symbols", "code = \"Re\"", "code = \"Gr\""),
        ("symbols", "role = \"wild\"", "role = \"regular\""),
        ("symbols", "role = \"bonus\"", "role = \"bonus\"\nfree_spins = [1]"),
        ("symbols", "[0, 0, 8, 12, 20]", "[0, 0, 8, 12, 20, 9]"),
        ("lines", "[0, 0, 60, 300, 2500]", "[0, 0, 60, 30, 2500]"),
        ("lines", "[0, 0, 60, 300, 2500]", "[0, 0, 0, 300, 2500]"),
        ("lines", "[0, 0, 60, 300, 2500]", "[0, 0, 60, 300, 1000001]"),
        ("symbols", "[0, 1, 3, 15, 100]", "[0, 1, 3, 15, 1000001]"),
        ("free_spins", "multiplier = 2", "multiplier = 101"),
        ("stake", "coins_per_line = [1, 10]", "coins_per_line = [1, 1001]"),
        ("lines", "\"11111\"", "\"11311\""),
        ("lines", "\"11111\"", "\"1111\""),
        ("lines", "\"11111\"", "\"11a11\""),
        ("lines", "\"11111\"", &too_many_lines),
        ("reels", " Sc ", " Xx "),
        ("reels", " Sc ", " Sc Sc "),
        ("reels", "strips = [", "strips = [\n  \"Re Gr Bl Wi\","),
        ("stake", "lines = [1, 15]", "lines = [1, 16]"),
        ("stake", "lines = [1, 15]", "lines = [0, 15]"),
        ("stake", "\"0.01\", \"0.02\"", "\"0.02\", \"0.01\""),
        ("stake", "\"0.01\"", "\"0.0000001\""),
        ("stake", "\"0.01\"", "\"-1\""),
        ("rtp", "\"0.9410\"", "\"94 %\""),
        ("jackpot", "odds = 400_000", "odds = 0"),
        ("bonus", "vials = 6", "vials = 2"),
        ("wheel", "{ multiple = 30,", "{ multiple = 31,"),
        ("wheel", "{ multiple = 30,", "{ multiple = 30, free_spins = 30,"),
        ("wheel", "{ multiple = 30,", "{"),
        ("wheel", "jackpot_per_coin = ", "jackpot_per_coin = 10"),
        ("free_spins", "[0, 0, 8, 12, 20]", "[0, 0, 800, 12, 20]"),
    ] {
        assert_eq!(part_of(from, to), part, "{from} -> {to}");
    }
}

#[test]
fn unknown_and_missing_fields_do_not_parse() {
    for (from, to) in
        [("vials = 6", "vials = 6\nfree = 1"), ("vials = 6", ""), ("vials = 6", "vials = 600"), ("[bonus]", "[bonus")]
    {
        assert!(matches!(refusal(from, to), ModelError::Parse(_)), "{from} -> {to}");
    }
}

#[test]
fn bw_rtp_a_file_that_breaks_its_promise_does_not_load() {
    assert!(matches!(refusal("rtp = \"0.9410\"", "rtp = \"0.941001\""), ModelError::Return { .. }));
    assert!(matches!(refusal("[0, 0, 60, 300, 2500]", "[0, 0, 60, 300, 2501]"), ModelError::Return { .. }));
    let data: motherlode_slots::games::bewitched::data::GameData = file::parse(FILE).unwrap();
    let weight = |w: u64| format!("weight = {} }},\n", grouped(w));
    let heaviest = data.wheel.prizes[0].weight;
    assert!(matches!(refusal(&weight(heaviest), &weight(heaviest + 1)), ModelError::Return { .. }));
    let per_coin = |n: u64| format!("jackpot_per_coin = {}\n", grouped(n));
    let now = data.wheel.jackpot_per_coin;
    assert!(matches!(refusal(&per_coin(now), &per_coin(now + 1)), ModelError::JackpotChance { .. }));
    assert!(matches!(refusal("odds = 400_000", "odds = 400_001"), ModelError::JackpotChance { .. }));
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|g| std::str::from_utf8(g).unwrap()).collect::<Vec<_>>().join("_")
}

#[test]
fn the_strips_hold_every_symbol_and_no_two_scatters_in_a_window() {
    let naive = Naive::read();
    for (reel, strip) in naive.strips.iter().enumerate() {
        assert!((0..naive.codes.len()).all(|symbol| strip.contains(&symbol)), "reel {reel}");
        for stop in 0..strip.len() {
            for role in ["scatter", "bonus"] {
                let shown = (0..3).filter(|&row| naive.roles[naive.cell(reel, stop, row)] == role);
                assert!(shown.count() <= 1);
            }
        }
    }
}

#[test]
fn pl_13_the_description_is_that_of_the_data_file() {
    let (info, naive) = (bewitched().info(), Naive::read());
    assert_eq!((info.title.as_str(), info.reels, info.rows), ("Bewitched", 5, 3));
    assert_eq!((info.picks_of, info.doubles_max, info.free_spin_multiplier, info.jackpot), (6, 5, 2, true));
    assert_eq!(info.symbols.len(), naive.codes.len());
    assert_eq!(info.symbols[0].role, SymbolRole::Wild);
    let lines: Vec<Vec<usize>> = info.lines.iter().map(|l| l.iter().map(|&r| usize::from(r)).collect()).collect();
    assert_eq!(lines, naive.lines);
    let micros = [10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000];
    assert_eq!(info.limits.coin_values_micros, micros);
    assert_eq!((info.limits.lines, info.limits.coins_per_line), ((1, 15), (1, 10)));
    let mut rows = 0;
    for (symbol, pays) in naive.pays.iter().enumerate() {
        for (count, &pays) in (1u8..).zip(pays).filter(|p| *p.1 > 0) {
            let row = info.paytable.iter().find(|r| usize::from(r.symbol) == symbol && r.count == count).unwrap();
            assert_eq!((row.pays, row.scatter), (pays, naive.roles[symbol] == "scatter"));
            rows += 1;
        }
    }
    assert_eq!(info.paytable.len(), rows + 3);
    assert_eq!(info.prizes[0], PrizeInfo::Jackpot);
    for prize in &info.prizes {
        match prize {
            PrizeInfo::Jackpot => {}
            PrizeInfo::Multiple(m) => assert!((15..=300).contains(m)),
            PrizeInfo::FreeSpins(n) => assert!((15..=60).contains(n)),
        }
    }
    assert!(info.rules_text.contains("15 to 300 times"));
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
