use crate::{
    jackpot_returns::{Now, PLACES, Returns},
    stake::{bet_in, find_game},
    stated::{Of, StatedFigures},
};
use motherlode_ledger::{fields, offer};
use motherlode_proto::{
    convert::play::hex,
    spin::v1::{
        BetCoins, BonusPrize, CoinOffer, ConditionalReturn, CurrencyOffer, Fact, FeatureCombination, GameSummary,
        GetGameRequest, GetGameResponse, Line, ListGamesResponse, PayRow, Picks, ReelSet, SpecialWin, Strip, Symbol,
        SymbolRole, ValueSet, WinUpTo, bonus_prize,
    },
};
use motherlode_rounds::minor_micros;
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::{
    self as slots, Game, GameInfo, Ladders, Par, PrizeInfo, Stake, cash_return, games,
    par::{Exact, chance_text, decimal, exact, ratio},
    usual_par,
};
use motherlode_state::{CoinValue, Currency};
use parking_lot::Mutex;
use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{LazyLock, OnceLock},
};

type Key = (&'static str, &'static str);

struct GameDescription {
    response: GetGameResponse,
    par: Option<(Cow<'static, Par>, u64)>,
    stated: Option<StatedFigures>,
    cash: CashReturns,
}

/// Cache of returns in cash by coin value and minor unit, both in millionths of the major unit, and by exact return.
/// Computing a return takes up to a millisecond, and a game's description has hundreds.
type CashReturns = Mutex<HashMap<(u64, u64, [Vec<u8>; 2]), Option<CashReturnTexts>>>;

const CASH_RETURNS_MAX: usize = 4_096;

#[derive(Clone)]
struct CashReturnTexts {
    rtp: String,
    rounds_wins: bool,
    within: String,
    mixed: String,
}

/// Computing a description takes up to a second.
static DESCRIPTIONS: LazyLock<HashMap<Key, OnceLock<GameDescription>>> =
    LazyLock::new(|| games().iter().map(|game| ((game.name(), game.rules_version()), OnceLock::new())).collect());

pub(crate) fn all() -> ListGamesResponse {
    ListGamesResponse { games: games().iter().rev().map(|game| summary(*game)).collect() }
}

pub(crate) fn one(
    request: &GetGameRequest,
    ladders: &Ladders,
    now: impl Fn(&str, Currency) -> Now,
) -> Result<GetGameResponse, Refusal> {
    let game = find_game(&request.game, &request.rules_version)?;
    let currency = match request.currency_code.as_str() {
        "" => None,
        code => Some(fields::currency("currency_code", code)?),
    };
    if let Some(currency) = currency.filter(|currency| !ladders.enabled(currency.code())) {
        return Err(offer::not_offered(ladders, currency));
    }
    let described = DESCRIPTIONS.get(&(game.name(), game.rules_version()));
    let described =
        described.ok_or_else(|| Refusal::new(Reason::GameUnknown, "there is no game with the requested name"))?;
    let described = described.get_or_init(|| describe(game));
    let mut response = described.response.clone();
    if !request.with_strips {
        response.reel_sets.clear();
    }
    let shown = currency.unwrap_or(Currency::EUR);
    let returns_in = |currency: Currency, now: &Now| {
        described.par.as_ref().map(|(par, coin)| Returns::new(game.info(), (par, *coin), now, currency))
    };
    let now_shown = now(game.name(), shown);
    if let Some(returns) = returns_in(shown, &now_shown) {
        response.rtp = decimal(&returns.lowest(), PLACES);
        response.jackpot_returns =
            game.info().jackpot.then(|| returns.shown(ladders.for_game(game, shown.code()), shown, &now_shown));
    }
    let asked: Vec<Currency> = match currency {
        Some(currency) => vec![currency],
        None => ladders.currencies().filter_map(|code| code.parse().ok()).collect(),
    };
    let of = |currency| Of { game, ladders, currency, rate: now(game.name(), currency).rate };
    let in_one = |currency: Currency| {
        let rtp = returns_in(currency, &now(game.name(), currency)).map_or_else(|| exact(0), |of| of.lowest());
        in_currency(of(currency), described, &rtp)
    };
    response.currencies = asked.iter().filter_map(|currency| in_one(*currency)).collect();
    response.win_up_to = described.stated.as_ref().and_then(|stated| win_up_to(stated, game, ladders, &of));
    response.coin_values = response.currencies.iter().find(|of| of.currency_code == shown.code()).map_or_else(
        || game.info().limits.coin_values_micros.iter().map(|micros| CoinValue(*micros).to_string()).collect(),
        |of| of.coins.iter().map(|coin| coin.coin_value.clone()).collect(),
    );
    Ok(response)
}

pub(crate) fn stated(game: &dyn Game) -> Option<&'static StatedFigures> {
    DESCRIPTIONS.get(&(game.name(), game.rules_version()))?.get_or_init(|| describe(game)).stated.as_ref()
}

