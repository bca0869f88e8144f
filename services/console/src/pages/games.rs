use super::{
    days, jobs,
    parts::{facts, table},
    returns::{returned, verdict},
    rules_text,
};
use crate::{
    document::asset,
    failure::Failure,
    layout,
    text::{count, percent, words},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, PreEscaped, html};
use motherlode_picture::sprite;
use motherlode_proto::spin::v1::{
    FeatureCombination, GameSummary, GetGameRequest, GetGameResponse, ListGamesRequest, PayRow, SpecialWin, Symbol,
    SymbolRole, ValueSet, bonus_prize,
};
use std::collections::BTreeSet;

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let games = visit.api.spin().list_games(ListGamesRequest {}).await?.into_inner().games;
    let rows = games.iter().map(|of| {
        vec![
            html! {
                @if sprite::for_game(&of.game).is_some() {
                    img.art src={ "/art/" (of.game) "/" (of.rules_version) } alt="" width="120" height="40" loading="lazy";
                }
                a href={ "/games/" (of.game) "/" (of.rules_version) } { (of.game) }
            },
            html! { (of.rules_version) },
            html! { (of.rules_date) },
            html! { code { (of.model_hash) } },
        ]
    });
    let content = html! {
        (table("Games", &["Game", "Rules", "Of", "Model"], rows.collect()))
        (returned(&visit, "").await?)
    };
    Ok(layout::page(&visit, "Games", content).await)
}

pub(super) async fn described(
    visit: &Visit,
    (game, rules_version): (String, String),
) -> Result<(GetGameResponse, GameSummary), Failure> {
    let request = GetGameRequest { game, rules_version, ..Default::default() };
    let told = visit.api.spin().get_game(request).await?.into_inner();
    let summary = told.summary.clone().unwrap_or_default();
    Ok((told, summary))
}

pub(crate) async fn game(Path(named): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let (told, summary) = described(&visit, named).await?;
    let content = html! {
        p.note { "Rules version " (summary.rules_version) " of " (summary.rules_date) ", model " code { (summary.model_hash) } }
        div.tiles {
            div.tile { span { "Return to player" } b { (percent(&told.rtp)) } }
            div.tile { span { "Standard deviation of a round" } b { (short(&told.std_dev_bets)) " bets" } }
            div.tile { span { "Highest win in a single spin" } b { (short(&told.max_win_bets)) " bets" } }
            div.tile { span { "Window" } b { (told.reels) " × " (told.rows) } }
        }
        ul.links {
            li { a href={ "/games/" (summary.game) "/" (summary.rules_version) "/par" } { "PAR sheet" } }
            li { a href={ "/games/" (summary.game) "/" (summary.rules_version) "/reels" } { "Its reels" } }
            li { a href={ "/games/" (summary.game) "/" (summary.rules_version) "/returns" } { "Its returns" } }
        }
        (symbols(&summary.game, &told))
        (pays(&told))
        (lines(&told))
        (figures(&told))
        (offers(&told))
        (jobs::simulations(&visit, &summary.game, &summary.rules_version).await?)
        section.rules { h2 { "Rules" } details { summary { "The rules as players read them" } (rules_text::set(&told.rules_text)) } }
    };
    Ok(layout::live_page(&visit, &told.title, content).await)
}

pub(crate) async fn returns(Path(named): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let (told, summary) = described(&visit, named).await?;
    let content = html! {
        ul.links { li { a href={ "/games/" (summary.game) "/" (summary.rules_version) } { "The game" } } }
        (verdict(&visit, &told).await?)
        @if !visit.may("ListReturns") { p.note { "Your credential has no role that permits the list of returns." } }
        (days::course(&visit, &told).await?)
        (returned(&visit, &summary.game).await?)
    };
    Ok(layout::page(&visit, &format!("{}: returns", told.title), content).await)
}

/// Serves the picture of a game's symbols as a file, because inline pictures of several games would share element ids.
pub(crate) async fn art(Path((game, version)): Path<(String, String)>) -> Result<Response, Failure> {
    let icon = sprite::icon(&game, &version).ok_or_else(|| Failure::unknown("There is no picture of this game."))?;
    Ok(asset("image/svg+xml", icon).await)
}

fn short(figure: &str) -> String {
    match figure.split_once('.') {
        Some((whole, part)) => format!("{}.{}", count(whole), part.get(..4).unwrap_or(part)),
        None => count(figure),
    }
}

