use super::games::described;
use crate::{document, failure::Failure, layout, sheet_cache::key, visit::Visit};
use axum::{extract::Path, response::Response};
use http::HeaderMap;
use maud::{Markup, PreEscaped, html};
use motherlode_picture::par::{self, SheetPart, report::CashReport};
use motherlode_proto::spin::v1::GetGameResponse;
use prost::Message;

type Named = Path<(String, String)>;

pub(crate) async fn page(Path(named): Named, headers: HeaderMap, visit: Visit) -> Result<Response, Failure> {
    part(named, &headers, &visit, SheetPart::Figures).await
}

pub(crate) async fn reels(Path(named): Named, headers: HeaderMap, visit: Visit) -> Result<Response, Failure> {
    part(named, &headers, &visit, SheetPart::Reels).await
}

async fn part(
    named: (String, String),
    headers: &HeaderMap,
    visit: &Visit,
    part: SheetPart,
) -> Result<Response, Failure> {
    let (told, summary) = described(visit, named).await?;
    let path = format!("/games/{}/{}", summary.game, summary.rules_version);
    let (name, other, link) = match part {
        SheetPart::Reels => ("reels", "/par", "PAR sheet"),
        SheetPart::Figures => ("PAR sheet", "/reels", "Its reels"),
    };
    let content = html! {
        ul.links {
            li { a href=(path) { "The game" } }
            li { a href={ (path) (other) } { (link) } }
        }
        @if part == SheetPart::Reels {
            p.note { "To write a page that lists every stop of each reel strip, run " code { "motherlode par " (summary.game) " --format html" } "." }
        }
        (sheet(visit, &told, part).await?)
    };
    Ok(document::tagged(headers, layout::page(visit, &format!("{}: {name}", told.title), content).await).await)
}

async fn sheet(visit: &Visit, told: &GetGameResponse, part: SheetPart) -> Result<Markup, Failure> {
    let (cash, mut told) = (cash(told), told.clone());
    // The sheet does not show the returns per coin value, which vary with exchange rates. The cache key excludes them.
    if let Some(returns) = &mut told.jackpot_returns {
        returns.coins.clear();
    }
    let name = if part == SheetPart::Reels { "reels" } else { "figures" };
    let key = key(name, &told.encode_to_vec());
    let compute = async {
        let computed = tokio::task::spawn_blocking(move || par::part(&told, &cash, part));
        computed.await.ok().flatten().map(Markup::into_string)
    };
    let missing = "This process lacks the game model of the service, so it cannot show the PAR sheet.";
    let sheet = visit.app.sheets.sheet(key, compute).await.ok_or_else(|| Failure::unknown(missing))?;
    Ok(html! { div.par { (PreEscaped(&*sheet)) } })
}

fn cash(told: &GetGameResponse) -> Vec<CashReport> {
    let of_currency = told.currencies.iter().flat_map(|offer| offer.coins.iter().map(move |coin| (offer, coin)));
    let report = of_currency.map(|(offer, coin)| CashReport {
        currency: offer.currency_code.clone(),
        coin_value: coin.coin_value.clone(),
        rtp: coin.rtp_cash.clone(),
        rounds_wins: coin.rounds_wins,
        within: coin.rtp_cash_within.clone(),
        mixed_at_most: coin.rtp_cash_mixed.clone(),
    });
    report.collect()
}
