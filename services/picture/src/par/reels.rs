use super::{
    parts::{note, section},
    plot,
    report::{pays, symbol_name, symbols},
};
use crate::figures::{chance, grouped, percent};
use crate::markup::table;
use maud::{Markup, Render, html};
use motherlode_slots::{
    GameInfo, Par, PayRow, SymbolRole,
    par::{Exact, ReelSet, decimal},
};

const RETURN_PLACES: usize = 7;

fn meaning(info: &GameInfo) -> &'static str {
    match info.ways {
        true => {
            "A win pays its figure in this table, in coins, times the number of ways, which is the product of the \
             symbol's counts on the reels."
        }
        false => {
            "A line win pays its figure in this table times the coins per line; a scatter, which counts anywhere, pays its figure times the total bet."
        }
    }
}

pub(super) fn paytable(info: &GameInfo) -> Markup {
    let mut counts: Vec<u8> = info.paytable.iter().map(|row| row.count).collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts.dedup();
    let titles: Vec<_> = counts.iter().map(|count| format!("{count} x")).collect();
    let head: Vec<_> = ["symbol", "role"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let rows = info.symbols.iter().zip(0..).map(|(symbol, index)| {
        let cell = |count: &u8| {
            let row = info.paytable.iter().find(|row| row.symbol == index && row.count == *count);
            row.map_or_else(String::new, cell).render()
        };
        let named = [symbol.name.render(), role(symbol.role).render()];
        named.into_iter().chain(counts.iter().map(cell)).collect()
    });
    let inner = html! {
        (note(meaning(info)))
        (table(&head, rows))
        @if !info.ways && !info.lines.is_empty() {
            h3 { "Lines" }
            div.paylines { @for (number, line) in (1..).zip(&info.lines) { (plot::payline(number, line, info.rows)) } }
        }
    };
    section("Paytable", &inner)
}

fn cell(row: &PayRow) -> String {
    let mut gives = vec![];
    if row.pays > 0 {
        gives.push(grouped(&row.pays.to_string()));
    }
    if row.free_spins > 0 {
        gives.push(format!("{} free spins", row.free_spins));
    }
    if row.bonus {
        gives.push("feature".to_owned());
    }
    gives.join(" + ")
}

fn role(role: SymbolRole) -> &'static str {
    match role {
        SymbolRole::Regular => "regular",
        SymbolRole::Wild => "wild",
        SymbolRole::Scatter => "scatter",
        SymbolRole::Bonus => "bonus",
        SymbolRole::FreeSpins => "free spins",
        SymbolRole::Collected => "collected",
        SymbolRole::SuperHigh => "super high",
        SymbolRole::Question => "becomes another symbol",
    }
}

pub(super) fn sets(info: &GameInfo, par: &Par, strips: bool) -> Markup {
    html! { @for set in &par.reel_sets { (section(&format!("Reels: {}", set.title), &whole(info, set, strips))) } }
}

fn whole(info: &GameInfo, set: &ReelSet, with_strips: bool) -> Markup {
    let reels = reels(set);
    let head: Vec<_> = ["symbol"].into_iter().chain(reels.iter().map(String::as_str)).collect();
    let mut rows: Vec<Vec<Markup>> = symbols(info, set)
        .map(|(name, counts)| [name.render()].into_iter().chain(counts.iter().map(Render::render)).collect())
        .collect();
    let stops = set.strips.iter().map(|strip| strip.len().render());
    rows.push([html! { span.sum { "stops" } }].into_iter().chain(stops).collect());
    let cycle =
        format!("Every stop of a reel is equally likely. Stop combinations: {}.", grouped(&set.cycle().to_string()));
    html! {
        h3 { "Symbols by reel" }
        (table(&head, rows))
        (note(cycle))
        @if with_strips { (strips(info, set)) }
        @if !set.combinations.is_empty() { (combinations(info, set)) }
    }
}

fn reels(set: &ReelSet) -> Vec<String> {
    match set.strips.len() {
        1 => vec!["strip".to_owned()],
        reels => (1..=reels).map(|reel| format!("reel {reel}")).collect(),
    }
}

fn strips(info: &GameInfo, set: &ReelSet) -> Markup {
    let reels = reels(set);
    let head: Vec<_> = ["stop"].into_iter().chain(reels.iter().map(String::as_str)).collect();
    let longest = set.strips.iter().map(Vec::len).max().unwrap_or(0);
    let rows = (0..longest).map(|stop| {
        let on = |strip: &Vec<u8>| strip.get(stop).map_or_else(String::new, |symbol| symbol_name(info, *symbol));
        [stop.render()].into_iter().chain(set.strips.iter().map(|strip| on(strip).render())).collect()
    });
    let says = "A strip is circular. A reel shows its stop's symbol in the top row, and the next symbols below.";
    html! { details { summary { "The strips, stop by stop" } (note(says)) (table(&head, rows)) } }
}

fn combinations(info: &GameInfo, set: &ReelSet) -> Markup {
    let rows = set.combinations.iter().map(|of| {
        let row = info.paytable.iter().find(|row| row.symbol == of.symbol && row.count == of.count);
        let gives = match row.map(cell) {
            Some(gives) if !gives.is_empty() => gives,
            _ if pays(info, of) == (0, 0) => "feature".to_owned(),
            _ => String::new(),
        };
        let once = match of.chance > Exact::from_integer(0.into()) {
            true => grouped(&decimal(&of.chance.recip(), 2)),
            false => "never".to_owned(),
        };
        let name = format!("{} x {}", of.count, symbol_name(info, of.symbol));
        [name, gives, chance(&of.chance), once, percent(&of.rtp, RETURN_PLACES)].map(|cell| cell.render()).to_vec()
    });
    let of = match info.ways {
        true => {
            "Chance: expected number of ways with this combination in one spin. Return: expected win divided by the bet of a spin on \
             these reels."
        }
        false => {
            "Chance: probability of the combination on one line or, for symbols that count anywhere, in all visible positions. \
             Return: expected win divided by the bet of a spin on these reels."
        }
    };
    let head = ["combination", "pays", "chance", "one in", "returns"];
    html! { h3 { "Combinations" } (note(of)) (table(&head, rows)) }
}
