//! PL-19, PL-05: the drawing of a round's outcome shows all data of the outcome. The test destructures messages with
//! all fields, so a new field breaks the build until the test handles it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use motherlode_picture::draw;
use motherlode_proto::{
    convert::play::write_outcome,
    round::v1::{
        self as v1, Awaiting, CardTurn, Mark, MarkKind, Outcome, PickOffer, Prize, Reveal, SpinKind, SpinResult, Win,
        prize,
    },
};
use motherlode_slots::{self as slots, Card, Carried, Choice, Draws, Game, GameInfo, Stake, Terms, games};
use motherlode_state::Currency;
use prost::Message;
use std::collections::BTreeMap;

type Texts = BTreeMap<String, usize>;

fn add(texts: &mut Texts, text: impl Into<String>) {
    *texts.entry(text.into()).or_default() += 1;
}

fn digits(number: u64) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", digits(number / 1_000), number % 1_000) }
}

fn coins(number: u64) -> String {
    format!("{} coin{}", digits(number), if number == 1 { "" } else { "s" })
}

fn euros(minor: u64) -> String {
    format!("{}.{:02} EUR", digits(minor / 100), minor % 100)
}

fn name(game: &GameInfo, symbol: u32) -> &str {
    &game.symbols[symbol as usize].name
}

fn place(spin: &SpinResult, cell: u32) -> String {
    format!("reel {}, row {}", cell / spin.rows + 1, cell % spin.rows + 1)
}

fn wanted(game: &GameInfo, outcome: &Outcome) -> (Texts, Vec<String>) {
    let Outcome {
        spins,
        prize,
        card,
        jackpot,
        awaiting: _,
        free_spins_left,
        double_strip,
        round_win_coins,
        round_win_minor,
        pick,
        reveals,
        unopened,
        mean_coin_value,
        credited_minor,
    } = outcome;
    let (mut lines, mut texts) = (Texts::new(), vec![]);
    for spin in spins {
        of_window(game, spin, &mut lines, &mut texts);
    }
    if let Some(Prize { kind, coins: won }) = prize {
        texts.push(match kind.as_ref().unwrap() {
            prize::Kind::Multiple(multiple) => {
                format!("{} times the total bet: {}", digits((*multiple).into()), coins(*won))
            }
            prize::Kind::FreeSpins(spins) => format!("gives {spins} free spin"),
            prize::Kind::Jackpot(_) => "J A C K P O T".to_owned(),
        });
    }
    assert!(!*jackpot || matches!(prize, Some(Prize { kind: Some(prize::Kind::Jackpot(_)), .. })));
    let card_name = |card: i32| match v1::Card::try_from(card).unwrap() {
        v1::Card::RedHeart => ("red heart", '♥'),
        v1::Card::BlackSpade => ("black spade", '♠'),
        v1::Card::RedDiamond => ("red diamond", '♦'),
        v1::Card::BlackClub => ("black club", '♣'),
        v1::Card::Joker => ("joker", '★'),
        v1::Card::Unspecified => panic!("no card"),
    };
    if let Some(CardTurn { guess, drawn, won, risked_minor, won_minor }) = card {
        let verdict = if *won { "right" } else { "wrong" };
        let (drawn, guess) = (card_name(*drawn).0, card_name(*guess).0);
        texts.push(format!("The card is the {drawn}, the guess was the {guess}: {verdict}."));
        texts.push(format!("{} becomes {}.", euros(*risked_minor), euros(*won_minor)));
        let strip: Vec<_> = double_strip.iter().map(|card| card_name(*card).1.to_string()).collect();
        texts.push(format!("latest first: {}", strip.join(" ")));
    }
    for Reveal { number, coins } in reveals.iter().chain(unopened) {
        texts.extend([format!("no. {number} "), format!(" {} ", digits(*coins))]);
    }
    if let Some(v1::MeanCoinValue { sum, count, value }) = mean_coin_value {
        texts.push(format!("the mean coin value {value} EUR: total {sum} EUR divided by {count} crystal"));
    }
    if *credited_minor > 0 {
        texts.push(format!("Half of the win is credited: {}.", euros(*credited_minor)));
    }
    if let Some(PickOffer { needs, of }) = pick {
        texts.push(format!("a pick of {needs} out of {of}"));
    }
    if *free_spins_left > 0 {
        texts.push(format!("{free_spins_left} free spin"));
    }
    if *round_win_coins > 0 || *round_win_minor > 0 {
        texts.extend([coins(*round_win_coins), euros(*round_win_minor)]);
    }
    texts.push(match outcome.awaiting() {
        Awaiting::Nothing if *round_win_minor == 0 && *round_win_coins == 0 && !jackpot => "No win.".to_owned(),
        Awaiting::Nothing => "The round wins".to_owned(),
        Awaiting::Pick => "waits for a pick".to_owned(),
        Awaiting::FreeSpins => "waits for the start of".to_owned(),
        Awaiting::Feature => "waits for the start of the feature".to_owned(),
        Awaiting::Double => "waits for the choice to guess".to_owned(),
        Awaiting::Spin | Awaiting::Unspecified => panic!("no step leaves a round in this state"),
    });
    (lines, texts)
}

