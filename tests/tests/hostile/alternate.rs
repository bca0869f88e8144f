use crate::{SLOWER_MAX, figure, honest::Rounds, threads, worked};
use motherlode_tests::Process;
use std::time::{Duration, Instant};
use tokio::{task::JoinHandle, time::timeout};

pub const TURNS: u32 = 5;
const REST: Duration = Duration::from_secs(1);
const ENDS: Duration = Duration::from_secs(30);

pub trait Play: AsyncFn(Duration) -> Vec<(&'static str, Rounds)> {}

impl<F: AsyncFn(Duration) -> Vec<(&'static str, Rounds)>> Play for F {}

pub async fn alternate(
    process: &Process,
    all: Duration,
    play: impl Play,
    attack: impl Fn(Instant) -> Vec<JoinHandle<()>>,
) {
    let threads = threads();
    let (part, mut turns) = (all / TURNS, vec![]);
    for turn in 1..=TURNS {
        play(REST).await;
        let calm = play(part).await;
        let (before, until) = ((worked(process.id()), worked(std::process::id())), Instant::now() + part);
        let attackers = {
            let _on_them = threads.enter();
            attack(until)
        };
        let attacked = play(part).await;
        let (service, callers) = (worked(process.id()) - before.0, worked(std::process::id()) - before.1);
        for attacker in attackers {
            timeout(ENDS, attacker).await.expect("an attack ends").unwrap();
        }
        let memory = figure(process, "VmHWM:") >> 20;
        println!(
            "turn {turn}: the service used {service:.1} s of processor time, the callers {callers:.1} s; {memory} MB"
        );
        for ((name, calm), (_, attacked)) in calm.into_iter().zip(attacked) {
            println!("  {name} calm:     {calm}\n  {name} attacked: {attacked}");
            turns.push((name, turn, calm, attacked));
        }
    }
    threads.shutdown_background();
    for (name, turn, calm, attacked) in &turns {
        assert_eq!((&calm.failed, &attacked.failed), (&vec![], &vec![]), "turn {turn}: {name} got no answers");
    }
    let slower = turns.iter().filter(|(_, _, calm, attacked)| attacked.p99() > calm.p99() * SLOWER_MAX);
    let slower: Vec<_> = slower.map(|(name, turn, calm, attacked)| (name, turn, calm.p99(), attacked.p99())).collect();
    assert!(slower.is_empty(), "p99 calm and under attack: {slower:?}");
}