fn win_up_to<'a>(
    stated: &StatedFigures,
    game: &dyn Game,
    ladders: &Ladders,
    of: &dyn Fn(Currency) -> Of<'a>,
) -> Option<WinUpTo> {
    let of_currency = |code: &str| {
        let currency = code.parse::<Currency>().ok()?;
        Some((minor_micros(currency), of(currency).gamble_max_minor()))
    };
    let top = slots::win_up_to(game, &stated.of_all_stakes(), ladders, &of_currency)?;
    let (currency_code, coin) = top.at.map(|(code, coin)| (code, CoinValue(coin).to_string())).unwrap_or_default();
    Some(WinUpTo {
        bets: decimal(&top.bets.floor(), 0),
        probability_at_most: format!("1e{}", top.chance_exponent),
        unlimited: stated.unlimited(),
        says: stated.definition().to_owned(),
        lines: top.lines,
        currency_code,
        coin_value: coin,
        gambled_bets: top.gambled_bets.as_ref().map_or_else(String::new, |bets| decimal(&bets.floor(), 0)),
        gambled_probability_at_most: top.gambled_bets.map_or_else(String::new, |bets| stated.chance_of_gambled(&bets)),
    })
}

fn in_currency(of: Of<'_>, described: &GameDescription, rtp: &Exact) -> Option<CurrencyOffer> {
    let Of { game, ladders, currency, .. } = of;
    let ladder = ladders.for_game(game, currency.code())?;
    let limits = &game.info().limits;
    let bet = |coin: u64, lines: u32, coins: u32| {
        let stake = Stake { coin_value_micros: coin, lines, coins_per_line: coins, buy_feature: false };
        bet_in(currency, CoinValue(coin), game.check_stake(&stake).ok()?).map(|bet| bet.0)
    };
    let coins = ladder.coins_micros.iter().filter_map(|&micros| {
        let cash = described.cash_return(game, (micros, minor_micros(currency)), rtp)?;
        let highest = described.stated.as_ref().and_then(|stated| stated.paid_at_most(of, micros));
        let (minor, gambled) =
            highest.map(|of| (of.minor.to_string(), of.gambled_minor.to_string())).unwrap_or_default();
        Some(CoinOffer {
            coin_value: CoinValue(micros).to_string(),
            win_up_to_minor: minor,
            win_up_to_gambled_minor: gambled,
            rtp_cash: cash.rtp,
            rounds_wins: cash.rounds_wins,
            rtp_cash_within: cash.within,
            rtp_cash_mixed: cash.mixed,
        })
    });
    Some(CurrencyOffer {
        currency_code: currency.code().to_owned(),
        coins: coins.collect(),
        default_coin_value: CoinValue(ladder.default_micros).to_string(),
        bet_min_minor: bet(*ladder.coins_micros.first()?, limits.lines.0, limits.coins_per_line.0)?,
        bet_max_minor: bet(*ladder.coins_micros.last()?, limits.lines.1, limits.coins_per_line.1)?,
        bet_default_minor: bet(ladder.default_micros, limits.lines.1, limits.coins_per_line.0)?,
    })
}

