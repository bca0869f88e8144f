use super::*;
use motherlode_proto::round::v1::{SpinResult, Win};

fn game() -> &'static GameInfo {
    motherlode_slots::game("bewitched", "1.6").unwrap().info()
}

/// A window of Bewitched from its symbols' codes, row by row; see `code` in `series`.
fn spin(rows: [&str; 3]) -> SpinResult {
    let codes = ["Wi", "WB", "Me", "FW", "DW", "BC", "Ra", "SB", "RP", "GP", "BP", "PP"];
    let symbol = |code| u8::try_from(codes.iter().position(|known| *known == code).unwrap()).unwrap();
    let rows = rows.map(|row| row.split(' ').map(symbol).collect::<Vec<_>>());
    SpinResult {
        rows: 3,
        cells: (0..5).flat_map(|reel| rows.iter().map(move |row| row[reel])).collect(),
        multiplier: 1,
        ..SpinResult::default()
    }
}

const LOSS: [&str; 3] = ["BP RP Ra RP BP", "Ra BC BC PP Ra", "DW GP RP GP BC"];

#[test]
fn a_window_shows_its_winning_cells_lines_and_scatters() {
    let mut spin = spin(["WB GP Ra PP BP", "Wi Ra Ra WB BC", "RP GP WB BC DW"]);
    spin.wins = vec![Win { line: 1, symbol: 6, count: 3, coins: 20 }, Win { line: 0, symbol: 1, count: 3, coins: 45 }];
    spin.win_coins = 65;
    spin.free_spins_won = 8;
    let outcome_of = Outcome {
        spins: vec![spin],
        awaiting: Awaiting::FreeSpins.into(),
        free_spins_left: 8,
        round_win_coins: 65,
        ..Outcome::default()
    };
    let drawn = "
  ┌──────────────┬──────────────┬──────────────┬──────────────┬──────────────┐
  │  *Witches'   │ Green Potion │    Raven     │Purple Potion │ Blue Potion  │
  │    *Wild     │    *Raven    │    *Raven    │  *Witches'   │  Black Cat   │
  │  Red Potion  │ Green Potion │  *Witches'   │  Black Cat   │  Dark Witch  │
  └──────────────┴──────────────┴──────────────┴──────────────┴──────────────┘
  line  1   ─────   3 x Raven                 20 coins
  scatter           3 x Witches' Battle       45 coins   + 8 free spins
  The round has 65 coins so far and waits for the start of 8 free spins.
";
    assert_eq!(format!("\n{}", outcome(game(), &outcome_of, false)), drawn);
}

#[test]
fn bw_24_the_double_shows_card_guess_and_strip() {
    let outcome_of = Outcome {
        card: Some(CardTurn { guess: Card::BlackSpade.into(), drawn: Card::RedHeart.into(), won: false }),
        double_strip: vec![Card::RedHeart.into(), Card::BlackSpade.into()],
        awaiting: Awaiting::Nothing.into(),
        ..Outcome::default()
    };
    let drawn = "
  ╭─────╮
  │♥    │  The card is the red heart.
  │  ♥  │  The guess was the black spade: wrong.
  │    ♥│  Cards so far, the latest first: ♥ ♠
  ╰─────╯
  No win.
";
    assert_eq!(format!("\n{}", outcome(game(), &outcome_of, false)), drawn);
}

#[test]
fn free_spins_stand_beside_each_other_with_their_sum() {
    let free = |mut spin: SpinResult, win: Option<Win>| {
        spin.free = true;
        spin.multiplier = 2;
        spin.win_coins = win.map_or(0, |win| win.coins);
        spin.wins = win.into_iter().collect();
        spin
    };
    let wins = free(
        spin(["BP RP Ra RP BP", "Wi BC BC BC Ra", "DW GP RP GP BC"]),
        Some(Win { line: 1, symbol: 5, count: 4, coins: 1_200 }),
    );
    let mut last = free(spin(["Me RP Ra RP BP", "Ra Me BC PP Ra", "DW GP Me GP BC"]), None);
    last.bonus = true;
    let spins = vec![free(spin(LOSS), None), wins, free(spin(LOSS), None), free(spin(LOSS), None), last];
    let outcome_of = Outcome {
        spins,
        awaiting: Awaiting::Vials.into(),
        free_spins_left: 3,
        round_win_coins: 1_265,
        ..Outcome::default()
    };
    let drawn = "
  Free spins, line wins times 2

  #1           ·     #2      +1,200     #3           ·     #4           ·
  bp rp ra rp bp     bp rp ra rp bp     bp rp ra rp bp     bp rp ra rp bp
  ra bc bc pp ra     WI BC BC BC ra     ra bc bc pp ra     ra bc bc pp ra
  dw gp rp gp bc     dw gp rp gp bc     dw gp rp gp bc     dw gp rp gp bc

  #5           ·
  ME rp ra rp bp
  ra ME bc pp ra
  dw gp ME gp bc
  bonus round

  wi Wild  me Merlin  dw Dark Witch  bc Black Cat  ra Raven  rp Red Potion
  gp Green Potion  bp Blue Potion  pp Purple Potion
  5 free spins won 1,200 coins; 3 still to play.
  Merlin starts the bonus round.
  The round has 1,265 coins so far and waits for three vials.
";
    assert_eq!(format!("\n{}", outcome(game(), &outcome_of, false)), drawn);
}

