use super::*;
use motherlode_proto::round::v1::{PickOffer, Win};

mod games;

fn game() -> &'static GameInfo {
    motherlode_slots::game("bewitched", "1.6").unwrap().info()
}

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

fn line_win(line: u32, symbol: u32, count: u32, coins: u64) -> Win {
    Win { line, symbol, count, coins, ways: 0 }
}

fn drawn(outcome_of: &Outcome, colour: bool) -> String {
    outcome(game(), outcome_of, Currency::EUR, colour)
}

const LOSS: [&str; 3] = ["BP RP Ra RP BP", "Ra BC BC PP Ra", "DW GP RP GP BC"];

#[test]
fn a_window_fits_a_narrow_terminal_with_its_symbols_letters() {
    let outcome_of = Outcome { spins: vec![spin(LOSS)], ..Outcome::default() };
    for (columns, shown) in [(80, "Black Cat"), (60, "Raven"), (40, "Raven"), (23, "Ca ")] {
        let drawn = outcome_in_columns(game(), &outcome_of, Currency::EUR, false, columns);
        let window: Vec<_> = drawn.lines().filter(|line| line.contains(['│', '┌', '└'])).collect();
        assert!(window.len() == 5 && window.iter().all(|line| line.chars().count() <= columns), "{columns}: {drawn}");
        assert!(drawn.contains(shown), "{columns}: {drawn}");
    }
}

#[test]
fn text_is_wrapped_at_spaces_and_keeps_its_colours() {
    let text = "  Half of the \x1b[1;31mwin is credited\x1b[0m: 1.50 EUR.\n  Yes? ";
    assert_eq!(wrapped(text, 24), "  Half of the \x1b[1;31mwin is\n    credited\x1b[0m: 1.50 EUR.\n  Yes? ");
    let (long, drawing) = ("x".repeat(30), "  │ Raven │ Raven │ Raven │\n");
    assert_eq!((wrapped(&long, 24), wrapped(drawing, 24)), (long, drawing.to_owned()));
}

#[test]
fn a_window_shows_its_winning_cells_lines_and_scatters() {
    let mut spin = spin(["WB GP Ra PP BP", "Wi Ra Ra WB BC", "RP GP WB BC DW"]);
    spin.wins = vec![line_win(1, 6, 3, 20), line_win(0, 1, 3, 45)];
    (spin.win_coins, spin.win_minor) = (65, 65);
    spin.free_spins_won = 8;
    let outcome_of = Outcome {
        spins: vec![spin],
        awaiting: Awaiting::FreeSpins.into(),
        free_spins_left: 8,
        round_win_coins: 65,
        round_win_minor: 65,
        ..Outcome::default()
    };
    let picture = "
  ┌──────────────┬──────────────┬──────────────┬──────────────┬──────────────┐
  │   *Battle    │ Green Potion │    Raven     │Purple Potion │ Blue Potion  │
  │    *Wild     │    *Raven    │    *Raven    │   *Battle    │  Black Cat   │
  │  Red Potion  │ Green Potion │   *Battle    │  Black Cat   │  Dark Witch  │
  └──────────────┴──────────────┴──────────────┴──────────────┴──────────────┘
  line  1   ─────   3 x Raven                 20 coins
  scatter           3 x Witches' Battle       45 coins   + 8 free spins
  in all 65 coins, 0.65 EUR
  The round has won 65 coins, 0.65 EUR and waits for the start of 8 free spins.
";
    assert_eq!(format!("\n{}", drawn(&outcome_of, false)), picture);
}

#[test]
fn bw_24_the_double_shows_card_guess_and_strip() {
    let outcome_of = Outcome {
        card: Some(CardTurn {
            guess: Card::BlackSpade.into(),
            drawn: Card::RedHeart.into(),
            won: false,
            risked_minor: 1_250,
            won_minor: 0,
        }),
        double_strip: vec![Card::RedHeart.into(), Card::BlackSpade.into()],
        awaiting: Awaiting::Nothing.into(),
        ..Outcome::default()
    };
    let picture = "
  ╭─────╮
  │♥    │  The card is the red heart, the guess was the black spade: wrong.
  │  ♥  │  12.50 EUR becomes 0.00 EUR.
  │    ♥│  Cards, the latest first: ♥ ♠
  ╰─────╯
  No win.
";
    assert_eq!(format!("\n{}", drawn(&outcome_of, false)), picture);
}

