//! Renders a PAR sheet, as a page or as sections of another page. All figures except the simulated ones come from [`Par`].

pub mod highest;
mod parts;
mod played;
pub mod plot;
mod reels;
pub mod report;

use crate::figures::{chance, grouped, number, once_in, percent};
use crate::markup::{page as whole, table};
use maud::{Markup, Render, html};
use motherlode_proto::{
    convert::play::hex,
    spin::v1::{GetGameResponse, JackpotReturns},
};
use motherlode_slots::{
    Game, Par, PoolTerms, Stake,
    par::{Exact, decimal},
    usual_par, usual_stake,
};
use motherlode_state::{CoinValue, Nano};
use parts::{list, note, section};
pub use played::{Played, WinClass, win_classes};
use plot::Bands;
use report::{CASH_PROOF, CashReport, INCREMENTS, PERCENT_PLACES, PLACES, ROUNDING, StakeReport, returns, shifted};

/// Confidence bands of a session's return: (distance of the bounds from the mean in standard errors, percentage of
/// sessions within the band).
pub const BANDS: [(f64, u32); 3] = [(2.575_829_304, 99), (1.959_963_985, 95), (1.644_853_627, 90)];
pub const BAND_DECADES: (u32, u32) = (2, 8);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SheetPart {
    Figures,
    Reels,
}

/// Default coin value, in millionths of the currency unit; if the game does not offer it, the smallest coin value is
/// used.
const COIN_MICROS: u64 = 100_000;

/// Renders a part of the sheet; `None` if this program's model of the game differs from the service's. May take seconds.
#[must_use]
pub fn part(told: &GetGameResponse, cash: &[CashReport], part: SheetPart) -> Option<Markup> {
    let summary = told.summary.as_ref()?;
    let game = motherlode_slots::game(&summary.game, &summary.rules_version)?;
    if hex(&game.model_hash()) != summary.model_hash {
        return None;
    }
    let coins = &game.info().limits.coin_values_micros;
    let stake = usual_stake(game, coins.iter().find(|micros| **micros == COIN_MICROS).or(coins.first()).copied()?);
    let returns = told.jackpot_returns.as_ref();
    let terms = returns.filter(|returns| !returns.pool_suspended).and_then(terms);
    let par = usual_par(game, stake.coin_value_micros).ok()?.into_owned();
    let par = par.at_pool_terms(terms.as_ref(), stake.coin_value_micros);
    let assumes = returns.map_or("", |returns| &returns.assumes);
    let sheet = Sheet { game, stake: &stake, par: &par, cash, played: None, assumes };
    let at = note(format!(
        "At {}. Exactness: {}. Rounding: {ROUNDING}.",
        StakeReport::new(game, &stake, &par),
        par.exactness
    ));
    let of = if part == SheetPart::Reels { sheet.reels(false) } else { sheet.figures() };
    Some(html! { (at) (of) })
}

fn terms(returns: &JackpotReturns) -> Option<PoolTerms> {
    let (seed, base_coin) = (returns.seed_eur.parse::<Nano>().ok()?, returns.base_coin.parse::<CoinValue>().ok()?);
    Some(PoolTerms {
        seed_nanos: u64::try_from(seed.0).ok()?,
        contribution_ppm: returns.contribution_ppm,
        base_coin_micros: base_coin.0,
    })
}

pub struct Sheet<'a> {
    pub game: &'a dyn Game,
    pub stake: &'a Stake,
    pub par: &'a Par,
    pub cash: &'a [CashReport],
    pub played: Option<&'a Played>,
    pub assumes: &'a str,
}

impl Sheet<'_> {
    #[must_use]
    pub fn page(&self) -> String {
        let title = format!("{}: PAR sheet", self.game.info().title);
        let main = html! {
            (self.identification()) (self.figures()) (self.reels(true)) (statements(self.game, self.par))
        };
        whole(&title, &main)
    }

    #[must_use]
    pub fn identification(&self) -> Markup {
        let Self { game, stake, par, .. } = *self;
        let rules = format!("{}, of {}", par.rules_version, game.rules_date());
        html! {
            p.kind { "PAR sheet" }
            h1 { (game.info().title) }
            (list([
                ("game", code(par.game)),
                ("rules version", rules.render()),
                ("model hash (SHA-256 of the data file)", code(&hex(&par.model_hash))),
                ("program", concat!("motherlode ", env!("CARGO_PKG_VERSION")).render()),
                ("stake", StakeReport::new(game, stake, par).to_string().render()),
                ("exactness", par.exactness.render()),
            ]))
        }
    }

    #[must_use]
    pub fn figures(&self) -> Markup {
        let Self { game, stake, par, cash, played, assumes } = *self;
        html! {
            (tiles(game, par))
            (returned(game, par, assumes))
            @if !cash.is_empty() { (in_cash(cash)) }
            (rates(par))
            (volatility(game, stake, par))
            @if let Some(played) = played { (played.section(par)) }
            (reels::paytable(game.info()))
        }
    }

    #[must_use]
    pub fn reels(&self, strips: bool) -> Markup {
        reels::sets(self.game.info(), self.par, strips)
    }
}

