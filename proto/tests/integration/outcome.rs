use motherlode_proto::{
    convert::play::write_outcome,
    round::v1::{self, prize},
};
use motherlode_slots::{
    self as slots, Awaiting, Carried, Choice, Draws, Game, MarkKind, Outcome, Picked, SpinKind, Stake, Terms, WinKind,
};
use prost::Message;
use std::collections::BTreeSet;

#[test]
fn pl_06_an_outcome_is_written_as_its_message_is() {
    let mut seen = BTreeSet::new();
    for game in slots::games() {
        let offered = &game.info().limits;
        let mut carried = Carried::default();
        let coin_value_micros = *offered.coin_values_micros.iter().find(|micros| **micros >= 10_000).unwrap();
        for seed in 0..3_000_u64 {
            let buy_feature = game.check_stake(&stake(*game, coin_value_micros, true)).is_ok() && seed % 4 == 0;
            let stake = stake(*game, coin_value_micros, buy_feature);
            let double = game.info().doubles_max > 0;
            let terms =
                Terms { jackpot: game.info().jackpot, double, gamble_max_minor: 1_000_000, ..Terms::plain(carried) };
            let mut round = game.open(&stake, &terms).unwrap();
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            let (mut draws, mut outcome) = (Draws::from_seed(bytes), Outcome::default());
            for step in 0.. {
                let Some(choice) = choice(&outcome, round.awaiting(), seed + step) else { break };
                round.resolve(&choice, &mut draws, &mut outcome).unwrap();
                carried = outcome.carried.unwrap_or(carried);
                let mut written = vec![];
                write_outcome(*game, &outcome, &mut written);
                let message = outcome_to_wire(*game, &outcome);
                assert_eq!(written, message.encode_to_vec(), "{} {seed}: {message:?}", game.name());
                note(&message, &mut seen);
            }
        }
    }
    let expected =
        ["prize", "card", "jackpot", "double_strip", "pick", "reveals", "marks", "ways", "collection_symbol", "bonus"];
    let missing: Vec<_> = expected.iter().filter(|field| !seen.contains(*field)).collect();
    assert!(missing.is_empty(), "no outcome has these kinds, so they are untested: {missing:?}");
}

fn stake(game: &dyn Game, coin_value_micros: u64, buy_feature: bool) -> Stake {
    let limits = &game.info().limits;
    Stake { coin_value_micros, lines: limits.lines.1, coins_per_line: limits.coins_per_line.1, buy_feature }
}

fn choice(before: &Outcome, awaiting: Awaiting, number: u64) -> Option<Choice> {
    Some(match awaiting {
        Awaiting::Nothing => return None,
        Awaiting::Spin => Choice::Spin,
        Awaiting::Pick => {
            let needs = before.pick.unwrap().needs;
            Choice::Pick(Picked::new(&(0..needs).collect::<Vec<_>>()).unwrap())
        }
        Awaiting::FreeSpins => Choice::StartFreeSpins,
        Awaiting::Feature => Choice::StartFeature,
        Awaiting::Double => match number % 3 {
            0 => Choice::Collect,
            1 => Choice::Double(slots::Card::RedHeart),
            _ => Choice::Double(slots::Card::BlackSpade),
        },
    })
}

fn note(message: &v1::Outcome, seen: &mut BTreeSet<&'static str>) {
    let spin = |is: fn(&v1::SpinResult) -> bool| message.spins.iter().any(is);
    let fields = [
        ("prize", message.prize.is_some()),
        ("card", message.card.is_some()),
        ("jackpot", message.jackpot),
        ("double_strip", !message.double_strip.is_empty()),
        ("pick", message.pick.is_some()),
        ("reveals", !message.reveals.is_empty()),
        ("marks", spin(|spin| !spin.marks.is_empty())),
        ("ways", spin(|spin| spin.ways > 0)),
        ("collection_symbol", spin(|spin| spin.collection_symbol > 0)),
        ("bonus", spin(|spin| spin.bonus)),
    ];
    seen.extend(fields.into_iter().filter(|(_, is)| *is).map(|(field, _)| field));
}

