use crate::{figures::Figures, follower::Follower};
use motherlode_ledger::fields;
use motherlode_proto::report::v1 as wire;
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::{Currency, Revenue, RevenueKey, RevenueSums, date, is_name};

const PAGE_SIZE: usize = 100;
const PAGE_SIZE_MAX: usize = 500;

pub(crate) async fn list(
    follower: &Follower,
    caller: &Caller,
    request: &wire::ListRevenueRequest,
) -> Result<wire::ListRevenueResponse, Refusal> {
    let operator = match request.operator_id.as_str() {
        "" => caller.own().map(str::to_owned),
        id => Some(fields::id("operator_id", id)?.to_owned()),
    };
    let game = fields::optional_id("game", &request.game)?.to_owned();
    let from = day("from_date", &request.from_date)?.unwrap_or(i64::MIN);
    let to = day("to_date", &request.to_date)?.unwrap_or(i64::MAX - 1);
    let size = page_size(request.page_size, PAGE_SIZE, PAGE_SIZE_MAX)?;
    let after = match request.page_token.as_str() {
        "" => None,
        token => Some(named(token).ok_or_else(fields::page_token_unknown)?),
    };
    if operator.as_ref().is_some_and(|operator| !caller.sees(operator)) {
        let ((), position) = follower.read(|_| ()).await?;
        return Ok(wire::ListRevenueResponse { position, ..wire::ListRevenueResponse::default() });
    }
    let page = move |partitions: &[&Figures]| {
        let wanted = |(key, _): &(&RevenueKey, &RevenueSums)| {
            operator.as_ref().is_none_or(|operator| key.operator == *operator) && (game.is_empty() || key.game == game)
        };
        let mut sum = Revenue::default();
        for figures in partitions {
            let rows = figures.revenue.of_days(from, to, after.as_ref()).filter(wanted).take(size + 1);
            sum.extend(rows.map(|(key, sums)| (key.clone(), *sums)));
        }
        sum.iter().take(size + 1).map(|(key, sums)| (key.clone(), *sums)).collect::<Vec<_>>()
    };
    let (mut rows, position) = follower.read_apart(caller, page).await?;
    let more = rows.len() > size;
    rows.truncate(size);
    let next_page_token = rows.last().filter(|_| more).map(|(key, _)| token(key)).unwrap_or_default();
    let rows = rows.iter().map(|(key, sums)| row(key, sums)).collect();
    Ok(wire::ListRevenueResponse { rows, next_page_token, position })
}

pub(crate) fn page_size(asked: i32, usual: usize, max: usize) -> Result<usize, Refusal> {
    match usize::try_from(asked) {
        Ok(0) => Ok(usual),
        Ok(size) => Ok(size.min(max)),
        Err(_) => Err(Refusal::field("page_size", "must not be negative")),
    }
}

pub(crate) fn day(field: &str, text: &str) -> Result<Option<i64>, Refusal> {
    match text {
        "" => Ok(None),
        text => {
            date::parse(text).map(Some).ok_or_else(|| Refusal::field(field, "must be a day in the form YYYY-MM-DD"))
        }
    }
}

fn token(key: &RevenueKey) -> String {
    format!("{}/{}/{}/{}", date::text(key.day), key.operator, key.game, key.currency)
}

fn named(token: &str) -> Option<RevenueKey> {
    let mut parts = token.split('/');
    let (day, operator, game, currency) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let key = RevenueKey {
        day: date::parse(day)?,
        operator: Some(operator).filter(|name| is_name(name))?.into(),
        game: Some(game).filter(|name| is_name(name))?.into(),
        currency: currency.parse::<Currency>().ok()?,
    };
    parts.next().is_none().then_some(key)
}

fn row(key: &RevenueKey, sums: &RevenueSums) -> wire::Revenue {
    wire::Revenue {
        date: date::text(key.day),
        operator_id: key.operator.to_string(),
        game: key.game.to_string(),
        currency_code: key.currency.to_string(),
        currency_digits: key.currency.digits(),
        rounds: sums.rounds,
        free_rounds: sums.free_rounds,
        voided_rounds: sums.voided,
        bets_minor: sums.bets.to_string(),
        free_bets_minor: sums.free_bets.to_string(),
        wins_minor: sums.wins.to_string(),
        jackpots_minor: sums.jackpots.to_string(),
        refunds_minor: sums.refunds.to_string(),
        free_bets_returned_minor: sums.free_bets_returned.to_string(),
        wins_taken_back_minor: sums.wins_taken_back.to_string(),
        revenue_minor: sums.revenue().to_string(),
    }
}