#[test]
fn a_long_series_is_abbreviated_and_nothing_of_it_is_lost_from_the_sum() {
    let mut spins = vec![SpinResult { free: true, multiplier: 2, ..spin(LOSS) }; 40];
    for (at, coins) in [(3, 10), (20, 50), (30, 70)] {
        spins[at].win_coins = coins;
    }
    spins[20].free_spins_won = 8;
    let outcome_of = Outcome { spins, awaiting: Awaiting::Nothing.into(), ..Outcome::default() };
    let drawn = outcome(game(), &outcome_of, false);
    assert!(drawn.contains("#40") && !drawn.contains("#8 "), "{drawn}");
    assert!(drawn.contains("\n  32 spins not shown: 120 coins, 8 free spins, the best #31 with 70 coins\n"), "{drawn}");
    assert!(drawn.contains("\n  40 free spins won 130 coins and 8 more free spins.\n"), "{drawn}");
}

#[test]
fn prizes_are_told_apart() {
    let drawn = |kind, coins| {
        let prize = Some(Prize { kind: Some(kind), coins });
        outcome(game(), &Outcome { prize, awaiting: Awaiting::Nothing.into(), ..Outcome::default() }, false)
    };
    assert!(drawn(prize::Kind::Multiple(25), 375).starts_with("  The vials give 25 times the total bet: 375 coins\n"));
    assert!(drawn(prize::Kind::FreeSpins(15), 0).starts_with("  The vials give 15 free spins\n"));
    assert!(drawn(prize::Kind::Jackpot(true), 0).contains("J A C K P O T"));
}

/// Every line fits into 80 columns, and colour adds nothing but colour.
#[test]
fn with_colour_the_same_is_drawn_but_for_the_marks() {
    let mut window = spin(["WB GP Ra PP BP", "Wi Ra Ra WB BC", "RP GP WB BC DW"]);
    window.wins = vec![Win { line: 15, symbol: 6, count: 5, coins: u64::MAX }];
    let outcome_of = Outcome { spins: vec![window], round_win_coins: 1, ..Outcome::default() };
    let colour = outcome(game(), &outcome_of, true);
    assert!(colour.contains("\x1b[1;7;"), "{colour:?}");
    let plain = outcome(game(), &outcome_of, false).replace('*', "");
    let words = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(words(&without_escapes(&colour)), words(&plain));
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// What a newer service might say, or a damaged log: drawn as far as it makes sense.
#[test]
fn no_outcome_stops_the_drawing() {
    let odd = [
        SpinResult::default(),
        SpinResult { rows: 3, cells: vec![200; 7], bonus: true, ..SpinResult::default() },
        SpinResult { rows: u32::MAX, cells: vec![1; 15], free: true, ..SpinResult::default() },
        SpinResult { rows: 0, cells: vec![1], ..SpinResult::default() },
        SpinResult {
            rows: 3,
            cells: vec![0; 15],
            wins: vec![Win { line: 99, symbol: u32::MAX, count: u32::MAX, coins: u64::MAX }],
            win_coins: u64::MAX,
            ..SpinResult::default()
        },
    ];
    let outcome_of = Outcome {
        spins: odd.to_vec(),
        prize: Some(Prize::default()),
        card: Some(CardTurn { guess: 9, drawn: -1, won: true }),
        double_strip: vec![7],
        awaiting: 99,
        ..Outcome::default()
    };
    assert!(outcome(game(), &outcome_of, true).ends_with('\n'));
}

#[test]
fn choices_are_told_in_words() {
    let told = |kind| choice(&Choice { kind });
    let vials = choice::Kind::Vials(choice::Vials { numbers: vec![1, 4, 6] });
    assert_eq!(told(Some(vials)), "pours the vials 1, 4 and 6");
    assert_eq!(told(Some(choice::Kind::Double(Card::BlackSpade.into()))), "doubles on black spade");
    assert_eq!(told(None), "makes no choice");
}