fn of_window(game: &GameInfo, spin: &SpinResult, lines: &mut Texts, texts: &mut Vec<String>) {
    let SpinResult {
        kind: _,
        stops,
        rows,
        cells,
        multiplier,
        wins,
        win_coins,
        free_spins_won,
        bonus,
        marks,
        win_minor,
        ways,
        collection_symbol,
    } = spin;
    let reels = cells.len() / *rows as usize;
    for row in 0..*rows as usize {
        let symbols = (0..reels).map(|reel| u32::from(cells[reel * *rows as usize + row]));
        add(lines, format!("row {}", symbols.map(|symbol| symbol.to_string()).collect::<Vec<_>>().join(" ")));
    }
    if !stops.is_empty() {
        let stops: Vec<_> = stops.iter().map(u32::to_string).collect();
        add(lines, format!("stops {}", stops.join(" ")));
    }
    for Win { line, symbol, count, coins, ways } in wins {
        let place = match (line, ways) {
            (0, 0) => "scatter".to_owned(),
            (0, ways) => format!("{ways} ways"),
            (line, _) => format!("line {line}"),
        };
        add(lines, format!("{place}: {count} x {} {coins}", name(game, *symbol)));
    }
    if *win_coins > 0 || *win_minor > 0 {
        let times = if *multiplier > 1 { format!(", line wins multiplied by {multiplier}") } else { String::new() };
        add(lines, format!("in all {}, {}{times}", coins(*win_coins), euros(*win_minor)));
    }
    if *multiplier > 1 {
        texts.push(format!("multiplied by {multiplier}"));
    }
    if *free_spins_won > 0 {
        texts.push(format!("+ {free_spins_won} free spin"));
    }
    if *bonus && spin.kind() != SpinKind::HoldAndWin {
        texts.push("The bonus round starts.".to_owned());
    }
    for Mark { cell, kind: _, value, name: special } in marks {
        let mark = spin.marks.iter().find(|mark| mark.cell == *cell && mark.value == *value).unwrap();
        match mark.kind() {
            MarkKind::Crystal => add(lines, format!("collected: {} at {}", name(game, *value), place(spin, *cell))),
            MarkKind::Potion => add(
                lines,
                format!("collected: {} at {}; the symbols above it moved down", name(game, *value), place(spin, *cell)),
            ),
            MarkKind::PlacedWild if *value > 1 => {
                add(lines, format!("placed: a Wild of {value} x {value} from {}", place(spin, *cell)));
            }
            MarkKind::PlacedWild => add(lines, format!("placed: a Wild at {}", place(spin, *cell))),
            MarkKind::Question => {
                let text = format!("placed: a Question mark at {} becomes {}", place(spin, *cell), name(game, *value));
                add(lines, text);
            }
            MarkKind::Bonus => texts.push(format!("{value}x")),
            MarkKind::Multiplier if *value == 0 => texts.push("×?".to_owned()),
            MarkKind::Multiplier => texts.push(format!("multiplies every other Bonus by {value}.")),
            MarkKind::Mystery if *value == 0 => texts.push("?".to_owned()),
            MarkKind::Mystery => {
                assert!(["MINI", "MINOR", "MAJOR", "GRAND"].contains(&special.as_str()), "ME-05: {special}");
                texts.push(format!("reveals {special}: {} total bets", digits((*value).into())));
            }
            MarkKind::Unspecified => panic!("a mark of no kind"),
        }
    }
    if *ways > 0 {
        texts.push(format!("{rows} rows, {} ways", digits(*ways)));
    }
    if spin.kind() == SpinKind::Collection {
        texts.push(format!("with the {}", name(game, *collection_symbol)));
    }
    texts.extend(
        match spin.kind() {
            SpinKind::Unspecified | SpinKind::Base => None,
            SpinKind::Free => Some("Free spin"),
            SpinKind::Collection => Some("Collection free spin"),
            SpinKind::HoldAndWin => Some("Hold and Win"),
            SpinKind::HighSymbols => Some("High Symbols Respin"),
            SpinKind::RandomWilds => Some("Random Wilds Respin"),
            SpinKind::MultiplierRespin => Some("Multiplier Respin"),
            SpinKind::MegaWild => Some("Mega Wild Respin"),
            SpinKind::Explosion => Some("Explosion"),
        }
        .map(str::to_owned),
    );
}

