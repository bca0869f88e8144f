use super::{
    course::course,
    incidents::incidents,
    parts::{act, changes, facts, position, proposed, round, section, table},
    reports,
};
use crate::{
    failure::Failure,
    fields::query,
    layout, live,
    stops::pools,
    text::{count, eur, money, when, words},
    visit::{Form, Visit},
};
use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use maud::{Markup, html};
use motherlode_proto::{
    jackpot::v1::{
        Award, GetPoolRequest, ListAwardsRequest, ListAwardsResponse, Pool, PoolStatus, ResumePoolRequest,
        SuspendPoolRequest, WatchCountersRequest,
    },
    report::v1::{GetPoolStatementRequest, GetPoolStatementResponse, PoolMeters},
};
use motherlode_state::HOME;
use motherlode_tables::{Column, Kind, Value, column};

pub(crate) const REFRESH_S: u32 = 3;

pub(crate) async fn page(visit: Visit) -> Result<Response, Failure> {
    let content = html! { (counting(&visit).await?) (changes(&visit).await?) };
    Ok(layout::live_page(&visit, "Jackpots", content).await)
}

pub(crate) async fn part(visit: Visit) -> Result<Response, Failure> {
    live::shared(&visit, counting(&visit)).await
}

async fn counting(visit: &Visit) -> Result<Markup, Failure> {
    Ok(live::part(visit, Some("/live/jackpots"), REFRESH_S, tiles(visit).await?))
}

pub(crate) async fn tiles(visit: &Visit) -> Result<Markup, Failure> {
    let pools = pools(visit).await?;
    Ok(html! {
        @if pools.is_empty() { p { "There is no pool." } }
        div.tiles.wide {
            @for pool in &pools {
                div.tile {
                    span { a href={ "/jackpots/" (pool.pool_id) } { (pool.pool_id) } ", " (status(pool)) }
                    b.figure { (eur(&pool.base_figure_eur)) }
                    span { (format!("for a bet with coin value {}; jackpot number {}", pool.terms.clone().unwrap_or_default().base_coin, pool.cycle)) }
                }
            }
        }
    })
}

fn status(pool: &Pool) -> String {
    words(pool.status().as_str_name(), "POOL_STATUS_")
}

pub(crate) async fn pool(Path(pool_id): Path<String>, visit: Visit) -> Result<Response, Failure> {
    let (pool, figures) = figures(&visit, &pool_id).await?;
    let terms = pool.terms.clone().unwrap_or_default();
    let content = html! {
        (figures)
        section {
            h2 { "Terms, version " (terms.version) }
            (facts(&[
                ("Share of each bet", html! { (count(terms.contribution_ppm)) " millionths" }),
                ("Seed (initial jackpot) at the base coin value", html! { (eur(&terms.seed_eur)) }),
                ("Base coin value", html! { (eur(&terms.base_coin)) }),
                ("Counters change every", html! { (count(terms.refresh_ms)) " ms" }),
                ("Increments for a second hit before the counters change", html! { (words(terms.collision_share().as_str_name(), "COLLISION_SHARE_")) }),
            ]))
        }
        (drawn(&visit, &pool_id).await?)
        (awards(&visit, &pool_id).await?)
        (statement(&visit, &pool_id).await?)
        (incidents(&visit, &pool.pool_id).await?)
        (switched(&visit, &pool)?)
        (changes(&visit).await?)
    };
    Ok(layout::live_page(&visit, &format!("Jackpot {pool_id}"), content).await)
}

pub(crate) async fn pool_part(Path(pool_id): Path<String>, visit: Visit) -> Result<Response, Failure> {
    live::shared(&visit, async { Ok(figures(&visit, &pool_id).await?.1) }).await
}

async fn figures(visit: &Visit, pool_id: &str) -> Result<(Pool, Markup), Failure> {
    let answer = visit.api.jackpot().get_pool(GetPoolRequest { pool_id: pool_id.to_owned() }).await?;
    let pool = answer.into_inner().pool.unwrap_or_default();
    let content = html! {
        div.tiles {
            div.tile { span { "Jackpot for coin value " (eur(&pool.terms.clone().unwrap_or_default().base_coin)) } b.figure { (eur(&pool.base_figure_eur)) } }
            div.tile { span { "State" } b { (status(&pool)) } }
            div.tile { span { "Cycle" } b { (count(pool.cycle)) } }
        }
        section {
            h2 { "Meters" }
            p.note { "The sum of contributions and house funding equals the sum of payments, increments and reserve, accurate to one billionth of a euro." }
            (facts(&[
                ("Increments", html! { (eur(&pool.increments_eur)) }),
                ("Reserve", html! { (eur(&pool.reserve_eur)) }),
                ("House funding", html! { (eur(&pool.house_funding_eur)) }),
                ("Paid", html! { (eur(&pool.paid_eur)) }),
                ("Contributions", html! { (eur(&pool.contributions_eur)) }),
                ("Contributions included up to log position", html! { (count(pool.pooled_position)) }),
            ]))
        }
        (counters(visit, pool_id).await?)
    };
    let address = format!("/live/jackpots/{pool_id}");
    Ok((pool, live::part(visit, Some(&address), REFRESH_S, content)))
}

