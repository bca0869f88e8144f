use super::parts::{facts, section, table};
use crate::{
    failure::Failure,
    text::{money, when},
    visit::Visit,
};
use maud::{Markup, html};
use motherlode_proto::{
    ledger::v1::{GetPlayerDayRequest, GetPlayerDayResponse, PlayerSession},
    round::v1::Account,
};

pub(super) async fn today(visit: &Visit, account: &Account) -> Result<Markup, Failure> {
    if !visit.may("GetPlayerDay") {
        return Ok(Markup::default());
    }
    let request = GetPlayerDayRequest { account: Some(account.clone()) };
    let answer = visit.api.ledger().get_player_day(request).await;
    section("Today: limits and sessions", answer, |told| shown(&told))
}

fn shown(told: &GetPlayerDayResponse) -> Markup {
    let limits = told.limits.clone().unwrap_or_default();
    let (played, unseen) = (told.played_ms, told.unseen_ms);
    let due = limits.reality_check_ms.is_some_and(|limit| unseen >= limit.into());
    let row = |of: &PlayerSession| {
        vec![
            html! { code { (of.session_name) } },
            html! { (of.game) },
            when(of.open_time.as_ref()),
            html! { @match of.held_ms { 0 => "live", left => { (format!("connection lost; another session of this game can be opened in {}", time(left))) } } },
        ]
    };
    html! {
        @if limits.loss_max.is_some() {
            p.notice {
                "The loss limit of the day is " (money(limits.loss_max.as_ref())) ". Wins minus bets so far: " (money(told.net.as_ref()))
                ". A bet that could exceed the limit is refused (LOSS_LIMIT) until 00:00 UTC."
            }
        }
        (facts(&[
            ("Played", html! { (time(played)) (of_limit(limits.played_ms_max)) }),
            ("Time since the last reality check", html! { (time(unseen)) (of_limit(limits.reality_check_ms)) @if due { strong.bad { ", due" } } }),
            ("Wins minus bets", html! { (money(told.net.as_ref())) @if limits.loss_max.is_some() { ", may lose " (money(limits.loss_max.as_ref())) } }),
            ("Maximum bet per round", html! { @if limits.bet_max.is_some() { (money(limits.bet_max.as_ref())) } @else { "any bet that the game offers" } }),
            ("Latest action", html! { @if told.act_time.is_some() { (when(told.act_time.as_ref())) } @else { "none" } }),
        ]))
        @match told.sessions.as_slice() {
            [] => p { "No session." },
            all => (table("Sessions", &["Session", "Game", "Opened", "State"], all.iter().map(row).collect())),
        }
    }
}

fn of_limit(limit_ms: Option<u32>) -> Markup {
    html! { @if let Some(limit) = limit_ms { " of " (time(limit.into())) } }
}

fn time(ms: u64) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {seconds} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::{ledger::v1::PlayerLimits, round::v1::Money};

    #[test]
    fn pl_26_a_day_is_shown_beside_its_limits() {
        let limits =
            PlayerLimits { reality_check_ms: Some(600_000), played_ms_max: Some(7_200_000), ..Default::default() };
        let told = GetPlayerDayResponse {
            played_ms: 3_661_000,
            unseen_ms: 600_000,
            limits: Some(limits),
            ..Default::default()
        };
        let page = shown(&told).into_string();
        assert!(page.contains("1 h 1 min of 2 h 0 min"), "{page}");
        assert!(page.contains("10 min 0 s of 10 min 0 s<strong class=\"bad\">, due</strong>"), "{page}");
        assert!(page.contains("any bet that the game offers") && page.contains("No session."), "{page}");
        assert!(!page.contains("LOSS_LIMIT"), "{page}");
        let euro = |amount_minor| Some(Money { amount_minor, currency_code: "EUR".into() });
        let limits = PlayerLimits { loss_max: euro(5_000), ..Default::default() };
        let page = shown(&GetPlayerDayResponse { net: euro(-4_900), limits: Some(limits), ..Default::default() });
        let page = page.into_string();
        assert!(page.contains("is 50.00 EUR. Wins minus bets so far: -49.00 EUR"), "{page}");
        let session = PlayerSession { game: "neptune".into(), held_ms: 4_000, ..Default::default() };
        let page = shown(&GetPlayerDayResponse { sessions: vec![session], ..Default::default() }).into_string();
        assert!(page.contains("another session of this game can be opened in 4 s") && !page.contains("due"), "{page}");
    }
}