impl GameDescription {
    fn cash_return(&self, game: &dyn Game, (coin, minor): (u64, u64), rtp: &Exact) -> Option<CashReturnTexts> {
        // The key contains bytes, because hashing a fraction is as slow as reducing it.
        let key = (coin, minor, [rtp.numer(), rtp.denom()].map(|part| part.to_signed_bytes_le()));
        if let Some(known) = self.cash.lock().get(&key) {
            return known.clone();
        }
        let computed = cash_return(game, coin, minor).ok().map(|cash| CashReturnTexts {
            rtp: decimal(&(rtp + &cash.adds), 6),
            rounds_wins: !cash.whole,
            within: bound(&cash.within),
            mixed: bound(&cash.mixed_at_most),
        });
        let mut all = self.cash.lock();
        if all.len() >= CASH_RETURNS_MAX {
            all.clear();
        }
        all.insert(key, computed.clone());
        computed
    }
}

fn bound(figure: &Exact) -> String {
    if *figure == exact(0) { "0".to_owned() } else { decimal(&(figure + ratio(1, 2_000_000_000_000_i64)), 12) }
}

fn summary(game: &dyn Game) -> GameSummary {
    GameSummary {
        game: game.name().to_owned(),
        rules_version: game.rules_version().to_owned(),
        rules_date: game.rules_date().to_owned(),
        model_hash: hex(&game.model_hash()),
    }
}

fn describe(game: &dyn Game) -> GameDescription {
    let info = game.info();
    let limits = &info.limits;
    let coin = limits.coin_values_micros.first().copied().unwrap_or_default();
    let symbols = info.symbols.iter().enumerate().map(|(index, symbol)| Symbol {
        name: symbol.name.clone(),
        short_name: symbol.short.clone(),
        pays: pays(game, index),
        role: role(symbol.role).into(),
    });
    let mut response = GetGameResponse {
        summary: Some(summary(game)),
        title: info.title.clone(),
        symbols: symbols.collect(),
        lines: info.lines.iter().map(|rows| Line { rows: rows.iter().map(|row| u32::from(*row)).collect() }).collect(),
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
        facts: game.facts().iter().map(fact).collect(),
        value_sets: info.values.iter().map(value_set).collect(),
        feature_combinations: info.combinations.iter().map(|of| combination(game, of)).collect(),
        ..GetGameResponse::default()
    };
    shape(info, &mut response);
    let par = usual_par(game, coin).ok();
    let mut stated = None;
    if let Some(par) = &par {
        stated = StatedFigures::new(game, par.rtp_without_jackpot.clone());
        figures(par, &mut response);
    }
    GameDescription { response, par: par.map(|par| (par, coin)), stated, cash: CashReturns::default() }
}

fn shape(info: &GameInfo, response: &mut GetGameResponse) {
    let limits = &info.limits;
    response.reels = info.reels;
    response.rows = info.rows;
    response.rows_max = info.rows_max;
    if info.ways {
        response.ways = (info.rows..=info.rows_max).map(|rows| u64::from(rows).pow(info.reels)).collect();
    }
    let row = |row: &slots::PayRow| PayRow {
        symbol: row.symbol.into(),
        count: row.count.into(),
        pays: row.pays,
        free_spins: row.free_spins,
        anywhere: row.scatter || row.bonus && !info.bonus_on_line,
        starts_bonus: row.bonus,
    };
    response.pay_rows = info.paytable.iter().map(row).collect();
    let prize = |prize: &PrizeInfo| BonusPrize {
        kind: Some(match *prize {
            PrizeInfo::Jackpot => bonus_prize::Kind::Jackpot(true),
            PrizeInfo::Multiple(multiple) => bonus_prize::Kind::Multiple(multiple),
            PrizeInfo::FreeSpins(spins) => bonus_prize::Kind::FreeSpins(spins),
        }),
    };
    response.prizes = info.prizes.iter().map(prize).collect();
    let special = |of: &slots::SpecialInfo| SpecialWin { name: of.name.clone(), bets: of.bets };
    response.special_wins = info.specials.iter().map(special).collect();
    let (needs_min, needs_max) = (info.picks.0.into(), info.picks.1.into());
    response.picks = (info.picks_of > 0).then(|| Picks { needs_min, needs_max, of: info.picks_of.into() });
    response.free_spin_multiplier = info.free_spin_multiplier;
    response.multipliers.clone_from(&info.multipliers);
    response.bet_coins = Some(BetCoins {
        min: limits.lines.0 * limits.coins_per_line.0,
        max: limits.lines.1 * limits.coins_per_line.1,
        default: limits.lines.1 * limits.coins_per_line.0,
    });
}