fn symbols(game: &str, told: &GetGameResponse) -> Markup {
    let Some(whole) = sprite::for_game(game) else { return Markup::default() };
    let known = sprite::ids(game, &told.summary.clone().unwrap_or_default().rules_version);
    let embedded = sprite::embedded(whole, &known.iter().cloned().collect());
    let shown = |at: usize, of: &Symbol| {
        let id = known.get(at).cloned().unwrap_or_default();
        html! {
            li {
                svg.symbol viewBox="0 0 1 1" role="img" aria-label=(of.name) { (PreEscaped(format!("<use href=\"#C{id}\"/>"))) }
                span { (of.name) }
            }
        }
    };
    html! {
        section {
            h2 { "Symbols" }
            (embedded)
            ul.symbols { @for (at, symbol) in told.symbols.iter().enumerate() { (shown(at, symbol)) } }
        }
    }
}

fn pays(told: &GetGameResponse) -> Markup {
    let counts: BTreeSet<u32> = told.pay_rows.iter().map(|row| row.count).collect();
    let titles: Vec<_> = counts.iter().map(|of| format!("{of} of a kind")).collect();
    let head: Vec<_> = ["Symbol", "Role"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let row = |(at, of): (usize, &Symbol)| {
        let role = match of.role() {
            SymbolRole::Regular | SymbolRole::Unspecified => "–".to_owned(),
            role => words(role.as_str_name(), "SYMBOL_ROLE_"),
        };
        let cell = |count: &u32| {
            let row = told.pay_rows.iter().find(|row| row.symbol as usize == at && row.count == *count);
            html! { (row.map_or_else(|| "–".to_owned(), gives)) }
        };
        [html! { (of.name) }, html! { (role) }].into_iter().chain(counts.iter().map(cell)).collect()
    };
    let unit = match told.ways.is_empty() {
        true => {
            "Coins paid for each coin bet on the line or, for wins that count anywhere, for each coin of the total bet."
        }
        false => "Coins paid for each way. The number of ways is the product of the symbol's counts on the reels.",
    };
    let special = |of: &SpecialWin| vec![html! { (of.name) }, html! { (count(of.bets)) }];
    let prizes: Vec<_> = told.prizes.iter().filter_map(|of| of.kind.as_ref()).map(prize).collect();
    html! {
        section {
            h2 { "Payouts" }
            p.note { (unit) }
            (table("Pay table", &head, told.symbols.iter().enumerate().map(row).collect()))
            @if !told.special_wins.is_empty() {
                (table("Special wins", &["Special win", "Win (multiple of the total bet)"], told.special_wins.iter().map(special).collect()))
            }
            @if !prizes.is_empty() { p { "Prizes of the bonus: " (prizes.join(", ")) "." } }
        }
    }
}

fn gives(row: &PayRow) -> String {
    let mut gives = vec![];
    if row.pays > 0 {
        gives.push(count(row.pays) + if row.anywhere { " anywhere" } else { "" });
    }
    if row.free_spins > 0 {
        gives.push(format!("{} free spins", row.free_spins));
    }
    if row.starts_bonus {
        gives.push("bonus".to_owned());
    }
    if gives.is_empty() { "–".to_owned() } else { gives.join(" + ") }
}

fn prize(kind: &bonus_prize::Kind) -> String {
    match kind {
        bonus_prize::Kind::Jackpot(_) => "the jackpot".to_owned(),
        bonus_prize::Kind::Multiple(multiple) => format!("{} times the total bet", count(multiple)),
        bonus_prize::Kind::FreeSpins(spins) => format!("{} free spins", count(spins)),
    }
}

fn lines(told: &GetGameResponse) -> Markup {
    let rows = told.rows.max(1);
    let cell = |class: &str, reel: usize, row: u32| {
        let (x, y) = (reel * 11, row * 11);
        format!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"9\" height=\"9\" rx=\"1.5\"/>")
    };
    // Only the first picture defines the cells of the reel window; the other pictures refer to these cells.
    let one = |at: usize, line: &motherlode_proto::spin::v1::Line| {
        let reels = line.rows.len();
        let window = (0..reels).flat_map(|reel| (0..rows).map(move |row| cell("off", reel, row)));
        let window = match at {
            0 => format!("<g id=\"payline-window\">{}</g>", window.collect::<String>()),
            _ => "<use href=\"#payline-window\"/>".to_owned(),
        };
        let hits = line.rows.iter().enumerate().map(|(reel, row)| cell("on", reel, *row));
        (reels * 11, window + &hits.collect::<String>())
    };
    html! {
        @if !told.lines.is_empty() {
            section {
                h2 { "Lines" }
                div.paylines {
                    @for (at, line) in told.lines.iter().enumerate() {
                        @let (width, cells) = one(at, line);
                        div.payline { span { (at + 1) }
                            svg viewBox={ "0 0 " (width) " " (rows * 11) } aria-hidden="true" { (PreEscaped(cells)) } }
                    }
                }
            }
        }
    }
}