async fn counters(visit: &Visit, pool_id: &str) -> Result<Markup, Failure> {
    let request = WatchCountersRequest { pool_id: pool_id.to_owned(), ..Default::default() };
    let first = match visit.api.jackpot().watch_counters(request).await {
        Ok(mut answer) => answer.get_mut().message().await.map(|told| tonic::Response::new(told.unwrap_or_default())),
        Err(status) => Err(status),
    };
    section("Counters", first, |told| {
        let row = |of: &motherlode_proto::jackpot::v1::Counter| {
            vec![html! { (of.coin_value) " EUR" }, html! { (eur(&of.figure)) }]
        };
        html! {
            p.note { "As of " (when(told.refresh_time.as_ref())) }
            (table("Counters", &["Coin value", "Jackpot"], told.counters.iter().map(row).collect()))
        }
    })
}

async fn awards(visit: &Visit, pool_id: &str) -> Result<Markup, Failure> {
    if !visit.may("ListAwards") {
        return Ok(Markup::default());
    }
    let answer = listed(visit, pool_id).await;
    section("Hits and awards", answer, |answer| {
        let row = |of: &Award| {
            vec![
                round(visit, &of.round_id, Some((of.hit_partition, of.hit_position))),
                when(of.time.as_ref()),
                html! { (count(of.cycle)) @if of.collision { ", collision" } },
                html! { (of.coin_value) },
                html! { (money(of.amount.as_ref())) },
                html! { (eur(&of.increments_eur)) },
                html! { (eur(&of.seed_from_reserve_eur)) },
                html! { (eur(&of.seed_from_house_eur)) },
                html! { (eur(&of.to_reserve_eur)) },
                html! { (eur(&of.paid_eur)) },
                html! { (of.hit_partition) ":" (position(visit, of.hit_partition, of.hit_position)) },
                position(visit, HOME, of.position),
            ]
        };
        let head = [
            "Round",
            "Time",
            "Cycle",
            "Coin",
            "Award",
            "From increments",
            "Seed from reserve",
            "Seed from house",
            "To reserve",
            "Booked as paid",
            "Hit at",
            "Priced at",
        ];
        let next = query(&format!("/jackpots/{pool_id}"), &[("page", &answer.next_page_token)]);
        let file =
            |form: &str| query(&format!("/jackpots/{pool_id}/awards.{form}"), &[("page", visit.query.get("page"))]);
        html! {
            p.note { "An award is the jackpot (seed and increments) at the hit's position in the log, with the winning \
                 bet's contribution, times coin value / base coin value. The seed is paid from the reserve first, then from \
                 house funding. The rest of the increments goes to the reserve. A collision is a second hit before the \
                 counters change: the second hit gets all increments since the first hit, and the seed times coin value \
                 / base coin value." }
            @if answer.awards.is_empty() { p { "None." } }
            @else {
                (table("Awards", &head, answer.awards.iter().map(row).collect()))
                ul.links { li { a href=(file("csv")) { "Download awards as CSV" } } li { a href=(file("parquet")) { "Download awards as Parquet" } } }
            }
            @if !answer.next_page_token.is_empty() { p { a href=(next) rel="next" { "Earlier" } } }
        }
    })
}

async fn listed(visit: &Visit, pool_id: &str) -> Result<tonic::Response<ListAwardsResponse>, tonic::Status> {
    let page_token = visit.query.get("page").to_owned();
    let request = ListAwardsRequest { pool_id: pool_id.to_owned(), page_size: 20, page_token };
    visit.api.jackpot().list_awards(request).await
}