fn code(key: &str) -> Markup {
    html! { code { (key) } }
}

fn tiles(game: &dyn Game, par: &Par) -> Markup {
    let tile = |figure: String, says: &str| html! { div.tile { b { (figure) } span { (says) } } };
    let hits = format!("share of paid spins that win ({})", once_in(&par.hit_frequency, 2));
    let highest = format!("highest win of one spin of the reels ({} spins)", once_in(&par.max_win_probability, 0));
    let return_says = match game.info().jackpot {
        true => "return to player, without the jackpot's increments",
        false => "return to player",
    };
    html! {
        div.tiles {
            (tile(percent(&par.rtp, 4), return_says))
            (tile(percent(&par.hit_frequency, 4), &hits))
            (tile(format!("{:.4} bets", par.std_dev), "standard deviation of a round's win"))
            (tile(format!("{} bets", grouped(&decimal(&par.max_win_bets, 2))), &highest))
        }
    }
}

fn returned(game: &dyn Game, par: &Par, assumes: &str) -> Markup {
    let parts = returns(par, PLACES);
    let exact: Vec<_> = par.parts.iter().filter(|part| part.name.key != INCREMENTS).collect();
    let shares: Vec<_> = exact
        .iter()
        .zip(&parts)
        .map(|(part, (name, printed))| (number(&part.rtp), format!("{}: {}", name.title, shifted(printed))))
        .collect();
    let whole = |value: &Exact| percent(value, PERCENT_PLACES).render();
    let of_rtp = |value: &Exact| percent(&(value / &par.rtp), 2).render();
    let mut rows: Vec<Vec<Markup>> = exact
        .iter()
        .zip(&parts)
        .enumerate()
        .map(|(place, (part, (name, printed)))| {
            vec![
                html! { span class={ "swatch part" (place % 8) } {} (name.title) },
                code(name.key),
                shifted(printed).render(),
                of_rtp(&part.rtp),
            ]
        })
        .collect();
    let sum = |title: &str, key: &str, value: &Exact| {
        vec![html! { span.sum { (title) } }, code(key), whole(value), of_rtp(value)]
    };
    let below = |title: &str, key: &str, value: &Exact| vec![title.render(), code(key), whole(value), of_rtp(value)];
    rows.push(sum("Return", "rtp", &par.rtp));
    if game.info().jackpot {
        rows.extend([
            below("return without the jackpot", "rtp_without_jackpot", &par.rtp_without_jackpot),
            below("return from the jackpot's increments at this coin value", INCREMENTS, &par.part(INCREMENTS)),
            sum("Return with increments", "rtp_with_jackpot_increments", &par.rtp_with_increments()),
        ]);
    }
    let conditional = par.conditional_rtps.iter().map(|of| vec![of.title.render(), code(of.key), whole(&of.rtp)]);
    let inner = html! {
        (plot::parts(&shares))
        (table(&["component", "key", "share of the bet", "share of the return"], rows))
        @if game.info().jackpot {
            (note(format!("The jackpot's share of the return is computed on these assumptions: {assumes}.")))
        }
        @if conditional.len() > 0 {
            h3 { "Conditional returns" }
            (table(&["condition", "key", "return (share of the bets unless stated)"], conditional))
        }
    };
    section("Return to player", &inner)
}

fn rates(par: &Par) -> Markup {
    let rows = par.rates.iter().map(|rate| {
        let comes = rate.title.starts_with("chance") || rate.title.contains("of a paid spin");
        let small = rate.value > Exact::from_integer(0.into()) && rate.value < Exact::from_integer(1.into());
        let inverse = if comes && small { grouped(&decimal(&rate.value.recip(), 2)) } else { String::new() };
        vec![rate.title.render(), code(&rate.key), chance(&rate.value).render(), inverse.render()]
    });
    let says = "Chances and expected numbers per paid spin, unless stated otherwise. The column \"one in\" \
                contains the inverse of the chance.";
    section("Features", &html! { (note(says)) (table(&["figure", "key", "value", "one in"], rows)) })
}