fn figures(told: &GetGameResponse) -> Markup {
    let mut rows = vec![
        ("Return to player, before rounding to minor units".to_owned(), percent(&told.rtp)),
        ("Hit frequency".to_owned(), percent(&told.hit_frequency)),
        ("Volatility index".to_owned(), told.volatility_index.clone()),
        ("Chance of the highest win in a single spin".to_owned(), told.max_win_probability.clone()),
        ("Exactness".to_owned(), told.exactness.clone()),
    ];
    rows.extend(
        told.jackpot_returns
            .iter()
            .flat_map(|with| &with.coins)
            .map(|of| (format!("Return at coin value {}, including the jackpot", of.coin_value), percent(&of.rtp_now))),
    );
    if let Some(top) = &told.win_up_to {
        let bets = |bets: &str| if bets.is_empty() { String::new() } else { format!("{} bets", count(bets)) };
        let at = match top.currency_code.is_empty() {
            true => String::new(),
            false => format!(" at {} {}", top.coin_value, top.currency_code),
        };
        rows.push(("Highest win of a round, without the gamble feature".to_owned(), bets(&top.bets) + &at));
        rows.push((
            "Upper bound on the chance of this win, without the gamble feature".to_owned(),
            top.probability_at_most.clone(),
        ));
        rows.push(("Highest win of a round, with the gamble feature".to_owned(), bets(&top.gambled_bets)));
        rows.push((
            "Upper bound on the chance of this win, with the gamble feature".to_owned(),
            top.gambled_probability_at_most.clone(),
        ));
        rows.push(("Explanation of the highest wins".to_owned(), top.says.clone()));
    }
    rows.extend(told.conditional_returns.iter().map(|of| (sentence(&of.title), percent(&of.rtp))));
    let values = |of: &ValueSet| of.values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    rows.extend(told.value_sets.iter().map(|of| (sentence(&of.title), values(of))));
    let name = |symbol: &u32| told.symbols.get(*symbol as usize).map_or("", |symbol| &symbol.name);
    let symbols = |of: &FeatureCombination| of.symbols.iter().map(name).collect::<Vec<_>>().join(", ");
    rows.extend(
        told.feature_combinations
            .iter()
            .map(|of| (format!("Symbols that start the feature {}", of.title), symbols(of))),
    );
    rows.extend(told.facts.iter().map(|fact| (sentence(&fact.title), grouped(&fact.value))));
    rows.retain(|(_, value)| !value.is_empty());
    html! {
        section { h2 { "Figures" }
            (facts(&rows.iter().map(|(name, value)| (name.as_str(), html! { (value) })).collect::<Vec<_>>())) }
    }
}

fn grouped(value: &str) -> String {
    if value.bytes().all(|byte| byte.is_ascii_digit()) { count(value) } else { value.to_owned() }
}

fn sentence(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn offers(told: &GetGameResponse) -> Markup {
    let row = |of: &motherlode_proto::spin::v1::CurrencyOffer| {
        let cash = |amount_minor| {
            let currency_code = of.currency_code.clone();
            motherlode_picture::figures::cash(&motherlode_proto::round::v1::Money { amount_minor, currency_code })
        };
        let coins: Vec<_> = of.coins.iter().map(|coin| coin.coin_value.as_str()).collect();
        vec![
            html! { (of.currency_code) },
            html! { (coins.join(", ")) },
            html! { (cash(of.bet_min_minor)) },
            html! { (cash(of.bet_default_minor)) },
            html! { (cash(of.bet_max_minor)) },
        ]
    };
    let head = ["Currency", "Coin values", "Lowest bet", "Usual bet", "Highest bet"];
    html! { section { h2 { "Stakes" } (table("Currencies", &head, told.currencies.iter().map(row).collect())) } }
}
