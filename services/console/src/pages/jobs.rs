use super::parts::{facts, table};
use crate::{
    failure::Failure,
    layout, live,
    sessions::request_id,
    text::{count, percent, when},
    visit::{Form, Visit},
};
use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use maud::{Markup, html};
use motherlode_picture::par::plot;
use motherlode_proto::{
    job::v1::{
        Audit, CancelJobRequest, Job, ListJobsRequest, ListJobsResponse, Simulation, StartJobRequest,
        job::{Figure, State},
        start_job_request::Work,
    },
    round::v1::Stake,
};

const ROUNDS: [u64; 4] = [100_000, 1_000_000, 10_000_000, 100_000_000];
const SHOWN: usize = 3;
const LOOK_S: u32 = 1;

pub(super) async fn audits(visit: &Visit) -> Result<Markup, Failure> {
    if !visit.may("StartJob") {
        return Ok(Markup::default());
    }
    let (id, all) = (request_id()?, listed(visit).await?);
    Ok(html! {
        section {
            h2 { "Audits" }
            p { "An audit verifies the whole log and computes every step again. It runs at low priority, \
                 while the service continues." }
            (audit_jobs(visit, &all))
            @if all.audits_elsewhere {
                p.note { "The log is not in this process's data folder. To audit a copy of the log, run " code { "motherlode audit" } "." }
            } @else {
                form.act method="post" action="/jobs/audit" {
                    (layout::word(visit))
                    input type="hidden" name="request" value=(id);
                    button type="submit" { "Audit the log now" }
                }
            }
        }
    })
}

pub(crate) async fn audits_part(visit: Visit) -> Result<Response, Failure> {
    Ok(live::answer(audit_jobs(&visit, &listed(&visit).await?)))
}

fn audit_jobs(visit: &Visit, all: &ListJobsResponse) -> Markup {
    shown(visit, "/live/audits", all, |job| job.simulation.is_none())
}

pub(super) async fn simulations(visit: &Visit, game: &str, rules_version: &str) -> Result<Markup, Failure> {
    if !visit.may("StartJob") {
        return Ok(Markup::default());
    }
    let (id, all) = (request_id()?, listed(visit).await?);
    Ok(html! {
        section {
            h2 { "Simulations" }
            p { "A simulation plays whole rounds with the code that serves players, and compares their results with the game's exact figures." }
            (simulation_jobs(visit, game, &all))
            form.act method="post" action="/jobs/simulation" {
                (layout::word(visit))
                input type="hidden" name="request" value=(id);
                input type="hidden" name="game" value=(game);
                input type="hidden" name="version" value=(rules_version);
                label for="of-rounds" { "Rounds" }
                select #of-rounds name="rounds" { @for rounds in ROUNDS { option value=(rounds) selected[rounds == ROUNDS[1]] { (count(rounds)) } } }
                label for="of-lines" { "Lines" } input #of-lines name="lines" inputmode="numeric" size="4" placeholder="all";
                label for="of-coins" { "Coins per line" } input #of-coins name="coins" inputmode="numeric" size="4" placeholder="1";
                label for="of-coin" { "Coin value" } input #of-coin name="coin" inputmode="decimal" size="6" placeholder="0.10";
                button type="submit" { "Simulate" }
            }
            p.note { "Fill in all fields of the stake, or leave all of them empty for the game's usual stake." }
        }
    })
}

pub(crate) async fn simulations_part(Path(game): Path<String>, visit: Visit) -> Result<Response, Failure> {
    Ok(live::answer(simulation_jobs(&visit, &game, &listed(&visit).await?)))
}

fn simulation_jobs(visit: &Visit, game: &str, all: &ListJobsResponse) -> Markup {
    let of_game = |job: &Job| job.simulation.as_ref().is_some_and(|of| of.game == game);
    shown(visit, &format!("/live/simulations/{game}"), all, of_game)
}

async fn listed(visit: &Visit) -> Result<ListJobsResponse, Failure> {
    Ok(visit.api.job().list_jobs(ListJobsRequest {}).await?.into_inner())
}

fn shown(visit: &Visit, address: &str, all: &ListJobsResponse, wanted: impl Fn(&Job) -> bool) -> Markup {
    let jobs: Vec<_> = all.jobs.iter().filter(|job| wanted(job)).take(SHOWN).collect();
    let runs = jobs.iter().any(|job| job.state() == State::Running);
    let content = html! {
        @if jobs.is_empty() { p { "No job of this kind has run since the process started." } }
        @for job in jobs { (card(visit, job)) }
    };
    live::part(visit, Some(address).filter(|_| runs), LOOK_S, content)
}