fn read(game: &GameInfo, drawing: &str) -> Texts {
    let mut texts = Texts::new();
    let mut lines = drawing.lines().peekable();
    while let Some(line) = lines.next() {
        let text = line.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        if text.starts_with('│') {
            frame(game, text, &mut texts);
        } else if let Some(stops) = text.strip_prefix("reels stopped at ") {
            add(&mut texts, format!("stops {stops}"));
        } else if ["in all ", "collected: ", "placed: "].iter().any(|texts| text.starts_with(texts)) {
            add(&mut texts, text);
        } else if let Some((place, what)) = win(&words) {
            match place {
                [_, "line" | "lines", "of", each] => {
                    while let Some(numbers) =
                        lines.next_if(|line| line.trim().split(' ').all(|of| of.parse::<u32>().is_ok()))
                    {
                        for line in numbers.split_whitespace() {
                            add(&mut texts, format!("line {line}: {} {each}", what.0));
                        }
                    }
                }
                ["line", number, ..] => add(&mut texts, format!("line {number}: {} {}", what.0, what.1)),
                [ways, "way" | "ways"] => add(
                    &mut texts,
                    format!("{}: {} {}", format_args!("{} ways", ways.replace(',', "")), what.0, what.1),
                ),
                ["scatter"] => add(&mut texts, format!("scatter: {} {}", what.0, what.1)),
                other => panic!("{other:?} in {line}"),
            }
        } else {
            small(game, line, &mut texts);
        }
    }
    texts
}