pub(crate) async fn awards_file(
    Path((pool_id, form)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Failure> {
    let awards = listed(&visit, &pool_id).await?.into_inner().awards;
    reports::table(&form, "awards", AWARD_COLUMNS, "motherlode.jackpot.v1.Award", &awards, |of, rows| {
        let amount = of.amount.clone().unwrap_or_default();
        rows.row(&[
            Value::Text(&of.round_id),
            Value::Time(of.time.map(|time| time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000)),
            Value::from_number(of.cycle)?,
            Value::Text(&of.collision.to_string()),
            Value::Text(&of.coin_value),
            Value::Text(&amount.currency_code),
            Value::Int(amount.amount_minor),
            Value::Text(&of.increments_eur),
            Value::Text(&of.seed_from_reserve_eur),
            Value::Text(&of.seed_from_house_eur),
            Value::Text(&of.to_reserve_eur),
            Value::Text(&of.paid_eur),
            Value::Int(of.hit_partition.into()),
            Value::from_number(of.hit_position)?,
            Value::from_number(of.position)?,
        ])
    })
}

const AWARD_COLUMNS: &[Column] = &[
    column("round_id", Kind::Text),
    column("time", Kind::Time),
    column("cycle", Kind::Integer),
    column("collision", Kind::Text),
    column("coin_value", Kind::Text),
    column("currency_code", Kind::Text),
    column("amount_minor", Kind::Integer),
    column("increments_eur", Kind::Text),
    column("seed_from_reserve_eur", Kind::Text),
    column("seed_from_house_eur", Kind::Text),
    column("to_reserve_eur", Kind::Text),
    column("paid_eur", Kind::Text),
    column("hit_partition", Kind::Integer),
    column("hit_position", Kind::Integer),
    column("position", Kind::Integer),
];

async fn drawn(visit: &Visit, pool_id: &str) -> Result<Markup, Failure> {
    if !visit.may("GetPoolStatement") {
        return Ok(Markup::default());
    }
    let date = visit.query.get("date").to_owned();
    let asked =
        visit.api.report().get_pool_statement(GetPoolStatementRequest { pool_id: pool_id.to_owned(), date }).await;
    match asked {
        Ok(told) => course(visit, pool_id, &told.into_inner().date).await,
        Err(_) => Ok(Markup::default()),
    }
}

async fn statement(visit: &Visit, pool_id: &str) -> Result<Markup, Failure> {
    if !visit.may("GetPoolStatement") {
        return Ok(Markup::default());
    }
    let date = visit.query.get("date").to_owned();
    let request = GetPoolStatementRequest { pool_id: pool_id.to_owned(), date: date.clone() };
    let answer = visit.api.report().get_pool_statement(request).await;
    let form = html! {
        form.row method="get" action={ "/jackpots/" (pool_id) } {
            p { label for="date" { "Day in UTC" } input #date type="date" name="date" value=(date); }
            p { button type="submit" { "Show" } }
        }
    };
    section("Pool statement of a day", answer, |told| html! { (form) (meters(&told)) })
}

fn meters(told: &GetPoolStatementResponse) -> Markup {
    let (opening, closing) = (told.opening.clone().unwrap_or_default(), told.closing.clone().unwrap_or_default());
    let row = |name: &str, of: fn(&PoolMeters) -> String| {
        vec![html! { (name) }, html! { (of(&opening)) }, html! { (of(&closing)) }]
    };
    let rows = vec![
        row("Contributions", |of| eur(&of.contributions_eur)),
        row("House funding", |of| eur(&of.house_funding_eur)),
        row("Moved in", |of| eur(&of.moved_in_eur)),
        row("Paid", |of| eur(&of.paid_eur)),
        row("Moved out", |of| eur(&of.moved_out_eur)),
        row("Increments", |of| eur(&of.increments_eur)),
        row("Reserve", |of| eur(&of.reserve_eur)),
        row("Cycle", |of| count(of.cycle)),
    ];
    html! {
        (table(&format!("Meters of {}", told.date), &[&told.date, "At the day's start", "At the day's end (today: now)"], rows))
        p { (count(told.hits.len())) " hits. Income minus outgoings, minus the increase of the balance: "
                strong { (eur(&told.difference_eur)) } }
    }
}

fn switched(visit: &Visit, pool: &Pool) -> Result<Markup, Failure> {
    let path = format!("/jackpots/{}", pool.pool_id);
    let none = Markup::default();
    let form = match pool.status() {
        PoolStatus::Active if visit.may("SuspendPool") => html! {
            p { "A suspended pool takes no increments and cannot be won. The suspension takes effect at once." }
            (act(visit, &format!("{path}/suspend"), "Suspend the pool", true, &none)?)
        },
        PoolStatus::Suspended if visit.may("ResumePool") => html! {
            p { "If operators are configured, a second actor must approve the resumption." }
            (act(visit, &format!("{path}/resume"), "Resume the pool", false, &none)?)
        },
        _ => return Ok(none),
    };
    Ok(html! { section { h2 { "Administration" } (form) } })
}

pub(crate) async fn suspend(Path(pool_id): Path<String>, form: Form) -> Result<Redirect, Failure> {
    let back = format!("/jackpots/{pool_id}");
    let get = |field: &str| form.fields.get(field).to_owned();
    let request =
        SuspendPoolRequest { request_id: get("request"), pool_id, reason: get("reason"), actor: get("actor") };
    let answer = form.visit.api.pool_changes().suspend_pool(request).await.map_err(|status| form.refused(status))?;
    Ok(form.done(&back, proposed("The pool has been suspended", answer.into_inner().change_id)))
}

pub(crate) async fn resume(Path(pool_id): Path<String>, form: Form) -> Result<Redirect, Failure> {
    let back = format!("/jackpots/{pool_id}");
    let get = |field: &str| form.fields.get(field).to_owned();
    let request = ResumePoolRequest { request_id: get("request"), pool_id, actor: get("actor") };
    let answer = form.visit.api.pool_changes().resume_pool(request).await.map_err(|status| form.refused(status))?;
    Ok(form.done(&back, proposed("The pool has been resumed", answer.into_inner().change_id)))
}
