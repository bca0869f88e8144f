use super::games::described;
use crate::{failure::Failure, layout, visit::Visit};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_picture::par::{self, report::CashReport};
use motherlode_proto::spin::v1::GetGameResponse;

pub(crate) async fn page(Path(named): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let (told, summary) = described(&visit, named).await?;
    let path = format!("/games/{}/{}", summary.game, summary.rules_version);
    let content = html! {
        ul.links {
            li { a href=(path) { "The game" } }
            li { a href={ (path) "/reels" } { "Its reels" } }
        }
        (sheet(&told, par::SheetPart::Figures).await?)
    };
    Ok(layout::page(&visit, &format!("{}: PAR sheet", told.title), content).await)
}

pub(crate) async fn reels(Path(named): Path<(String, String)>, visit: Visit) -> Result<Response, Failure> {
    let (told, summary) = described(&visit, named).await?;
    let path = format!("/games/{}/{}", summary.game, summary.rules_version);
    let content = html! {
        ul.links {
            li { a href=(path) { "The game" } }
            li { a href={ (path) "/par" } { "PAR sheet" } }
        }
        p.note { "The strips themselves, stop by stop, are on the page that " code { "motherlode par " (summary.game) " --format html" } " writes." }
        (sheet(&told, par::SheetPart::Reels).await?)
    };
    Ok(layout::page(&visit, &format!("{}: reels", told.title), content).await)
}

async fn sheet(told: &GetGameResponse, part: par::SheetPart) -> Result<Markup, Failure> {
    let (cash, told) = (cash(told), told.clone());
    let computed = tokio::task::spawn_blocking(move || par::part(&told, &cash, part));
    let missing = "This process does not have the service's model, so it cannot show the sheet.";
    let sheet = computed.await.ok().flatten().ok_or_else(|| Failure::unknown(missing))?;
    Ok(html! { div.par { (sheet) } })
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
