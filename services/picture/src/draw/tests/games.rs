use super::*;
use motherlode_proto::round::v1::{CarriedFigure, Mark, MarkKind, MeanCoinValue, Reveal, SpinKind};

fn info(game: &str) -> &'static GameInfo {
    motherlode_slots::latest(game).unwrap().info()
}

fn window(game: &GameInfo, kind: SpinKind, rows: &[&str]) -> SpinResult {
    let symbol = |word: &str| {
        let named = |name: &str| name.split(' ').next() == Some(word);
        u8::try_from(game.symbols.iter().position(|symbol| named(&symbol.name)).unwrap()).unwrap()
    };
    let rows: Vec<Vec<u8>> = rows.iter().map(|row| row.split(' ').map(symbol).collect()).collect();
    SpinResult {
        kind: kind.into(),
        rows: u32::try_from(rows.len()).unwrap(),
        cells: (0..rows[0].len()).flat_map(|reel| rows.iter().map(move |row| row[reel])).collect(),
        multiplier: 1,
        ..SpinResult::default()
    }
}

fn symbol(game: &GameInfo, name: &str) -> u32 {
    u32::try_from(game.symbols.iter().position(|symbol| symbol.name == name).unwrap()).unwrap()
}

fn mark(cell: u32, kind: MarkKind, value: u32) -> Mark {
    Mark { cell, kind: kind.into(), value, name: String::new() }
}

fn drawn_of(game: &GameInfo, spins: Vec<SpinResult>, rest: Outcome) -> String {
    format!("\n{}", outcome(game, &Outcome { spins, awaiting: Awaiting::Nothing.into(), ..rest }, Currency::EUR, false))
}

#[test]
fn dm_01_dm_03_dm_09_an_expanded_window_shows_its_ways_its_new_rows_and_crystals() {
    let game = info("dwarf-mine");
    let rows =
        ["Heart Axe Club Spade Axe", "Heart Axe Club Axe Axe", "Bonus Heart Heart Axe Axe", "Club Axe Axe Axe Axe"];
    let mut spin = window(game, SpinKind::Base, &[&rows[..], &["Club Green Axe Club Axe"]].concat());
    spin.ways = 3_125;
    let win = |ways| Win { symbol: symbol(game, "Heart"), count: 3, coins: 4, ways, line: 0 };
    spin.wins = vec![win(2)];
    spin.marks = vec![mark(9, MarkKind::Crystal, symbol(game, "Green Crystal"))];
    let picture = "
  5 rows, 3,125 ways
  ┌──────────────┬──────────────┬──────────────┬──────────────┬──────────────┐
  │    *Heart    │     Axe      │     Club     │    Spade     │     Axe      │
  │    *Heart    │     Axe      │     Club     │     Axe      │     Axe      │
  │    Bonus     │    *Heart    │    *Heart    │     Axe      │     Axe      │
  │     Club     │     Axe      │     Axe      │     Axe      │     Axe      │
  ├╌╌╌╌╌╌╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌╌╌╌╌╌┼╌╌╌╌╌╌╌╌╌╌╌╌╌╌┤
  │     Club     │Green Crystal │     Axe      │     Club     │     Axe      │
  └──────────────┴──────────────┴──────────────┴──────────────┴──────────────┘
  2 ways            3 x Heart                  4 coins
  collected: Green Crystal at reel 2, row 5
  The round wins 4 coins, 0.04 EUR.
";
    assert_eq!(
        drawn_of(game, vec![spin.clone()], Outcome { round_win_coins: 4, round_win_minor: 4, ..Outcome::default() }),
        picture
    );
    // DM-10: free spins won are shown separately from ways wins.
    spin.wins = vec![win(1), win(12)];
    spin.free_spins_won = 10;
    let drawn = drawn_of(game, vec![spin], Outcome::default());
    assert!(drawn.contains("\n  1 way             3 x Heart") && drawn.contains("\n  12 ways "), "{drawn}");
    assert_eq!(drawn.matches("+ 10 free spins\n").count(), 1, "{drawn}");
}

