use crate::PROGRAM;
use motherlode_tests::{Client, EUR, Process, account, audited, bet};
use std::{
    fs,
    time::{Duration, Instant},
};

const TURNS: usize = 10;
const PLAYERS: usize = 100;
const BETS: usize = 20;

#[derive(Default)]
struct Times {
    start: Vec<Duration>,
    first: Vec<Duration>,
    second: Vec<Duration>,
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_a1_costs_of_a_normal_and_an_unsure_start_and_of_the_first_bets_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let pages = tempfile::tempdir_in("/dev/shm").unwrap();
    let (file, data) = (folder.path().join("serve.toml"), folder.path().join("data"));
    fs::write(&file, format!("[draws]\npage_folder = \"{}\"\n", pages.path().display())).unwrap();
    let mut process = Process::start(PROGRAM, &data, Some(&file));
    let mut client = Client::connect(process.address).await;
    let name = |number: usize| format!("p{number}");
    for number in 0..PLAYERS {
        let player = client.fund(&name(number), EUR, 1_000_000).await;
        client.play_out(bet(&format!("made-{number}"), &player, "0.01")).await.unwrap();
    }
    let mut times = [Times::default(), Times::default()];
    for turn in 0..2 * TURNS {
        let Times { start, first, second } = &mut times[turn % 2];
        assert_eq!(process.terminate().await, Some(0));
        if turn % 2 == 1 {
            for page in fs::read_dir(pages.path()).unwrap() {
                fs::remove_file(page.unwrap().path()).unwrap();
            }
        }
        let begun = Instant::now();
        process = Process::start(PROGRAM, &data, Some(&file));
        start.push(begun.elapsed());
        let mut client = Client::connect(process.address).await;
        for number in 0..BETS {
            let player = account(&name((turn * BETS + number) % PLAYERS), EUR);
            for (times, nth) in [(&mut *first, "first"), (&mut *second, "second")] {
                let request = bet(&format!("{turn}-{number}-{nth}"), &player, "0.01");
                let begun = Instant::now();
                client.bet(request.clone()).await.unwrap();
                times.push(begun.elapsed());
                client.play_out(request).await.unwrap();
            }
        }
    }
    assert_eq!(process.terminate().await, Some(0));
    assert_eq!(audited(&data, 1).seals().unsure_starts, TURNS as u64);
    for (kind, Times { start, first, second }) in ["normal", "unsure"].into_iter().zip(times) {
        for (what, mut times) in [("start", start), ("a player's first bet", first), ("a player's second bet", second)]
        {
            times.sort();
            let [p50, most] = [times[times.len() / 2], times[times.len() - 1]];
            println!("{kind}, {what}: p50 {p50:.1?}, most {most:.1?}, {} times", times.len());
        }
    }
}
