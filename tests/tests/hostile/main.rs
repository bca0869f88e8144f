//! Attackers run with nice 19. The latency of honest rounds is measured from their scheduled starts. The tests must run
//! one after another (`--test-threads=1`).
//!
//! - `MOTHERLODE_HOSTILE_SECONDS`: duration of the test in seconds, 600 by default.
//! - `MOTHERLODE_HOSTILE_RATE`: honest rounds per second, 50 by default.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod alternate;
mod attacks;
mod cancels;
mod honest;
mod restarts;
mod shares;
mod starts;
mod strangers;
mod voids;

use attacks::{Attack, Tally};
use honest::Honest;
use motherlode_tests::{
    Process,
    hostile::Target,
    operators::{Certificates, operator},
};
use std::{
    env, fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

const PROGRAM: &str = env!("CARGO_BIN_EXE_motherlode-under-test");
const ALL: &str = r#"["play", "wallet", "support", "audit", "admin"]"#;

/// Maximum ratio of the honest operator's p99 latencies during and before an attack.
const SLOWER_MAX: u32 = 3;
const CALLS_A_SECOND: u32 = 200;
const CALLS_AT_ONCE: u32 = 1_000;
const NICER: i32 = 19;
const BYTES_MAX: u64 = 1 << 30;

fn asked(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |asked| asked.parse().expect("the variable must be a number"))
}

fn configure(folder: &Path) -> (String, Target) {
    let certificates = Certificates::make(folder);
    let rate = format!("calls_per_second_max = {CALLS_A_SECOND}\ncalls_burst_max = {CALLS_AT_ONCE}\n");
    let operators = ["mallory", "marvin", "honest"].map(|id| {
        operator(id, &[(id, ALL)]).replacen(
            "[[operators.credentials]]",
            &(rate.clone() + "[[operators.credentials]]"),
            1,
        )
    });
    let operators = operators.concat();
    let platform = operator("platform", &[("first", ALL), ("second", ALL)]);
    let file = folder.join("serve.toml");
    fs::write(&file, Certificates::section(folder) + &operators + &platform).unwrap();
    let nowhere = ([127, 0, 0, 1], 0).into();
    (file.display().to_string(), Target::tls(nowhere, &certificates.root))
}

fn threads() -> Runtime {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let nicer = || {
        rustix::process::nice(NICER).unwrap();
    };
    threads.worker_threads(2).thread_name("harm").enable_all().on_thread_start(nicer).build().unwrap()
}

fn figure(process: &Process, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[tokio::test(flavor = "multi_thread")]
async fn uf_01_to_uf_10_two_operators_mean_harm_and_a_third_one_plays() {
    let all = Duration::from_secs(asked("MOTHERLODE_HOSTILE_SECONDS", 600).max(20));
    let rate = u32::try_from(asked("MOTHERLODE_HOSTILE_RATE", 50)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (file, target) = configure(folder.path());
    let data = folder.path().join("data");
    let start = || Process::start(PROGRAM, &data, Some(file.as_ref()));
    let process = start();
    let target = target.at(process.address);

    let honest = Honest::connect(&target.with("honest"), rate).await;
    honest.fund().await;
    Attack::prepare(&target).await;
    honest.play(Duration::from_secs(2)).await;
    let calm = honest.play(all / 6).await;
    println!("calm:     {calm}; {} MB", figure(&process, "VmHWM:") >> 20);

    let tally = Tally::default();
    let until = Instant::now() + all * 5 / 6;
    let threads = threads();
    let harm = {
        let _on_them = threads.enter();
        Attack::all(&target, &tally, until)
    };
    let before = (worked(process.id()), worked(std::process::id()));
    let attacked = honest.play(all * 5 / 6).await;
    let memory = figure(&process, "VmHWM:");
    println!("attacked: {attacked}; at most {} MB, {} descriptors", memory >> 20, descriptors(&process));
    let (service, callers) = (worked(process.id()) - before.0, worked(std::process::id()) - before.1);
    println!("          processor time: {service:.0} s the service, {callers:.0} s the callers");
    for attack in harm {
        attack.await.unwrap();
    }
    threads.shutdown_background();
    println!("{tally}");
    let after = honest.play(Duration::from_secs(2)).await;
    println!("after:    {after}");

    let before = honest.balances().await;
    assert_eq!(process.terminate().await, Some(0), "the service stops with status 0");
    let audit = Command::new(PROGRAM).arg("audit").arg(&data).output().unwrap();
    let printed = String::from_utf8_lossy(&audit.stdout) + String::from_utf8_lossy(&audit.stderr);
    println!("{}", printed.trim_end());
    assert!(audit.status.success(), "the audit has findings");
    let process = start();
    let again = Honest::connect(&target.at(process.address).with("honest"), rate).await;
    assert_eq!(again.balances().await, before, "a restart changes no balance");
    let restarted = again.play(Duration::from_secs(1)).await;
    assert_eq!(process.terminate().await, Some(0));

    for played in [&calm, &attacked, &after, &restarted] {
        assert_eq!(played.failed, vec![] as Vec<String>, "the honest operator got no answers");
    }
    assert!(memory < BYTES_MAX, "{memory} bytes");
    let (calm, attacked) = (calm.p99(), attacked.p99());
    assert!(attacked <= calm * SLOWER_MAX, "p99 is {attacked:?} under attack, but {calm:?} before it");
    tally.check();
}

fn worked(id: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(") ").unwrap();
    rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

fn descriptors(process: &Process) -> usize {
    fs::read_dir(format!("/proc/{}/fd", process.id())).unwrap().count()
}
