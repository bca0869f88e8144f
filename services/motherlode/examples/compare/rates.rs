//! Latency at constant rates, from a round's scheduled start.

use crate::{Args, Turn, Way, file, file::Plain, process::Process, table::median_and_span};
use motherlode_loadtest::{LatencyMs, Options};
use std::{error::Error, time::Duration};

/// Further rounds are late in the client.
const IN_FLIGHT_MAX: usize = 256;

/// Plays unary rounds at shares of a table's highest rate, in a rotating order; prints latencies as multiples of the
/// turn's fdatasync.
pub async fn measure(
    service: &Process,
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
    let mut turns: Vec<Vec<[f64; 3]>> = vec![vec![]; args.shares.len()];
    for turn in 0..args.repeats {
        let (_, sync_ms) = file::measure(plain, 1, time).await?;
        for nth in 0..args.shares.len() {
            let nth = (turn + nth) % args.shares.len();
            let LatencyMs { p50, p99, p999, .. } = at(service, args, highest * args.shares[nth]).await?;
            eprintln!("{} of {highest:.0}/s: p50 {p50} ms, p99 {p99} ms, p99.9 {p999} ms", args.shares[nth]);
            turns[nth].push([p50, p99, p999].map(|ms| ms / sync_ms));
        }
    }
    println!("\n| share of the highest rate | p50 / one fdatasync | p99 / one fdatasync | p99.9 / one fdatasync |");
    println!("|---|---|---|---|");
    for (share, turns) in args.shares.iter().zip(&turns) {
        let [p50, p99, p999] = [0, 1, 2].map(|of| median_and_span(turns.iter().map(|turn| turn[of])));
        println!("| {share} | {p50} | {p99} | {p999} |");
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