#[test]
fn dm_11_dm_12_collection_free_spins_name_their_super_high_symbol_and_the_shelf_shows_crystals() {
    let game = info("dwarf-mine");
    let mut spin = window(game, SpinKind::Collection, &["Ruby Axe Club Spade Axe"; 7]);
    spin.ways = 16_807;
    spin.collection_symbol = symbol(game, "Ruby Dwarf");
    let mean = Some(MeanCoinValue { sum: "0.4".to_owned(), count: 3, value: "0.133333".to_owned() });
    let drawn = drawn_of(game, vec![spin; 5], Outcome { mean_coin_value: mean, ..Outcome::default() });
    let stated = "\n  Played at the mean coin value 0.133333 EUR: total 0.4 EUR divided by 3 crystals\n";
    assert!(drawn.contains(stated), "{drawn}");
    let title = "\n  Collection free spins, 7 rows, 16,807 ways, with the Ruby Dwarf\n";
    assert!(drawn.starts_with(title), "{drawn}");
    assert!(drawn.contains("\n  5 collection free spins won 0 coins.\n"), "{drawn}");

    let figure = |key: &str| match key {
        "red" => 3,
        "green" => 1,
        "red_micros" => 400_000,
        _ => 0,
    };
    let shelf = shelf(game, &figure, false);
    assert_eq!(shelf, "  Crystals   Green ●○○○○   Yellow ○○○○○   Blue ○○○○○   Red ●●●○○\n");
    let figures = [("red", 3), ("green", 1), ("red_micros", 400_000), ("red_gifted", 3), ("given", 1)];
    let figures = figures.map(|(key, value)| CarriedFigure { key: key.to_owned(), value });
    let told = changes(game, &figures, "EUR");
    let wanted = "3 Red Crystals; 1 Green Crystal; sum of the coin values at which the Red Crystals were collected: 0.4 EUR; \
                  number of Red Crystals from the new player's gift: 3; the new player's gift of crystals: received";
    assert_eq!(told, wanted);
}

#[test]
fn me_05_me_08_me_12_hold_and_win_shows_what_is_held_what_acts_and_the_full_screen() {
    let game = info("mystery-elves");
    let board = |marks: Vec<Mark>, multiplier| SpinResult {
        marks,
        multiplier,
        ..window(game, SpinKind::HoldAndWin, &["Lantern Lantern Lantern Lantern Lantern"; 3])
    };
    let value = |cell, value| mark(cell, MarkKind::Bonus, value);
    let held = vec![value(0, 18), mark(4, MarkKind::Mystery, 0), mark(7, MarkKind::Multiplier, 0)];
    let more = [held.clone(), vec![value(14, 2)]].concat();
    let grand = Mark { name: "GRAND".to_owned(), ..mark(4, MarkKind::Mystery, 1_000) };
    let acted = vec![value(0, 18), grand, mark(7, MarkKind::Multiplier, 2), value(14, 2)];
    let turned = vec![value(0, 18), value(4, 5), value(7, 1), value(14, 2)];
    let spins = vec![
        board(held.clone(), 1),
        board(held, 1),
        board(more.clone(), 1),
        board(more, 1),
        board(acted, 1),
        board(turned, 2),
    ];
    let prize = Some(Prize { kind: Some(prize::Kind::Multiple(4_092)), coins: 40_920 });
    let picture = "
  Hold and Win

  #1   3 held                #2   3 held
    18x   la   la   la   la    18x   la   la   la   la
     la    ?   ×?   la   la     la    ?   ×?   la   la
     la   la   la   la   la     la   la   la   la   la

  #3   4 held, 1 new         #4   4 held
    18x   la   la   la   la    18x   la   la   la   la
     la    ?   ×?   la   la     la    ?   ×?   la   la
     la   la   la   la  *2x     la   la   la   la   2x

  functions act              turned into values
    18x   la   la   la   la    18x   la   la   la   la
     la*1000  *×2   la   la     la  *5x  *1x   la   la
     la   la   la   la   2x     la   la   la   la   2x

  4 respins; 4 Bonus symbols held at the end.
  A Mystery Bonus reveals GRAND: 1,000 total bets.
  A Multiplying Bonus multiplies every other Bonus by 2.
  Then each Mystery and Multiplying Bonus gets a random value, added to the win.
  All 15 positions hold a Bonus symbol: the win is multiplied by 2!
  Hold and Win gives 4,092 times the total bet: 40,920 coins
  The round wins 40,920 coins, 409.20 EUR.
";
    let rest = Outcome { prize, round_win_coins: 40_920, round_win_minor: 40_920, ..Outcome::default() };
    assert_eq!(drawn_of(game, spins, rest), picture);
}

#[test]
fn me_04_a_paid_spin_shows_what_its_bonus_symbols_carry() {
    let game = info("mystery-elves");
    let mut spin = window(game, SpinKind::Base, &["Bonus Wild Bonus Bonus Lantern"; 3]);
    spin.marks = vec![mark(0, MarkKind::Bonus, 18), mark(6, MarkKind::Multiplier, 0), mark(9, MarkKind::Mystery, 0)];
    let drawn = drawn_of(game, vec![spin], Outcome::default());
    assert!(drawn.contains("│  Bonus 18x   │     Wild     │   Bonus ×?   │   Bonus ?    │"), "{drawn}");
}