#[test]
fn free_spins_stand_beside_each_other_with_their_sum() {
    let free = |mut spin: SpinResult, win: Option<Win>| {
        spin.kind = SpinKind::Free.into();
        spin.multiplier = 2;
        spin.win_coins = win.map_or(0, |win| win.coins);
        spin.win_minor = spin.win_coins / 2;
        spin.stops = vec![4, 17, 102, 0, 88];
        spin.wins = win.into_iter().collect();
        spin
    };
    let wins = free(spin(["BP RP Ra RP BP", "Wi BC BC BC Ra", "DW GP RP GP BC"]), Some(line_win(1, 5, 4, 1_200)));
    let mut last = free(spin(["Me RP Ra RP BP", "Ra Me BC PP Ra", "DW GP Me GP BC"]), None);
    last.bonus = true;
    let spins = vec![free(spin(LOSS), None), wins, free(spin(LOSS), None), free(spin(LOSS), None), last];
    let outcome_of = Outcome {
        spins,
        awaiting: Awaiting::Pick.into(),
        pick: Some(PickOffer { needs: 3, of: 6 }),
        free_spins_left: 3,
        round_win_coins: 1_265,
        round_win_minor: 633,
        ..Outcome::default()
    };
    let picture = "
  Free spins, line wins multiplied by 2

  #1           ·     #2      +1,200     #3           ·     #4           ·
  bl re ra re bl     bl re ra re bl     bl re ra re bl     bl re ra re bl
  ra ca ca pu ra     WI CA CA CA ra     ra ca ca pu ra     ra ca ca pu ra
  dw gr re gr ca     dw gr re gr ca     dw gr re gr ca     dw gr re gr ca
  4 17 102 0 88      4 17 102 0 88      4 17 102 0 88      4 17 102 0 88

  #2
  line  1   ─────   4 x Black Cat          1,200 coins
  in all 1,200 coins, 6.00 EUR, line wins multiplied by 2

  #5           ·
  ME re ra re bl
  ra ME ca pu ra
  dw gr ME gr ca
  4 17 102 0 88
  bonus round

  #5
  The bonus round starts.

  wi Wild  me Merlin  dw Dark Witch  ca Black Cat  ra Raven  re Red Potion
  gr Green Potion  bl Blue Potion  pu Purple Potion
  5 free spins won 1,200 coins; 3 are still to be played.
  The round has won 1,265 coins, 6.33 EUR and waits for a pick of 3 out of 6.
  Remaining: 3 free spins.
";
    assert_eq!(format!("\n{}", drawn(&outcome_of, false)), picture);
}

#[test]
fn pl_19_a_long_series_is_shown_whole() {
    let mut spins = vec![SpinResult { kind: SpinKind::Free.into(), multiplier: 2, ..spin(LOSS) }; 40];
    for (at, coins) in [(3, 10), (20, 50), (30, 70)] {
        spins[at].win_coins = coins;
    }
    spins[20].free_spins_won = 8;
    let outcome_of = Outcome { spins, awaiting: Awaiting::Nothing.into(), ..Outcome::default() };
    let drawn = drawn(&outcome_of, false);
    for number in 1..=40 {
        assert!(drawn.contains(&format!("  #{number} ")), "{number}: {drawn}");
    }
    for won in ["#4         +10", "#21        +50", "#31        +70"] {
        assert!(drawn.contains(won), "{won}: {drawn}");
    }
    assert!(drawn.contains("\n  40 free spins won 130 coins and 8 more free spins.\n"), "{drawn}");
}

#[test]
fn prizes_are_told_apart() {
    let given = |kind, coins| {
        let prize = Some(Prize { kind: Some(kind), coins });
        drawn(&Outcome { prize, awaiting: Awaiting::Nothing.into(), ..Outcome::default() }, false)
    };
    assert!(given(prize::Kind::Multiple(25), 375).starts_with("  The bonus gives 25 times the total bet: 375 coins\n"));
    assert!(given(prize::Kind::FreeSpins(15), 0).starts_with("  The bonus gives 15 free spins\n"));
    assert!(given(prize::Kind::Jackpot(true), 0).contains("J A C K P O T"));
}

#[test]
fn with_colour_the_same_is_drawn_but_for_the_marks() {
    let mut window = spin(["WB GP Ra PP BP", "Wi Ra Ra WB BC", "RP GP WB BC DW"]);
    window.wins = vec![line_win(15, 6, 5, u64::MAX)];
    let outcome_of = Outcome { spins: vec![window], round_win_coins: 1, ..Outcome::default() };
    let colour = drawn(&outcome_of, true);
    assert!(colour.contains("\x1b[1;7;"), "{colour:?}");
    let plain = drawn(&outcome_of, false).replace('*', "");
    let words = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(words(&without_escapes(&colour)), words(&plain));
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn no_outcome_stops_the_drawing() {
    let odd = [
        SpinResult::default(),
        SpinResult { rows: 3, cells: vec![200; 7], bonus: true, ..SpinResult::default() },
        SpinResult { rows: u32::MAX, cells: vec![1; 15], kind: SpinKind::Free.into(), ..SpinResult::default() },
        SpinResult { rows: 0, cells: vec![1], ..SpinResult::default() },
        SpinResult {
            rows: 3,
            cells: vec![0; 15],
            wins: vec![Win { line: 99, symbol: u32::MAX, count: u32::MAX, coins: u64::MAX, ways: 0 }],
            win_coins: u64::MAX,
            ..SpinResult::default()
        },
    ];
    let outcome_of = Outcome {
        spins: odd.to_vec(),
        prize: Some(Prize::default()),
        card: Some(CardTurn { guess: 9, drawn: -1, won: true, risked_minor: u64::MAX, won_minor: 1 }),
        double_strip: vec![7],
        awaiting: 99,
        ..Outcome::default()
    };
    assert!(drawn(&outcome_of, true).ends_with('\n'));
}

#[test]
fn choices_are_told_in_words() {
    let told = |kind| choice(Some(game()), &Choice { kind });
    let picks = Choice { kind: Some(choice::Kind::Pick(choice::Pick { numbers: vec![1, 4, 6] })) };
    assert_eq!(told(picks.kind.clone()), "combines the vials 1, 4 and 6");
    let neptune = motherlode_slots::latest("neptune").unwrap().info();
    assert_eq!(choice(Some(neptune), &picks), "opens the objects 1, 4 and 6");
    assert_eq!(choice(None, &picks), "picks 1, 4 and 6");
    assert_eq!(told(Some(choice::Kind::Double(Card::BlackSpade.into()))), "doubles on black spade");
    assert_eq!(told(None), "makes no choice");
}
