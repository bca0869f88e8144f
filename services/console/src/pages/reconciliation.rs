use super::{parts::wide_table, reports};
use crate::{
    days,
    failure::Failure,
    fields::query,
    layout,
    stops::pools,
    text::{count, eur},
    visit::Visit,
};
use axum::{extract::Path, response::Response};
use maud::{Markup, html};
use motherlode_proto::report::v1::{GetPoolStatementRequest, GetPoolStatementResponse};
use motherlode_tables::{Column, Kind, Value, column};
use tonic::Code;

const DAYS: i64 = 14;
const DAYS_MAX: i64 = 366;
const SHOWN: usize = 100;

async fn statement(visit: &Visit, pool_id: &str, date: String) -> Result<Option<GetPoolStatementResponse>, Failure> {
    let request = GetPoolStatementRequest { pool_id: pool_id.to_owned(), date };
    match visit.api.report().get_pool_statement(request).await {
        Ok(answer) => Ok(Some(answer.into_inner())),
        // The pool did not exist on that day, or the day is in the future.
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(status.into()),
    }
}

async fn rows(visit: &Visit) -> Result<Vec<GetPoolStatementResponse>, Failure> {
    let mut rows = vec![];
    for pool in pools(visit).await? {
        let Some(today) = statement(visit, &pool.pool_id, String::new()).await? else { continue };
        let today_begins = days::begin(&today.date)?;
        let last = days::field(&visit.query, "to")?.unwrap_or(today_begins).min(today_begins);
        let first = days::field(&visit.query, "from")?.unwrap_or(last - (DAYS - 1) * days::SECONDS);
        if (last - first) / days::SECONDS >= DAYS_MAX {
            return Err(Failure::bad("An interval has at most 366 days."));
        }
        let mut at = last;
        while at >= first {
            match statement(visit, &pool.pool_id, days::date(at)).await? {
                Some(of) => rows.push(of),
                None => break,
            }
            at -= days::SECONDS;
        }
    }
    rows.sort_by(|one, other| (&other.date, &one.pool_id).cmp(&(&one.date, &other.pool_id)));
    Ok(rows)
}

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let rows = rows(&visit).await?;
    let asked = ["from", "to"].map(|name| (name, visit.query.get(name)));
    let file = |form: &str| query(&format!("/reports/reconciliation.{form}"), &asked);
    let content = html! {
        p { "The difference is a pool's income (contributions, house funding, money of retired pools) minus the \
             pool's outgoings and minus the increase of the pool's balance. If the difference is not zero, the pool's \
             meters are wrong. Each record is counted on the UTC day of its commit; meters show the state at the end \
             of the day." }
        form.row method="get" action="/reports/reconciliation" {
            p { label for="from" { "First day" } input #from type="date" name="from" value=(visit.query.get("from")); }
            p { label for="to" { "Last day" } input #to type="date" name="to" value=(visit.query.get("to")); }
            p { button type="submit" { "Show" } }
        }
        (shown(&rows))
        ul.links {
            li { a href=(file("csv")) { "Download this table as CSV" } }
            li { a href=(file("jsonl")) { "Download this table as JSON Lines" } }
            li { a href=(file("parquet")) { "Download this table as Parquet" } }
        }
    };
    Ok(layout::page(&visit, "Reconciliation", content).await)
}

fn is_zero(figure: &str) -> bool {
    figure.bytes().all(|byte| b"-0.".contains(&byte))
}

fn shown(rows: &[GetPoolStatementResponse]) -> Markup {
    let row = |of: &GetPoolStatementResponse| {
        let closing = of.closing.clone().unwrap_or_default();
        let figure = |figure: &str| html! { span.cash { (eur(figure)) } };
        let day = query(&format!("/jackpots/{}", of.pool_id), &[("date", &of.date)]) + "#statement-of-a-day";
        vec![
            html! { a.cash href=(day) { (of.date) } },
            html! { (of.pool_id) },
            html! { strong.cash.bad[!is_zero(&of.difference_eur)] { (eur(&of.difference_eur)) } },
            figure(&closing.contributions_eur),
            figure(&closing.house_funding_eur),
            figure(&closing.moved_in_eur),
            figure(&closing.paid_eur),
            figure(&closing.moved_out_eur),
            figure(&closing.increments_eur),
            figure(&closing.reserve_eur),
            html! { (count(of.hits.len())) },
        ]
    };
    let head = [
        "Day",
        "Pool",
        "Difference",
        "Contributions",
        "House funding",
        "Moved in",
        "Paid",
        "Moved out",
        "Increments",
        "Reserve",
        "Hits",
    ];
    match rows {
        [] => html! { p { "No activity." } },
        rows => html! {
            @if rows.iter().all(|of| is_zero(&of.difference_eur)) { p.notice { "Reconciled: every difference is 0.00 EUR." } }
            @else { p.notice { strong.bad { "Not reconciled: at least one difference is not zero." } } }
            (wide_table("Reconciliation by day", &head, rows.iter().take(SHOWN).map(row).collect()))
            @if rows.len() > SHOWN { p.note { (format!("The table shows the latest {SHOWN} of {} rows; the files contain all rows.", count(rows.len()))) } }
        },
    }
}

pub(crate) async fn file(Path(form): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let rows = rows(&visit).await?;
    let message = "motherlode.report.v1.GetPoolStatementResponse";
    reports::table(&form, "reconciliation", COLUMNS, message, &rows, |of, table| {
        let (opening, closing) = (of.opening.clone().unwrap_or_default(), of.closing.clone().unwrap_or_default());
        table.row(&[
            Value::Text(&of.date),
            Value::Text(&of.pool_id),
            Value::Text(&opening.contributions_eur),
            Value::Text(&closing.contributions_eur),
            Value::Text(&opening.house_funding_eur),
            Value::Text(&closing.house_funding_eur),
            Value::Text(&opening.moved_in_eur),
            Value::Text(&closing.moved_in_eur),
            Value::Text(&opening.paid_eur),
            Value::Text(&closing.paid_eur),
            Value::Text(&opening.moved_out_eur),
            Value::Text(&closing.moved_out_eur),
            Value::Text(&opening.increments_eur),
            Value::Text(&closing.increments_eur),
            Value::Text(&opening.reserve_eur),
            Value::Text(&closing.reserve_eur),
            Value::from_number(of.hits.len() as u64)?,
            Value::Text(&of.difference_eur),
        ])
    })
}

const COLUMNS: &[Column] = &[
    column("date", Kind::Text),
    column("pool", Kind::Text),
    column("contributions_before", Kind::Text),
    column("contributions", Kind::Text),
    column("house_funding_before", Kind::Text),
    column("house_funding", Kind::Text),
    column("moved_in_before", Kind::Text),
    column("moved_in", Kind::Text),
    column("paid_before", Kind::Text),
    column("paid", Kind::Text),
    column("moved_out_before", Kind::Text),
    column("moved_out", Kind::Text),
    column("increments_before", Kind::Text),
    column("increments", Kind::Text),
    column("reserve_before", Kind::Text),
    column("reserve", Kind::Text),
    column("hits", Kind::Integer),
    column("difference", Kind::Text),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_24_a_days_difference_stands_out_unless_it_is_zero() {
        assert!(is_zero("0") && is_zero("0.000000000") && !is_zero("0.000000001") && !is_zero("-1"));
        let day = |difference: &str| GetPoolStatementResponse {
            date: "2027-01-02".into(),
            pool_id: "bewitched".into(),
            difference_eur: difference.into(),
            ..Default::default()
        };
        let fair = shown(&[day("0")]).into_string();
        assert!(fair.contains("Reconciled: every") && !fair.contains("bad"), "{fair}");
        assert!(shown(&[day("0.000000001")]).into_string().contains("bad"));
        assert_eq!(shown(&[]).into_string(), "<p>No activity.</p>");
    }
}