fn volatility(game: &dyn Game, stake: &Stake, par: &Par) -> Markup {
    let widths = BANDS.map(|(errors, _)| errors);
    let rtp = number(&par.rtp_without_jackpot);
    let bands = Bands { rtp, std_dev: par.std_dev, widths: &widths, decades: BAND_DECADES };
    let share = |share: f64| format!("{:.3} %", share * 100.0);
    let rows = (BAND_DECADES.0..=BAND_DECADES.1).map(|decade| {
        let rounds = 10f64.powf(f64::from(decade));
        let mut cells = vec![grouped(&format!("{rounds:.0}")).render(), share(bands.half(1.0, rounds)).render()];
        for (errors, _) in BANDS.iter().rev() {
            let half = bands.half(*errors, rounds);
            cells.push(format!("{} to {}", share((rtp - half).max(0.0)), share(rtp + half)).render());
        }
        cells
    });
    let titles = BANDS.map(|(errors, percent)| format!("{percent} % (± {errors:.3})"));
    let [widest, middle, narrowest] = titles.each_ref().map(String::as_str);
    let spread = list([
        ("standard deviation of a round's win", format!("{:.6} bets", par.std_dev).render()),
        ("variance", format!("{:.6} bets²", par.std_dev * par.std_dev).render()),
        ("volatility index (1.96 σ)", format!("{:.4} bets", par.std_dev * BANDS[1].0).render()),
        ("highest win of one spin of the reels", format!("{} bets", grouped(&decimal(&par.max_win_bets, 6))).render()),
        ("its chance", chance(&par.max_win_probability).render()),
    ]);
    let says = "Range of the mean return of a session of N rounds, by the normal approximation: the exact return without the jackpot \
                ± z σ / √N, at least 0. The shades from dark to light include 90, 95 and 99 % of sessions. σ is the standard deviation \
                of a round's win without jackpot and gamble; z is the factor in the table's head. Most sessions of \
                fewer than about ten thousand rounds return less than the mean, and a few return far more.";
    let head = ["rounds", "standard error", narrowest, middle, widest];
    let inner = html! {
        (spread)
        @if let Some(of) = highest::highest(game, stake, par) {
            (list(of.rows().into_iter().map(|(name, value)| (name, value.render()))))
            (note(of.says))
        }
        (note(says))
        (bands.plot())
        (table(&head, rows))
    };
    section("Volatility", &inner)
}

fn in_cash(reports: &[CashReport]) -> Markup {
    let rows = reports.iter().map(|of| {
        let rounded = if of.rounds_wins { "rounded" } else { "exact" };
        let mixed = shifted(&of.mixed_at_most);
        let cells = [&*of.currency, of.coin_value.as_str(), &shifted(&of.rtp), rounded, &of.within, &mixed];
        cells.map(Render::render).to_vec()
    });
    let head = [
        "currency",
        "coin value",
        "return in cash",
        "wins",
        "maximum error of the return (±)",
        "maximum change of the return if a player changes the coin value (±)",
    ];
    let inner = html! {
        (note(CASH_PROOF))
        details { summary { "All " (reports.len()) " coin values" } (table(&head, rows)) }
    };
    section("Return in cash", &inner)
}

fn statements(game: &dyn Game, par: &Par) -> Markup {
    let info = game.info();
    let facts = game.facts();
    let facts = facts.iter().map(|fact| vec![fact.title.render(), code(fact.key), fact.value.render()]);
    let values: Vec<_> = info.limits.coin_values_micros.iter().map(|coin| CoinValue(*coin).to_string()).collect();
    let ((fewest, most), (least, top)) = (info.limits.lines, info.limits.coins_per_line);
    let mut stakes =
        format!("{fewest} to {most} lines, {least} to {top} coins per line, coin values {}", values.join(", "));
    if let Some(bets) = info.buy_feature_bets {
        stakes += &format!("; the feature can be bought for {bets} bets");
    }
    let figures = format!(
        "Exactness: {}. All figures except the simulated distribution are computed from the data file with the stated model hash, \
         by the program that serves the game. Rounding: {ROUNDING}.",
        par.exactness
    );
    let random = "Each step draws from a separate random stream: ChaCha20 with a fresh seed of 256 bits. A stop, a card or a prize is \
                  an unbiased draw from its range; no draw depends on the return, the pool or the player.";
    let inner = html! {
        @if facts.len() > 0 {
            h3 { "Figures stated in the game's description" }
            (table(&["figure", "key", "value"], facts))
        }
        h3 { "Stakes offered" }
        p { (stakes) }
        h3 { "Rules in short" }
        pre { (info.rules_text) }
        h3 { "Derivation of the figures" }
        p { (figures) }
        p { (random) }
    };
    section("Statements", &inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::spin::v1::GameSummary;

    #[test]
    fn bw_21_mf_d4_the_sheet_is_at_the_terms_in_force() {
        let game = motherlode_slots::latest("bewitched").unwrap();
        let summary = GameSummary {
            game: game.name().into(),
            rules_version: game.rules_version().into(),
            model_hash: hex(&game.model_hash()),
            ..GameSummary::default()
        };
        let returns = JackpotReturns {
            seed_eur: "30000".into(),
            contribution_ppm: 10_000,
            base_coin: "10".into(),
            assumes: "a seed of 30000 EUR".into(),
            ..JackpotReturns::default()
        };
        let sheet = |returns| {
            let told = GetGameResponse {
                summary: Some(summary.clone()),
                jackpot_returns: Some(returns),
                ..GetGameResponse::default()
            };
            part(&told, &[], SheetPart::Figures).unwrap().into_string()
        };
        let now = sheet(returns.clone());
        for figure in ["94.8500000 %", "0.7500000 %", "94.8600000 %", "a seed of 30000 EUR"] {
            assert!(now.contains(figure), "{figure}");
        }
        let suspended = sheet(JackpotReturns { pool_suspended: true, ..returns });
        assert!(suspended.contains("94.1000000 %") && !suspended.contains("94.6000000 %"));
    }
}