#[test]
fn me_16_half_secured_is_told_at_once_and_with_the_next_card() {
    let game = info("mystery-elves");
    let mut rest = Outcome { awaiting: Awaiting::Double.into(), round_win_coins: 418, ..Outcome::default() };
    rest.round_win_minor = 4_180;
    let halved = "  Half of the win is secured, half is at risk.\n  \
                  The round has won 418 coins, 41.80 EUR\n  and waits for the choice to guess, to secure half or to collect.\n";
    assert_eq!(outcome(game, &rest, Currency::EUR, false), halved);
    rest.card = Some(CardTurn {
        guess: Card::RedHeart.into(),
        drawn: Card::Joker.into(),
        won: true,
        risked_minor: 2_090,
        won_minor: 4_180,
    });
    rest.double_strip = vec![Card::Joker.into()];
    rest.round_win_minor = 6_270;
    let drawn = outcome(game, &rest, Currency::EUR, false);
    assert!(drawn.contains("  │  ★  │  20.90 EUR becomes 41.80 EUR. 20.90 EUR is secured.\n"), "{drawn}");
    assert!(drawn.contains("│★    │  The card is the joker, the guess was the red heart: right.\n"), "{drawn}");
}

#[test]
fn np_10_np_12_opened_treasures_stand_below_their_numbers_in_the_order_picked() {
    let reveal = |number, coins| Reveal { number, coins };
    let reveals = vec![reveal(12, 1_250), reveal(3, 20), reveal(7, 5)];
    let unopened = vec![reveal(1, 80), reveal(2, 2_500)];
    let picture = "
  ╭─────────┬─────────┬─────────╮
  │ no. 12  │  no. 3  │  no. 7  │
  │  1,250  │   20    │    5    │
  ╰─────────┴─────────┴─────────╯
  The opened objects hold 1,275 coins in total.
  Unopened objects:
  ╭─────────┬─────────╮
  │  no. 1  │  no. 2  │
  │   80    │  2,500  │
  ╰─────────┴─────────╯
  No win.
";
    assert_eq!(drawn_of(info("neptune"), vec![], Outcome { reveals, unopened, ..Outcome::default() }), picture);
}

const WITCHES: [&str; 4] =
    ["Cat Owl Book Ace Ten", "Jack Cat Owl King Ten", "Ten Ace Cat Owl Cat", "Owl Ten King Jack Ace"];

#[test]
fn wf_05_wf_10_potions_are_seen_landing_and_a_mega_wild_covers_its_square() {
    let game = info("witch-feature");
    let mut base = window(game, SpinKind::Base, &WITCHES);
    base.marks = vec![mark(5, MarkKind::Potion, symbol(game, "Red Potion"))];
    let mut respin =
        window(game, SpinKind::MegaWild, &["Cat Wild Wild Ace Ten", "Jack Wild Wild Wild Ten", WITCHES[2]]);
    respin.marks = vec![mark(3, MarkKind::PlacedWild, 2)];
    let picture = "
  ┌──────────────┬──────────────┬──────────────┬──────────────┬──────────────┐
  │     Cat      │     Owl      │     Book     │     Ace      │     Ten      │
  │     Jack     │    Cat ◉     │     Owl      │     King     │     Ten      │
  │     Ten      │     Ace      │     Cat      │     Owl      │     Cat      │
  │     Owl      │     Ten      │     King     │     Jack     │     Ace      │
  └──────────────┴──────────────┴──────────────┴──────────────┴──────────────┘
  collected: Red Potion at reel 2, row 2; the symbols above it moved down
  Three Potions: Mega Wild Respin
  ┌──────────────┬──────────────┬──────────────┬──────────────┬──────────────┐
  │     Cat      │    ▣ Wild    │    ▣ Wild    │     Ace      │     Ten      │
  │     Jack     │    ▣ Wild    │    ▣ Wild    │     Wild     │     Ten      │
  │     Ten      │     Ace      │     Cat      │     Owl      │     Cat      │
  └──────────────┴──────────────┴──────────────┴──────────────┴──────────────┘
  placed: a Wild of 2 x 2 from reel 2, row 1
  No win.
";
    assert_eq!(drawn_of(game, vec![base, respin], Outcome::default()), picture);
}

