//! What the games are, for players, operators and laboratories (PL-13). Computed once and kept.

use crate::bet::find_game;
use motherlode_books::CoinValue;
use motherlode_proto::{
    convert::play::hex,
    spin::v1::{Fact, GameSummary, GetGameRequest, GetGameResponse, Line, ListGamesResponse, Symbol},
};
use motherlode_runtime::Refusal;
use motherlode_slots::{self as slots, Game, Stake, games, par::decimal};
use std::{collections::HashMap, sync::LazyLock};

type Key = (&'static str, &'static str);

static DESCRIPTIONS: LazyLock<HashMap<Key, GetGameResponse>> =
    LazyLock::new(|| games().iter().map(|game| ((game.name(), game.rules_version()), describe(*game))).collect());

/// Every version, the newest of a game first.
pub(crate) fn all() -> ListGamesResponse {
    ListGamesResponse { games: games().iter().rev().map(|game| summary(*game)).collect() }
}

/// One game's description.
pub(crate) fn one(request: &GetGameRequest) -> Result<GetGameResponse, Refusal> {
    let game = find_game(&request.game, &request.rules_version)?;
    let described = DESCRIPTIONS.get(&(game.name(), game.rules_version()));
    described.cloned().ok_or_else(|| Refusal::not_found("GAME_UNKNOWN", "no such game"))
}

fn summary(game: &dyn Game) -> GameSummary {
    GameSummary {
        game: game.name().to_owned(),
        rules_version: game.rules_version().to_owned(),
        rules_date: game.rules_date().to_owned(),
        model_hash: hex(&game.model_hash()),
    }
}

fn describe(game: &dyn Game) -> GetGameResponse {
    let info = game.info();
    let limits = &info.limits;
    // All lines with one coin each, at the smallest coin: the return does not depend on the choice, its spread does.
    let stake = Stake {
        coin_value_micros: limits.coin_values_micros.first().copied().unwrap_or_default(),
        lines: limits.lines.1,
        coins_per_line: limits.coins_per_line.0,
        buy_feature: false,
    };
    let symbols = info.symbols.iter().enumerate().map(|(index, symbol)| Symbol {
        name: symbol.name.clone(),
        short_name: symbol.short.clone(),
        pays: pays(game, index),
    });
    let mut response = GetGameResponse {
        summary: Some(summary(game)),
        title: info.title.clone(),
        symbols: symbols.collect(),
        lines: info.lines.iter().map(|rows| Line { rows: rows.iter().map(|row| u32::from(*row)).collect() }).collect(),
        coin_values: limits.coin_values_micros.iter().map(|micros| CoinValue(*micros).to_string()).collect(),
        coins_per_line_max: limits.coins_per_line.1,
        rules_text: info.rules_text.clone(),
        interruption_hours: game.interruption_hours().unwrap_or_default(),
        lines_min: limits.lines.0,
        lines_max: limits.lines.1,
        coins_per_line_min: limits.coins_per_line.0,
        gambles_max: info.doubles_max,
        halve: info.halve,
        buy_feature_bets: info.buy_feature_bets.unwrap_or_default(),
        jackpot: info.jackpot,
        facts: info.facts.iter().map(fact).collect(),
        ..GetGameResponse::default()
    };
    if let Ok(par) = game.par(&stake) {
        response.rtp = decimal(&par.rtp, 6);
        response.max_win_bets = decimal(&par.max_win_bets, 2);
        response.max_win_probability = decimal(&par.max_win_probability, 12);
    }
    response
}

fn fact(fact: &slots::Fact) -> Fact {
    Fact { key: fact.key.to_owned(), title: fact.title.to_owned(), value: fact.value.clone() }
}

/// What a symbol pays by count, from one on.
fn pays(game: &dyn Game, symbol: usize) -> Vec<u64> {
    let info = game.info();
    let mut pays = vec![0; info.reels as usize];
    for row in info.paytable.iter().filter(|row| usize::from(row.symbol) == symbol) {
        if let Some(place) = usize::from(row.count).checked_sub(1).and_then(|index| pays.get_mut(index)) {
            *place = row.pays;
        }
    }
    pays
}
