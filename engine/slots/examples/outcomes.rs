//! Plays random rounds and prints one JSON line per step, which `tests/independent` checks. The first line names the
//! game's data file and, if ROUNDS is 0, contains the game's exact returns.
//!
//! `cargo run -p motherlode-slots --example outcomes -- GAME VERSION ROUNDS [SEED]`

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

use motherlode_slots::contract::outcome::MarkKind;
use motherlode_slots::{
    Awaiting, Card, Carried, CarriedScope, Choice, Draws, Game, Ladders, Outcome, PickOffer, Picked, Prize, Round,
    Seed, Spin, SpinKind, Stake, Terms, TopWindows, WinKind, cash_return, game,
};
use serde_json::{Value, json};

type Fault = Box<dyn std::error::Error>;

const ROUNDS_OF_PLAYER: u64 = 4_000;
const STAKES_OF_PLAYER: u32 = 3;
const CURRENCIES_OF_PLAYER: u32 = 2;
const GAMBLE_LIMITS: [u64; 3] = [2_000, 50_000, 12_500_000];

fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |at: usize| args.get(at).map_or("", String::as_str);
    let game =
        game(arg(0), arg(1)).ok_or("usage: outcomes GAME VERSION ROUNDS [SEED]; the game or version does not exist")?;
    let rounds: u64 =
        args.get(2).ok_or("usage: outcomes GAME VERSION ROUNDS [SEED]; the number of rounds is missing")?.parse()?;
    let seed: u64 = args.get(3).map_or(Ok(1), |text| text.parse())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let ladders = Ladders::standard(|currency| Some(minor_micros(currency)))?;
    writeln!(out, "{}", header_json(game, &ladders, rounds == 0)?)?;
    let mut player = Player::new(game, &ladders, seed);
    for number in 0..rounds {
        if number > 0 && number % ROUNDS_OF_PLAYER == 0 {
            player = Player::new(game, &ladders, seed.wrapping_add(number << 32));
        }
        player.play(number, &mut out)?;
    }
    Ok(out.flush()?)
}

fn minor_micros(currency: &str) -> u64 {
    match currency {
        "JPY" => 1_000_000,
        "KWD" => 1_000,
        _ => 10_000,
    }
}

struct Player {
    game: &'static dyn Game,
    random: Draws,
    stakes: Vec<(Stake, String)>,
    carried: BTreeMap<(String, u64, u32), Carried>,
}

impl Player {
    fn new(game: &'static dyn Game, ladders: &Ladders, number: u64) -> Self {
        let mut seed = Seed::default();
        seed[..8].copy_from_slice(&number.to_le_bytes());
        let mut random = Draws::from_seed(seed);
        let offered =
            |currency: &str| ladders.for_game(game, currency).map_or_else(Vec::new, |ladder| ladder.coins_micros);
        let all: Vec<_> = ladders.currencies().filter(|currency| !offered(currency).is_empty()).collect();
        let own: Vec<_> = (0..CURRENCIES_OF_PLAYER).map(|_| any(&mut random, &all)).collect();
        let mut stakes = Vec::new();
        for _ in 0..STAKES_OF_PLAYER {
            let currency = any(&mut random, &own);
            stakes.push((stake(game, &offered(currency), &mut random), currency.to_owned()));
        }
        Self { game, random, stakes, carried: BTreeMap::new() }
    }

