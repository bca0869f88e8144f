//! Notices about suspended pools, and about operators and games that are switched off.

use crate::{
    failure::{Failure, capital},
    section_cache::FRESH,
    text::{count, when},
    visit::Visit,
};
use maud::{Markup, PreEscaped, html};
use motherlode_proto::{
    jackpot::v1::{GetPoolRequest, Pool, PoolStatus},
    ledger::v1::{ListSwitchesRequest, Switch, SwitchedOff},
    spin::v1::ListGamesRequest,
};
use std::{collections::BTreeSet, time::Instant};
use tonic::{Code, Status};

const NAMED_MAX: usize = 5;

pub(crate) async fn banner(visit: &Visit) -> Markup {
    let made = async {
        match stops(visit).await.as_slice() {
            [] => Markup::default(),
            stops => html! {
                div.banner role="alert" {
                    ul { @for stop in stops { li { (stop) } } }
                    @if visit.may("ListSwitches") && visit.path != "/trust" { a href="/trust" { "Switches" } }
                }
            },
        }
    };
    let Some(part) = visit.app.shared.part(format!("{} banner {}", visit.who().operator, visit.path == "/trust"))
    else {
        return made.await;
    };
    let mut held = part.lock().await;
    if let Some((_, text)) = held.as_ref().filter(|(made, _)| made.elapsed() < FRESH) {
        return PreEscaped(text.clone());
    }
    let made = made.await;
    *held = Some((Instant::now(), made.0.clone()));
    made
}

pub(crate) async fn stops(visit: &Visit) -> Vec<Markup> {
    let mut told = vec![];
    match visit.api.ledger().list_switches(ListSwitchesRequest {}).await {
        Ok(answer) => {
            let off = answer.into_inner().switched_off;
            told.extend(off.iter().take(NAMED_MAX).map(switched_off));
            let more = off.len().saturating_sub(NAMED_MAX);
            if more > 0 {
                told.push(html! { (format!("New rounds are also stopped by {} more switches.", count(more))) });
            }
        }
        Err(status) => told.extend(unknown("switches", &status)),
    }
    match pools(visit).await {
        Ok(pools) => {
            let suspended = pools.iter().filter(|pool| pool.status() == PoolStatus::Suspended);
            told.extend(suspended.map(|pool| {
                html! { "The pool " a href={ "/jackpots/" (pool.pool_id) } { (pool.pool_id) } " is suspended: it takes no contributions and cannot be won." }
            }));
        }
        Err(Failure::Refused(status)) => told.extend(unknown("pools", &status)),
        Err(_) => {}
    }
    told
}

fn switched_off(off: &SwitchedOff) -> Markup {
    let SwitchedOff { switch, reason, actor, time, .. } = off;
    html! {
        (format!("New rounds of {} have been switched off since ", part(&switch.clone().unwrap_or_default()))) (when(time.as_ref()))
        @if !actor.is_empty() { " by " (actor) } ": " (reason)
    }
}

fn unknown(what: &str, status: &Status) -> Option<Markup> {
    let read = || html! { (format!("Failed to read the state of the {what}: {}.", capital(status.message()))) };
    (!matches!(status.code(), Code::Unauthenticated | Code::Unimplemented)).then(read)
}

pub(crate) fn part(switch: &Switch) -> String {
    let Switch { operator_id, game, rules_version } = switch;
    let game = [game.as_str(), rules_version.as_str()].join(" ");
    match (operator_id.as_str(), game.trim()) {
        ("", "") => "the whole service".to_owned(),
        (operator, "") => format!("every game of {operator}"),
        ("", game) => game.to_owned(),
        (operator, game) => format!("{game} of {operator}"),
    }
}

pub(crate) async fn pools(visit: &Visit) -> Result<Vec<Pool>, Failure> {
    let games = visit.api.spin().list_games(ListGamesRequest {}).await?.into_inner().games;
    let games: BTreeSet<_> = games.into_iter().map(|game| game.game).collect();
    let mut pools = vec![];
    for pool_id in games {
        match visit.api.jackpot().get_pool(GetPoolRequest { pool_id }).await {
            Ok(answer) => pools.extend(answer.into_inner().pool),
            Err(status) if status.code() == Code::NotFound => {}
            Err(status) => return Err(status.into()),
        }
    }
    Ok(pools)
}