fn outcome_to_wire(game: &dyn Game, outcome: &slots::Outcome) -> v1::Outcome {
    let ways = game.info().ways;
    v1::Outcome {
        spins: outcome.spins.iter().map(|spin| spin_result(outcome, spin, ways)).collect(),
        prize: outcome.prize.map(|prize| match prize {
            slots::Prize::Coins { multiple, coins } => v1::Prize { kind: Some(prize::Kind::Multiple(multiple)), coins },
            slots::Prize::FreeSpins(spins) => v1::Prize { kind: Some(prize::Kind::FreeSpins(spins)), coins: 0 },
            slots::Prize::Jackpot => v1::Prize { kind: Some(prize::Kind::Jackpot(true)), coins: 0 },
        }),
        card: outcome.card.map(|turn| v1::CardTurn {
            guess: card(turn.guess).into(),
            drawn: card(turn.card).into(),
            won: turn.won,
            risked_minor: turn.risked_minor,
            won_minor: turn.minor,
        }),
        jackpot: outcome.jackpot,
        awaiting: awaiting(outcome.awaiting).into(),
        free_spins_left: outcome.free_spins_left,
        double_strip: outcome.double_strip.iter().map(|drawn| card(drawn).into()).collect(),
        round_win_coins: outcome.round_win_coins,
        round_win_minor: outcome.round_win_minor,
        pick: outcome.pick.map(|offer| v1::PickOffer { needs: offer.needs.into(), of: offer.of.into() }),
        reveals: outcome
            .reveals
            .iter()
            .map(|reveal| v1::Reveal { number: u32::from(reveal.object) + 1, coins: reveal.coins })
            .collect(),
        unopened: vec![],
        mean_coin_value: None,
        credited_minor: outcome.credited_minor,
    }
}

fn awaiting(awaiting: slots::Awaiting) -> v1::Awaiting {
    match awaiting {
        slots::Awaiting::Nothing => v1::Awaiting::Nothing,
        slots::Awaiting::Spin => v1::Awaiting::Spin,
        slots::Awaiting::Pick => v1::Awaiting::Pick,
        slots::Awaiting::FreeSpins => v1::Awaiting::FreeSpins,
        slots::Awaiting::Feature => v1::Awaiting::Feature,
        slots::Awaiting::Double => v1::Awaiting::Double,
    }
}

fn spin_result(outcome: &slots::Outcome, spin: &slots::Spin, ways: bool) -> v1::SpinResult {
    let (kind, collection_symbol) = spin_kind(spin.kind);
    let cells = usize::from(spin.reels) * usize::from(spin.rows);
    v1::SpinResult {
        kind: kind.into(),
        stops: spin.stops.as_slice().iter().map(|stop| u32::from(*stop)).collect(),
        rows: spin.rows.into(),
        cells: spin.cells.get(..cells).unwrap_or_default().to_vec(),
        multiplier: spin.multiplier,
        wins: outcome.wins_of(spin).iter().map(win).collect(),
        win_coins: spin.win_coins,
        free_spins_won: spin.free_spins_won,
        bonus: spin.bonus,
        marks: outcome.marks_of(spin).iter().map(mark).collect(),
        win_minor: spin.win_minor,
        ways: if ways { u64::from(spin.rows).pow(spin.reels.into()) } else { 0 },
        collection_symbol,
    }
}

fn spin_kind(kind: SpinKind) -> (v1::SpinKind, u32) {
    let plain = match kind {
        SpinKind::Base => v1::SpinKind::Base,
        SpinKind::Free => v1::SpinKind::Free,
        SpinKind::Collection(symbol) => return (v1::SpinKind::Collection, symbol.into()),
        SpinKind::HoldAndWin => v1::SpinKind::HoldAndWin,
        SpinKind::HighSymbols => v1::SpinKind::HighSymbols,
        SpinKind::RandomWilds => v1::SpinKind::RandomWilds,
        SpinKind::MultiplierRespin => v1::SpinKind::MultiplierRespin,
        SpinKind::MegaWild => v1::SpinKind::MegaWild,
        SpinKind::Explosion => v1::SpinKind::Explosion,
    };
    (plain, 0)
}

fn win(win: &slots::Win) -> v1::Win {
    let (line, ways) = match win.kind {
        WinKind::Line(line) => (u32::from(line) + 1, 0),
        WinKind::Ways(ways) => (0, ways),
        WinKind::Scatter => (0, 0),
    };
    v1::Win { line, symbol: win.symbol.into(), count: win.count.into(), coins: win.coins, ways }
}

fn mark(mark: &slots::Mark) -> v1::Mark {
    let kind = match mark.kind {
        MarkKind::Crystal => v1::MarkKind::Crystal,
        MarkKind::Bonus => v1::MarkKind::Bonus,
        MarkKind::Mystery => v1::MarkKind::Mystery,
        MarkKind::Multiplier => v1::MarkKind::Multiplier,
        MarkKind::Potion => v1::MarkKind::Potion,
        MarkKind::PlacedWild => v1::MarkKind::PlacedWild,
        MarkKind::Question => v1::MarkKind::Question,
    };
    v1::Mark { cell: mark.cell.into(), kind: kind.into(), value: mark.value, name: String::new() }
}

fn card(card: slots::Card) -> v1::Card {
    match card {
        slots::Card::RedHeart => v1::Card::RedHeart,
        slots::Card::BlackSpade => v1::Card::BlackSpade,
        slots::Card::RedDiamond => v1::Card::RedDiamond,
        slots::Card::BlackClub => v1::Card::BlackClub,
        slots::Card::Joker => v1::Card::Joker,
    }
}