    fn play(&mut self, number: u64, to: &mut impl Write) -> Result<(), Fault> {
        let place = self.random.below(STAKES_OF_PLAYER) as usize;
        let (mut stake, currency) = self.stakes[place].clone();
        stake.buy_feature = self.game.info().buy_feature_bets.is_some() && self.random.below(50) == 0;
        let scope = match self.game.carries().scope {
            CarriedScope::Currency => (currency.clone(), 0, 0),
            CarriedScope::Bet => (currency.clone(), stake.coin_value_micros, stake.lines * stake.coins_per_line),
        };
        let carried = self.carried.entry(scope).or_default();
        let terms = Terms {
            jackpot: self.random.below(4) > 0,
            double: self.random.below(2) == 0,
            minor_micros: minor_micros(&currency),
            gamble_max_minor: any(&mut self.random, &GAMBLE_LIMITS),
            carried: *carried,
        };
        let mut round = self.game.open(&stake, &terms)?;
        let mut out = Outcome::default();
        let (mut step, mut refused) = (0, Vec::new());
        while let Some(choice) = choose(&mut self.random, round.awaiting(), out.pick, self.game.info().halve) {
            if !resolve(round.as_mut(), &choice, &mut self.random, &mut out) {
                refused.push(choice_json(&choice));
                continue;
            }
            let mut line = json!({ "round": number, "step": step, "choice": choice_json(&choice) });
            line["refused"] = Value::Array(std::mem::take(&mut refused));
            if step == 0 {
                line["stake"] = stake_json(&stake, self.game.check_stake(&stake)?);
                line["terms"] = terms_json(self.game, &currency, &terms);
            }
            line["outcome"] = outcome_json(self.game, &out);
            writeln!(to, "{line}")?;
            *carried = out.carried.unwrap_or(*carried);
            step += 1;
        }
        Ok(())
    }
}

fn resolve(round: &mut dyn Round, choice: &Choice, random: &mut Draws, out: &mut Outcome) -> bool {
    let mut seed = Seed::default();
    for word in seed.chunks_mut(4) {
        word.copy_from_slice(&random.below(u32::MAX).to_le_bytes());
    }
    round.resolve(choice, &mut Draws::from_seed(seed), out).is_ok()
}

fn any<T: Copy>(random: &mut Draws, from: &[T]) -> T {
    from[random.below(u32::try_from(from.len()).unwrap_or(1)) as usize]
}

fn stake(game: &dyn Game, coins: &[u64], random: &mut Draws) -> Stake {
    let limits = &game.info().limits;
    let mut within = |(min, max): (u32, u32)| min + random.below(max - min + 1);
    let (lines, coins_per_line) = (within(limits.lines), within(limits.coins_per_line));
    let coin_value_micros = if random.below(2) == 0 { coins[0] } else { any(random, coins) };
    Stake { coin_value_micros, lines, coins_per_line, buy_feature: false }
}

fn choose(random: &mut Draws, awaiting: Awaiting, pick: Option<PickOffer>, halve: bool) -> Option<Choice> {
    Some(match awaiting {
        Awaiting::Nothing => return None,
        Awaiting::Spin => Choice::Spin,
        Awaiting::Pick => Choice::Pick(objects(random, pick?)),
        Awaiting::FreeSpins => Choice::StartFreeSpins,
        Awaiting::Feature => Choice::StartFeature,
        Awaiting::Double => match random.below(6) {
            0 => Choice::Collect,
            1 if halve => Choice::Halve,
            guess if guess % 2 == 0 => Choice::Double(Card::RedHeart),
            _ => Choice::Double(Card::BlackSpade),
        },
    })
}

fn objects(random: &mut Draws, offer: PickOffer) -> Picked {
    let mut left: Vec<u8> = (0..offer.of).collect();
    let picked: Vec<u8> = (0..offer.needs.min(offer.of))
        .map(|_| left.swap_remove(random.below(u32::try_from(left.len()).unwrap_or(1)) as usize))
        .collect();
    Picked::new(&picked).unwrap_or_default()
}

fn header_json(game: &dyn Game, ladders: &Ladders, with_returns: bool) -> Result<Value, Fault> {
    let model_hash = game.model_hash().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut header = json!({ "game": game.name(), "model_hash": model_hash });
    if with_returns {
        header["returns"] = returns_json(game)?;
        header["cash"] = cash_json(game, ladders)?;
        header["rates"] = rates_json(game)?;
        header["highest"] = highest_json(game)?;
    }
    Ok(header)
}