fn win<'a>(words: &'a [&'a str]) -> Option<(&'a [&'a str], (String, String))> {
    let x = words.iter().position(|word| *word == "x")?;
    let coins = words.iter().position(|word| *word == "coins" || *word == "coin")?;
    let count = x.checked_sub(1).filter(|_| coins > x + 1)?;
    let what = format!("{} x {}", words[count], words[x + 1..coins - 1].join(" "));
    Some((&words[..count], (what, words[coins - 1].replace(',', ""))))
}

fn frame(game: &GameInfo, text: &str, texts: &mut Texts) {
    let cells: Vec<_> = text.trim_matches('│').split('│').map(str::trim).collect();
    let named = |cell: &&str| {
        let cell = cell.trim_start_matches(['*', '▣', '?', ' ']);
        let fits = |symbol: &slots::SymbolInfo| cell.starts_with(&*symbol.name) || cell.starts_with(&*symbol.short);
        let found = game.symbols.iter().enumerate().filter(|(_, symbol)| fits(symbol));
        found.max_by_key(|(_, symbol)| symbol.short.len()).map(|(at, _)| at.to_string())
    };
    let row: Option<Vec<_>> = cells.iter().map(named).collect();
    if let Some(row) = row.filter(|row| row.len() == 5) {
        add(texts, format!("row {}", row.join(" ")));
    }
}

fn small(game: &GameInfo, line: &str, texts: &mut Texts) {
    let words: Vec<_> = line.split_whitespace().collect();
    let letters = |word: &&str| game.symbols.iter().position(|symbol| symbol.code.eq_ignore_ascii_case(word));
    let bonus = game.symbols.iter().position(|symbol| symbol.role == slots::SymbolRole::Bonus);
    let held = |word: &&str| word.contains(|char: char| char.is_ascii_digit() || char == '?');
    let numbers = words.iter().all(|word| word.parse::<u32>().is_ok());
    let spaced = line.replace('*', " ");
    let words: Vec<_> = spaced.split_whitespace().collect();
    if words.is_empty() || !words.len().is_multiple_of(5) {
        return;
    }
    for window in words.chunks(5) {
        if numbers {
            add(texts, format!("stops {}", window.join(" ")));
        } else if let Some(row) =
            window.iter().map(|word| letters(word).or_else(|| bonus.filter(|_| held(word)))).collect::<Option<Vec<_>>>()
        {
            add(texts, format!("row {}", row.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")));
        }
    }
}

const NARROW: [usize; 3] = [40, 60, 79];

fn check(game: &'static dyn Game, outcome: &Outcome, of: &str) {
    let info = game.info();
    let drawing = draw::outcome(info, outcome, Currency::EUR, false);
    let wide = drawing.lines().find(|line| line.chars().count() > 82);
    assert_eq!(wide, None, "{of}: a line is too long for a terminal");
    for columns in NARROW {
        let narrow = draw::outcome_in_columns(info, outcome, Currency::EUR, false, columns);
        let narrow = draw::wrapped(&narrow, columns);
        let wide = narrow.lines().find(|line| line.chars().count() > columns);
        assert_eq!(wide, None, "{of}: a line is too long for {columns} columns:\n{narrow}");
    }
    let (lines, texts) = wanted(info, outcome);
    let found = read(info, &drawing);
    for (line, times) in &lines {
        let found = found.get(line).copied().unwrap_or_default();
        assert!(found >= *times, "{of}: `{line}` is drawn {found} times, not {times}:\n{drawing}\n{found:?}");
    }
    for (line, times) in found.iter().filter(|(line, _)| !line.starts_with("row ") && !line.starts_with("stops ")) {
        assert_eq!(lines.get(line), Some(times), "{of}: `{line}` is drawn {times} times:\n{drawing}");
    }
    for text in texts {
        assert!(drawing.contains(&text), "{of}: `{text}` is not drawn:\n{drawing}");
    }
}

fn message(game: &'static dyn Game, resolved: &slots::Outcome) -> Outcome {
    let mut bytes = vec![];
    write_outcome(game, resolved, &mut bytes);
    let mut outcome = Outcome::decode(bytes.as_slice()).unwrap();
    for mark in outcome.spins.iter_mut().flat_map(|spin| &mut spin.marks) {
        if mark.kind() == MarkKind::Mystery && mark.value > 0 {
            game.special_win(mark.value).unwrap().clone_into(&mut mark.name);
        }
    }
    outcome.unopened =
        resolved.unopened.iter().map(|of| Reveal { number: u32::from(of.object) + 1, coins: of.coins }).collect();
    outcome.mean_coin_value = resolved.mean_coin.map(|mean| v1::MeanCoinValue {
        sum: (mean.sum_micros / 1_000_000).to_string(),
        count: u32::try_from(mean.count).unwrap(),
        value: "0.5".to_owned(),
    });
    outcome
}

fn play(game: &'static dyn Game, stake: &Stake, carried: Carried, rounds: u64) -> BTreeMap<String, u64> {
    let mut terms = Terms::plain(carried);
    (terms.double, terms.gamble_max_minor) = (game.info().doubles_max > 0, 12_500_000);
    let mut seen = BTreeMap::new();
    for number in 0..rounds {
        let mut seed = [7; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        let mut round = game.open(stake, &terms).unwrap();
        let mut resolved = slots::Outcome::default();
        for step in 0_u8.. {
            seed[31] = step;
            let Some(next) = round.automatic() else { break };
            let tried = match (round.awaiting(), (number + u64::from(step)) % 3) {
                (slots::Awaiting::Double, 0) => vec![Choice::Double(Card::RedHeart), next],
                (slots::Awaiting::Double, 1) => vec![Choice::Halve, Choice::Double(Card::BlackSpade), next],
                _ => vec![next],
            };
            let done =
                tried.iter().any(|choice| round.resolve(choice, &mut Draws::from_seed(seed), &mut resolved).is_ok());
            assert!(done, "{} round {number}", game.name());
            let outcome = message(game, &resolved);
            check(game, &outcome, &format!("{} {} round {number} step {step}", game.name(), game.rules_version()));
            let kinds = outcome.spins.iter().map(|spin| format!("{:?}", spin.kind()));
            let marks = outcome.spins.iter().flat_map(|spin| &spin.marks).map(|mark| format!("{:?}", mark.kind()));
            let extras = [
                (!outcome.unopened.is_empty(), "unopened"),
                (outcome.card.is_some(), "card"),
                (outcome.prize.is_some(), "prize"),
                (outcome.mean_coin_value.is_some(), "mean coin value"),
            ];
            let extras = extras.into_iter().filter(|(there, _)| *there).map(|(_, extra)| extra.to_owned());
            for of in kinds.chain(marks).chain(extras) {
                *seen.entry(of).or_default() += 1;
            }
        }
    }
    seen
}

fn stake(game: &dyn Game) -> Stake {
    let limits = &game.info().limits;
    Stake {
        coin_value_micros: 40_000.max(limits.coin_values_micros[0]),
        lines: limits.lines.1,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: false,
    }
}

fn all_of(name: &str, carried: &[i64], buy_feature: bool, rounds: u64, must_see: &[&str]) {
    let mut from = Carried::default();
    from.0[..carried.len()].copy_from_slice(carried);
    for game in games().iter().filter(|game| game.name() == name) {
        let stake = Stake { buy_feature, ..stake(*game) };
        let coin_value_micros = *game.info().limits.coin_values_micros.iter().rfind(|value| **value <= 40_000).unwrap();
        let seen = play(*game, &Stake { coin_value_micros, ..stake }, from, rounds);
        for what in must_see {
            assert!(seen.contains_key(*what), "{} {}: no {what} in {seen:?}", game.name(), game.rules_version());
        }
    }
}

#[test]
fn pl_19_pictures_of_bewitched_leave_nothing_out() {
    all_of("bewitched", &[], false, 600, &["Base", "Free", "card", "prize"]);
}

#[test]
fn pl_19_dm_12_pictures_of_dwarf_mine_leave_nothing_out() {
    let carried = [4, 4, 4, 4, 2_000_000, 2_000_000, 2_000_000, 500_000, 3, 1];
    all_of("dwarf-mine", &carried, false, 200, &["Base", "Free", "Collection", "Crystal", "mean coin value"]);
}

#[test]
fn pl_19_me_05_pictures_of_mystery_elves_leave_nothing_out() {
    all_of("mystery-elves", &[], false, 200, &["Base", "Bonus", "card"]);
    all_of("mystery-elves", &[], true, 100, &["HoldAndWin", "Bonus", "Mystery", "Multiplier"]);
}

#[test]
fn pl_19_np_12_pictures_of_neptune_leave_nothing_out() {
    all_of("neptune", &[], false, 800, &["Base", "Free", "unopened"]);
}

#[test]
fn pl_19_wf_15_pictures_of_witch_feature_leave_nothing_out() {
    let features = ["HighSymbols", "RandomWilds", "MultiplierRespin", "MegaWild", "Explosion"];
    all_of("witch-feature", &[1, 2, 4], false, 300, &["Base", "Free", "Potion", "HighSymbols", "RandomWilds"]);
    all_of("witch-feature", &[1, 3, 4], false, 300, &[features[0], features[2], "PlacedWild"]);
    all_of("witch-feature", &[2, 3, 4], false, 300, &[features[3], features[4], "Question"]);
}