fn card(visit: &Visit, job: &Job) -> Markup {
    let of = job.simulation.as_ref();
    let title = match of {
        None => format!("Audit {}", job.job_id),
        Some(of) => {
            format!("Simulation {}: {} rounds of {} {}", job.job_id, count(of.rounds), of.game, of.rules_version)
        }
    };
    let unit = if of.is_some() { "rounds" } else { "records" };
    let (done, total) = (job.done.min(job.total), job.total);
    html! {
        article.card {
            h3 { (title) }
            @if job.state() == State::Running {
                progress max=(total.max(1)) value=(done) aria-label=(title) {}
                p.note { (count(job.done)) " of " (count(total)) " " (unit) }
                form.act method="post" action={ "/jobs/" (job.job_id) "/cancel" } {
                    (layout::word(visit))
                    button.plain type="submit" { "Cancel" }
                }
            } @else {
                p { strong.bad[job.state() == State::Found] { (state(job.state())) } " "
                    @for finding in &job.findings { (finding) " " } }
                (figures(job))
            }
            (facts(&[
                ("Started", html! { (when(job.start_time.as_ref())) " by " (job.actor) }),
                ("Ended", when(job.end_time.as_ref())),
            ]))
        }
    }
}

fn state(state: State) -> &'static str {
    match state {
        State::Unspecified | State::Running => "Running.",
        State::Done => "No faults found.",
        State::Found => "Faults found.",
        State::Failed => "It failed.",
        State::Cancelled => "Cancelled.",
    }
}

fn figures(job: &Job) -> Markup {
    let (Some(of), false) = (&job.simulation, job.figures.is_empty()) else { return Markup::default() };
    let row = |figure: &Figure| {
        let Figure { name, simulated, exact, sigmas } = figure;
        vec![
            html! { (name.replace('_', " ")) },
            html! { (percent(simulated)) },
            html! { (percent(exact)) },
            html! { (sigmas) " σ" },
        ]
    };
    let rounds = job.wins.iter().map(|class| class.rounds).sum::<u64>();
    let share = |of: u64| {
        f64::from(u32::try_from(of).unwrap_or(u32::MAX)) / f64::from(u32::try_from(rounds.max(1)).unwrap_or(u32::MAX))
    };
    let bars: Vec<_> = job
        .wins
        .iter()
        .map(|class| {
            (
                class.from.clone(),
                share(class.rounds),
                format!("lowest win as a multiple of the bet: {}; rounds: {}", class.from, count(class.rounds)),
            )
        })
        .collect();
    let stake = of.stake.clone().unwrap_or_default();
    let bought = if stake.buy_feature { " --buy-feature" } else { "" };
    html! {
        (table("Played and exact figures", &["Figure", "Played", "Exact", "Distance"], job.figures.iter().map(row).collect()))
        @if rounds > 0 {
            details {
                summary { "Distribution of wins" }
                (plot::distribution(&bars, share(1)))
            }
        }
        p.note { "To repeat these rounds: "
            code { "motherlode simulate " (of.game) " --rounds " (of.rounds) " --seed " (of.seed) " --lines " (stake.lines) " --coins " (stake.coins_per_line) " --coin-value " (stake.coin_value) (bought) } }
    }
}

pub(crate) async fn audit(form: Form) -> Result<Redirect, Failure> {
    start(&form, Work::Audit(Audit {})).await?;
    Ok(form.done("/trust", "The audit has started."))
}

pub(crate) async fn simulation(form: Form) -> Result<Redirect, Failure> {
    let get = |field: &str| form.fields.get(field).to_owned();
    let number = |field: &'static str| form.fields.number::<u32>(field);
    let stake = match ["lines", "coins", "coin"].iter().all(|field| form.fields.get(field).is_empty()) {
        true => None,
        false => Some(Stake {
            coin_value: get("coin"),
            lines: number("lines").ok_or_else(unclear)?,
            coins_per_line: number("coins").ok_or_else(unclear)?,
            buy_feature: false,
        }),
    };
    let rounds = form.fields.number("rounds").ok_or_else(unclear)?;
    let (game, rules_version) = (get("game"), get("version"));
    let back = page_of(&game, &rules_version);
    start(&form, Work::Simulation(Simulation { game, rules_version, stake, rounds, seed: String::new() })).await?;
    Ok(form.done(&back, "The simulation has started."))
}

fn unclear() -> Failure {
    Failure::bad("Fill in all fields of the stake with numbers, or leave all of them empty for the game's usual stake.")
}

async fn start(form: &Form, work: Work) -> Result<(), Failure> {
    let request = StartJobRequest { request_id: form.fields.get("request").to_owned(), work: Some(work) };
    form.visit.api.job().start_job(request).await.map_err(|status| form.refused(status))?;
    Ok(())
}

pub(crate) async fn cancel(Path(job_id): Path<u64>, form: Form) -> Result<Redirect, Failure> {
    let answer = form.visit.api.job().cancel_job(CancelJobRequest { job_id }).await;
    let answer = answer.map_err(|status| form.refused(status))?.into_inner();
    let simulation = answer.job.unwrap_or_default().simulation;
    let back = simulation.map_or_else(|| "/trust".to_owned(), |of| page_of(&of.game, &of.rules_version));
    Ok(form.done(&back, "The job was cancelled."))
}

fn page_of(game: &str, rules_version: &str) -> String {
    let plain =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    match plain(game) && plain(rules_version) {
        true => format!("/games/{game}/{rules_version}"),
        false => "/games".to_owned(),
    }
}