#[test]
fn wf_06_wf_11_the_shelf_shows_potions_and_unlocked_features() {
    let game = info("witch-feature");
    let carried = |figures: [i64; 3]| {
        let figure = move |key: &str| match key {
            "potion_1" => figures[0],
            "potion_2" => figures[1],
            "unlocked" => figures[2],
            _ => 0,
        };
        shelf(game, &figure, false)
    };
    assert_eq!(carried([3, 0, 1]), "  Potions    ◉ Green   ○   ○   unlocked: High Symbols\n");
    let all = "High Symbols, Random Wilds, Multiplier, Mega Wild";
    assert_eq!(carried([1, 2, 4]), format!("  Potions    ◉ Red   ◉ Blue   ○   unlocked: {all}\n"));
    assert_eq!(shelf(super::game(), &|_| 1, false), "");
    let figure = |key: &str, value| CarriedFigure { key: key.to_owned(), value };
    let told = changes(game, &[figure("potion_1", 3), figure("potion_2", 0), figure("unlocked", 2)], "EUR");
    assert_eq!(told, "potion slot 1: Green Potion; potion slot 2: empty; unlocked High Symbols, Random Wilds");
}

#[test]
fn wf_09_respins_until_a_win_stand_beside_each_other() {
    let game = info("witch-feature");
    let mut respins = vec![window(game, SpinKind::MultiplierRespin, &WITCHES); 3];
    for spin in &mut respins {
        spin.multiplier = 8;
    }
    respins[2].wins = vec![line_win(1, symbol(game, "Cat"), 3, 160)];
    respins[2].win_coins = 160;
    let spins = [vec![window(game, SpinKind::Base, &WITCHES)], respins].concat();
    let drawn = drawn_of(game, spins, Outcome::default());
    assert!(drawn.contains(
        "\n  Multiplier Respins, line wins multiplied by 8\n\n  #1           ·     #2           ·     #3        +160\n"
    ));
    assert!(drawn.contains("\n  3 multiplier respins won 160 coins.\n"), "{drawn}");
}

#[test]
fn wf_13_question_marks_are_seen_in_what_they_became() {
    let game = info("witch-feature");
    let mut spin = window(game, SpinKind::Explosion, &WITCHES);
    spin.marks = vec![mark(0, MarkKind::Question, symbol(game, "Cat"))];
    let drawn = drawn_of(game, vec![spin], Outcome::default());
    assert!(drawn.starts_with("\n  Explosion\n") && drawn.contains("│    ? Cat     │     Owl "), "{drawn}");
    assert_eq!(drawn.matches('?').count(), 1);
}

#[test]
fn wf_15_a_feature_in_free_spins_stands_after_its_spin_and_is_not_counted_as_one() {
    let game = info("witch-feature");
    let free = window(game, SpinKind::Free, &WITCHES);
    let mut mega = window(game, SpinKind::MegaWild, &WITCHES);
    (mega.multiplier, mega.win_coins) = (3, 90);
    let drawn = drawn_of(game, vec![free.clone(), mega, free], Outcome::default());
    assert!(drawn.contains("\n  #1           ·     └─         +90     #2           ·\n"), "{drawn}");
    assert!(drawn.contains("\n                     Mega Wild ×3\n"), "{drawn}");
    assert!(drawn.contains("\n  2 free spins won 90 coins.\n"), "{drawn}");
}

#[test]
fn wf_01_many_line_wins_are_folded_by_what_they_pay_and_none_is_lost() {
    let game = info("witch-feature");
    let mut spin = window(game, SpinKind::Base, &WITCHES);
    let (cat, owl) = (symbol(game, "Cat"), symbol(game, "Owl"));
    spin.wins =
        (1..=50).map(|line| if line == 7 { line_win(7, owl, 5, 900) } else { line_win(line, cat, 3, 20) }).collect();
    let drawn = drawn_of(game, vec![spin], Outcome::default());
    assert!(drawn.contains("\n  1 line of 900     5 x Owl                  900 coins\n    7\n"), "{drawn}");
    assert!(
        drawn.contains("\n  49 lines of 20    3 x Cat                  980 coins\n    1 2 3 4 5 6 8 9 "),
        "{drawn}"
    );
    assert!(drawn.contains(" 49 50\n"), "{drawn}");
    assert!(drawn.lines().count() < 20, "{drawn}");
}

#[test]
fn every_symbol_of_every_game_has_letters_of_its_own() {
    for game in motherlode_slots::games() {
        let all: Vec<u8> = (0..u8::try_from(game.info().symbols.len()).unwrap()).collect();
        let spin = SpinResult { rows: 1, cells: all.clone(), kind: SpinKind::Free.into(), ..SpinResult::default() };
        let drawn = drawn_of(game.info(), vec![spin], Outcome::default());
        let row = drawn.lines().skip_while(|line| !line.starts_with("  #1")).nth(1).unwrap();
        let codes: std::collections::BTreeSet<_> = row.split_whitespace().collect();
        assert_eq!(codes.len(), all.len(), "{}: {drawn}", game.name());
    }
}