fn cash_json(game: &dyn Game, ladders: &Ladders) -> Result<Value, Fault> {
    let mut all = Vec::new();
    for currency in ladders.currencies() {
        for micros in ladders.for_game(game, currency).map_or_else(Vec::new, |ladder| ladder.coins_micros) {
            let cash = cash_return(game, micros, minor_micros(currency))?;
            let figures = [cash.adds, cash.within].map(|figure| figure.to_string());
            all.push(json!([currency, micros, figures]));
        }
    }
    Ok(all.into())
}

fn highest_json(game: &dyn Game) -> Result<Value, Fault> {
    let highest = game.highest_win(&highest_stake(game)?)?;
    let mut json = json!({ "bets": highest.bets.to_string() });
    if let Some(top) = &highest.collected {
        let windows = |of: &[TopWindows]| of.iter().map(|of| json!([of.windows, of.coins])).collect::<Value>();
        json["own"] = windows(&top.own);
        json["collected"] = windows(&top.collected);
    }
    Ok(json)
}

fn highest_stake(game: &dyn Game) -> Result<Stake, Fault> {
    let limits = &game.info().limits;
    Ok(Stake {
        coin_value_micros: *limits.coin_values_micros.first().ok_or("no coin values")?,
        lines: limits.lines.1,
        coins_per_line: limits.coins_per_line.1,
        buy_feature: false,
    })
}

fn rates_json(game: &dyn Game) -> Result<Value, Fault> {
    let par = game.par(&highest_stake(game)?)?;
    Ok(par.rates.iter().map(|rate| (rate.key.clone(), json!(rate.value.to_string()))).collect())
}

fn returns_json(game: &dyn Game) -> Result<Value, Fault> {
    let par = game.par(&highest_stake(game)?)?;
    let parts = par.parts.iter().map(|part| (part.name.key, &part.rtp));
    let conditional = par.conditional_rtps.iter().map(|of| (of.key, &of.rtp));
    Ok(parts.chain(conditional).map(|(key, rtp)| (key.to_owned(), json!(rtp.to_string()))).collect())
}

fn stake_json(stake: &Stake, coins: u32) -> Value {
    json!({
        "coin_value_micros": stake.coin_value_micros,
        "lines": stake.lines,
        "coins_per_line": stake.coins_per_line,
        "buy_feature": stake.buy_feature,
        "coins": coins,
    })
}

fn terms_json(game: &dyn Game, currency: &str, terms: &Terms) -> Value {
    json!({
        "currency": currency,
        "jackpot": terms.jackpot,
        "double": terms.double,
        "minor_micros": terms.minor_micros,
        "gamble_max_minor": terms.gamble_max_minor,
        "carried": carried_json(game, &terms.carried),
    })
}

fn carried_json(game: &dyn Game, carried: &Carried) -> Value {
    game.carries().keys.iter().zip(carried.0).map(|(key, value)| ((*key).to_owned(), json!(value))).collect()
}

fn choice_json(choice: &Choice) -> Value {
    match choice {
        Choice::Spin => json!(["spin"]),
        Choice::Pick(picked) => json!(["pick", picked.as_slice()]),
        Choice::StartFreeSpins => json!(["free spins"]),
        Choice::StartFeature => json!(["feature"]),
        Choice::Double(card) => json!(["double", card_name(*card)]),
        Choice::Halve => json!(["halve"]),
        Choice::Collect => json!(["collect"]),
    }
}

