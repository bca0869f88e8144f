//! Latency at constant rates, measured from the scheduled start of each round.

use crate::{Args, Turn, Way, echo, file, file::Plain, process::Process, table::median_and_span};
use motherlode_loadtest::{LatencyMs, Options};
use std::{error::Error, time::Duration};

/// Maximum number of rounds in flight. Further rounds wait in the client, and this wait counts as latency.
const IN_FLIGHT_MAX: usize = 256;

pub async fn measure(
    (service, echo): (&Process, &Process),
    args: &Args,
    plain: &Plain,
    table: &[(usize, Vec<Turn>)],
) -> Result<(), Box<dyn Error>> {
    let rates = table.iter().map(|(_, turns)| {
        let mut rates: Vec<f64> = turns.iter().map(|turn| turn.cell(Way::Unary).rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(0.0)
    });
    let highest = rates.fold(0.0, f64::max);
    let time = Duration::from_secs_f64(args.seconds);
    let mut turns: Vec<Vec<[f64; 6]>> = vec![vec![]; args.shares.len()];
    for turn in 0..args.repeats {
        let (_, sync_ms) = file::measure(plain, 1, time, None).await?;
        for nth in 0..args.shares.len() {
            let nth = (turn + nth) % args.shares.len();
            let (share, rate) = (args.shares[nth], highest * args.shares[nth]);
            let LatencyMs { p50, p99, p999, .. } = at(service, args, rate).await?;
            let echo = echo::measure(echo, args.connections, IN_FLIGHT_MAX, time, Some(rate)).await?;
            let (append, _) = file::measure(plain, IN_FLIGHT_MAX, time, Some(rate)).await?;
            eprintln!("{share} of {highest:.0}/s: p50 {p50} ms, p99 {p99} ms, p99.9 {p999} ms; {echo:?}; {append:?}");
            let both = [p50 / (echo.p50 + append.p50), p99 / (echo.p99 + append.p99)];
            let [p50, p99, p999] = [p50, p99, p999].map(|ms| ms / sync_ms);
            turns[nth].push([p50, p99, p999, both[0], both[1], echo.p99 / sync_ms]);
        }
    }
    println!(
        "\n| share of the highest rate | p50 / one fdatasync | p99 / one fdatasync | p99.9 / one fdatasync \
         | p50 / echo and append | p99 / echo and append | echo's p99 / one fdatasync |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (share, turns) in args.shares.iter().zip(&turns) {
        let figures = [0, 1, 2, 3, 4, 5].map(|of| median_and_span(turns.iter().map(|turn| turn[of])));
        println!("| {share} | {} |", figures.join(" | "));
    }
    Ok(())
}

async fn at(service: &Process, args: &Args, rate: f64) -> Result<LatencyMs, Box<dyn Error>> {
    let options = Options {
        target: service.target(),
        credentials: service.credentials.clone().unwrap_or_default(),
        rounds: 100_000_000,
        concurrency: IN_FLIGHT_MAX,
        connections: args.connections,
        players: 4 * IN_FLIGHT_MAX,
        rate: Some(rate),
        time_max: Duration::from_secs_f64(args.seconds),
        ..Options::default()
    };
    let report = motherlode_loadtest::run(&options, &|_| ()).await?;
    if report.ok { Ok(report.latency_ms) } else { Err(report.to_string().into()) }
}