fn figures(par: &Par, response: &mut GetGameResponse) {
    response.hit_frequency = decimal(&par.hit_frequency, PLACES);
    response.max_win_bets = decimal(&par.max_win_bets, 2);
    response.max_win_probability = chance_text(&par.max_win_probability, 12);
    response.std_dev_bets = format!("{:.4}", par.std_dev);
    response.volatility_index = format!("{:.2}", par.volatility_index());
    response.exactness = par.exactness.to_owned();
    let conditional = |of: &slots::par::ConditionalRtp| ConditionalReturn {
        key: of.key.to_owned(),
        title: of.title.to_owned(),
        rtp: decimal(&of.rtp, PLACES),
    };
    response.conditional_returns = par.conditional_rtps.iter().map(conditional).collect();
    let strip = |strip: &Vec<u8>| Strip { symbols: strip.iter().map(|on| u32::from(*on)).collect() };
    let set = |of: &slots::par::ReelSet| ReelSet {
        title: of.title.to_owned(),
        strips: of.strips.iter().map(strip).collect(),
    };
    response.reel_sets = par.reel_sets.iter().map(set).collect();
}

fn role(role: slots::SymbolRole) -> SymbolRole {
    use slots::SymbolRole as Of;
    match role {
        Of::Regular => SymbolRole::Regular,
        Of::Wild => SymbolRole::Wild,
        Of::Scatter => SymbolRole::Scatter,
        Of::Bonus => SymbolRole::Bonus,
        Of::FreeSpins => SymbolRole::FreeSpins,
        Of::Collected => SymbolRole::Collected,
        Of::SuperHigh => SymbolRole::SuperHigh,
        Of::Question => SymbolRole::Question,
    }
}

fn value_set(of: &slots::ValueSet) -> ValueSet {
    ValueSet { key: of.key.to_owned(), title: of.title.to_owned(), values: of.values.clone() }
}

fn combination(game: &dyn Game, of: &slots::FeatureCombination) -> FeatureCombination {
    let title = game.features().iter().find(|feature| feature.key == of.feature).map(|feature| feature.title);
    FeatureCombination {
        feature: of.feature.to_owned(),
        title: title.unwrap_or_default().to_owned(),
        symbols: of.symbols.iter().map(|symbol| u32::from(*symbol)).collect(),
    }
}

fn fact(fact: &slots::Fact) -> Fact {
    Fact { key: fact.key.to_owned(), title: fact.title.to_owned(), value: fact.value.clone() }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_at_a_coin_value_follows_the_return_without_rounding_and_the_stored_returns_are_bounded() {
        let (game, unit) = (games()[0], 10_000);
        let described = GameDescription {
            response: GetGameResponse::default(),
            par: None,
            stated: None,
            cash: CashReturns::default(),
        };
        let of = |coin, percent: u32| described.cash_return(game, (coin, unit), &ratio(percent, 100)).map(|of| of.rtp);
        for _ in 0..2 {
            assert_eq!(
                [95, 96].map(|percent| of(unit, percent)),
                ["0.950000", "0.960000"].map(|text| Some(text.to_owned()))
            );
        }
        for coin in 0..2 * CASH_RETURNS_MAX as u64 {
            of(unit * coin, 95);
            assert!(described.cash.lock().len() <= CASH_RETURNS_MAX);
        }
    }
}