fn outcome_json(game: &dyn Game, out: &Outcome) -> Value {
    let parts = game.parts().iter().zip(out.part_coins);
    json!({
        "spins": out.spins.iter().map(|spin| spin_json(out, spin)).collect::<Value>(),
        "prize": out.prize.map(prize_json),
        "reveals": out.reveals.iter().map(|reveal| json!([reveal.object, reveal.coins])).collect::<Value>(),
        "pick": out.pick.map(|offer| json!([offer.needs, offer.of])),
        "card": out.card.map(|turn| json!({
            "guess": card_name(turn.guess),
            "card": card_name(turn.card),
            "won": turn.won,
            "risked_minor": turn.risked_minor,
            "minor": turn.minor,
        })),
        "jackpot": out.jackpot,
        "awaiting": awaiting_name(out.awaiting),
        "free_spins_left": out.free_spins_left,
        "double_strip": out.double_strip.iter().map(card_name).collect::<Value>(),
        "round_win_coins": out.round_win_coins,
        "round_win_minor": out.round_win_minor,
        "credited_minor": out.credited_minor,
        "carried": out.carried.map(|carried| carried_json(game, &carried)),
        "part_coins": parts.map(|(part, coins)| (part.key.to_owned(), json!(coins))).collect::<Value>(),
    })
}

fn spin_json(out: &Outcome, spin: &Spin) -> Value {
    json!({
        "kind": kind_json(spin.kind),
        "stops": spin.stops.as_slice(),
        "reels": spin.reels,
        "rows": spin.rows,
        "cells": spin.cells[..usize::from(spin.reels) * usize::from(spin.rows)],
        "multiplier": spin.multiplier,
        "wins": out.wins_of(spin).iter().map(|win| match win.kind {
            WinKind::Line(line) => json!(["line", line, win.symbol, win.count, win.coins]),
            WinKind::Ways(ways) => json!(["ways", ways, win.symbol, win.count, win.coins]),
            WinKind::Scatter => json!(["scatter", 0, win.symbol, win.count, win.coins]),
        }).collect::<Value>(),
        "marks": out.marks_of(spin).iter().map(|mark| json!([mark_name(mark.kind), mark.cell, mark.value]))
            .collect::<Value>(),
        "win_coins": spin.win_coins,
        "win_minor": spin.win_minor,
        "free_spins_won": spin.free_spins_won,
        "bonus": spin.bonus,
    })
}

fn kind_json(kind: SpinKind) -> Value {
    match kind {
        SpinKind::Base => json!(["base"]),
        SpinKind::Free => json!(["free"]),
        SpinKind::Collection(symbol) => json!(["collection", symbol]),
        SpinKind::HoldAndWin => json!(["hold and win"]),
        SpinKind::HighSymbols => json!(["high symbols"]),
        SpinKind::RandomWilds => json!(["random wilds"]),
        SpinKind::MultiplierRespin => json!(["multiplier"]),
        SpinKind::MegaWild => json!(["mega wild"]),
        SpinKind::Explosion => json!(["explosion"]),
    }
}

fn prize_json(prize: Prize) -> Value {
    match prize {
        Prize::Coins { multiple, coins } => json!(["coins", multiple, coins]),
        Prize::FreeSpins(spins) => json!(["free spins", spins]),
        Prize::Jackpot => json!(["jackpot"]),
    }
}

fn mark_name(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Crystal => "crystal",
        MarkKind::Bonus => "bonus",
        MarkKind::Mystery => "mystery",
        MarkKind::Multiplier => "multiplier",
        MarkKind::Potion => "potion",
        MarkKind::PlacedWild => "placed wild",
        MarkKind::Question => "question",
    }
}

fn awaiting_name(awaiting: Awaiting) -> &'static str {
    match awaiting {
        Awaiting::Nothing => "nothing",
        Awaiting::Spin => "spin",
        Awaiting::Pick => "pick",
        Awaiting::FreeSpins => "free spins",
        Awaiting::Feature => "feature",
        Awaiting::Double => "double",
    }
}

fn card_name(card: Card) -> &'static str {
    match card {
        Card::RedHeart => "red heart",
        Card::BlackSpade => "black spade",
        Card::RedDiamond => "red diamond",
        Card::BlackClub => "black club",
        Card::Joker => "joker",
    }
}
