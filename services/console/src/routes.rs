use crate::{
    app::App,
    calls,
    document::asset,
    failure::Failure,
    failure_frame, guard, live, login,
    pages::{
        all_rounds, check, find, games, incidents, jackpots, jobs, log, now, open_rounds, par, player, player_names,
        players, public, reconciliation, refusals, reports, revenue, round, rounds, runbook, statement, switches,
        trust,
    },
    public::{PREFIX, refused},
};
use axum::{
    Router,
    extract::Request,
    middleware,
    response::Response,
    routing::{get, post},
};
use http::StatusCode;
use motherlode_picture::STYLE as STYLE_OF_PAGES;
use std::sync::{Arc, LazyLock};

static STYLE: LazyLock<String> = LazyLock::new(|| [STYLE_OF_PAGES, include_str!("console.css")].concat());
const KEYS: &str = include_str!("keys.js");
const CHECK: &str = include_str!("check.js");
/// htmx 4.0.1, unmodified; its licence (0BSD) is in the same folder.
const HTMX: &str = include_str!("../vendor/htmx.min.js");
const ICON: &str = include_str!("icon.svg");

pub(crate) fn router(app: App) -> Router {
    let public = if app.public.is_some() { public_pages() } else { Router::new() };
    Router::new()
        .route("/", get(now::page))
        .route("/find", get(find::page))
        .route("/round/{operator}/{player}/{number}", get(round::page))
        .route("/round/{operator}/{player}/{number}/json", get(round::json))
        .route("/round/{operator}/{player}/{number}/words", get(round::words))
        .route("/round/{operator}/{player}/{number}/proof", get(round::proof))
        .route("/round/{operator}/{player}/{number}/check", get(check::page))
        .route("/round/{operator}/{player}/{number}/void", post(round::void))
        .route("/round/{operator}/{player}/{number}/close", post(round::close))
        .route("/players", get(players::page))
        .route("/players.{form}", get(players::file))
        .route("/player/{operator}/{player}", get(player::page))
        .route("/player/{operator}/{player}/statement", get(statement::page))
        .route("/player/{operator}/{player}/statement.{form}", get(statement::file))
        .route("/player/{operator}/{player}/rounds.{form}", get(rounds::file))
        .route("/open/{operator}", get(open_rounds::page))
        .route("/open/{operator}/rounds.{form}", get(open_rounds::file))
        .route("/rounds", get(all_rounds::page))
        .route("/rounds.{form}", get(all_rounds::file))
        .route("/refusals", get(refusals::page))
        .route("/refusals.{form}", get(refusals::file))
        .route("/jackpots", get(jackpots::page))
        .route("/jackpots/{pool}", get(jackpots::pool))
        .route("/jackpots/{pool}/awards.{form}", get(jackpots::awards_file))
        .route("/jackpots/{pool}/suspend", post(jackpots::suspend))
        .route("/jackpots/{pool}/resume", post(jackpots::resume))
        .route("/jackpots/{pool}/incident", post(incidents::declare))
        .route("/changes/{id}/approve", post(trust::approve))
        .route("/changes/{id}/reject", post(trust::reject))
        .route("/switches", get(switches::confirm).post(switches::switch))
        .route("/games", get(games::page))
        .route("/art/{game}/{version}", get(games::art))
        .route("/games/{game}/{version}", get(games::game))
        .route("/games/{game}/{version}/par", get(par::page))
        .route("/games/{game}/{version}/reels", get(par::reels))
        .route("/games/{game}/{version}/returns", get(games::returns))
        .route("/jobs/audit", post(jobs::audit))
        .route("/jobs/simulation", post(jobs::simulation))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/reports", get(reports::page))
        .route("/reports/events.{form}", get(reports::events))
        .route("/reports/returns.{form}", get(reports::returns))
        .route("/reports/reconciliation", get(reconciliation::page))
        .route("/reports/reconciliation.{form}", get(reconciliation::file))
        .route("/reports/revenue", get(revenue::page))
        .route("/reports/revenue.{form}", get(revenue::file))
        .route("/runbook", get(runbook::page))
        .route("/trust", get(trust::page))
        .route("/trust/check", post(trust::check))
        .route("/log", get(log::page))
        .route("/log.{form}", get(log::file))
        .route("/log/{partition}/{position}", get(log::record))
        .route("/login", get(login::page).post(login::log_in))
        .route("/logout", post(login::log_out))
        .route("/v1/{service}/{method}", post(calls::call))
        .route("/openapi.json", get(calls::document))
        .merge(parts())
        .merge(public)
        .route("/htmx.js", get(|| asset("text/javascript; charset=utf-8", HTMX)))
        .route("/keys.js", get(|| asset("text/javascript; charset=utf-8", KEYS)))
        .route("/console.css", get(|| asset("text/css; charset=utf-8", STYLE.as_str())))
        .route("/check.js", get(|| asset("text/javascript; charset=utf-8", CHECK)))
        .route("/icon.svg", get(|| asset("image/svg+xml", ICON)))
        .fallback(|request: Request| no_page(request, Failure::unknown("The console has no such page.")))
        .method_not_allowed_fallback(|request: Request| {
            no_page(
                request,
                Failure::Said(StatusCode::METHOD_NOT_ALLOWED, "This path does not support the request's method."),
            )
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), failure_frame::framed))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}

fn public_pages() -> Router<App> {
    Router::new()
        .route("/check/{operator}/{player}/{number}", get(public::page))
        .route("/check/{operator}/{player}/{number}/proof", get(public::proof))
}

fn parts() -> Router<App> {
    Router::new()
        .route("/live/now", get(now::part))
        .route("/live/jackpots", get(jackpots::part))
        .route("/live/jackpots/{pool}", get(jackpots::pool_part))
        .route("/live/log", get(log::part))
        .route("/live/suggestions", get(player_names::suggestions))
        .route("/live/audits", get(jobs::audits_part))
        .route("/live/simulations/{game}", get(jobs::simulations_part))
        .layer(middleware::map_response(live::of_part))
}

async fn no_page(request: Request, failure: Failure) -> Response {
    match request.uri().path() {
        path if path.starts_with(PREFIX) => refused(&failure),
        path => calls::answer(failure, path),
    }
}
