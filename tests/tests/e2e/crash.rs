use crate::PROGRAM;
use motherlode_tests::{Client, Player, Process};
use std::{
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

async fn play_until<F: Future<Output = ()>>(
    players: Vec<Player>,
    process: Process,
    answers: u64,
    end: impl FnOnce(Process) -> F,
) -> Vec<Player> {
    let counted = Arc::new(AtomicU64::new(0));
    let address = process.address;
    let tasks: Vec<_> = players
        .into_iter()
        .map(|mut player| {
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                let mut client = Client::connect(address).await;
                player.play(&mut client, &counted).await;
                player
            })
        })
        .collect();
    while counted.load(Ordering::Relaxed) < answers {
        assert!(!tasks.iter().all(|task| task.is_finished()), "the service ended unexpectedly");
        tokio::task::yield_now().await;
    }
    end(process).await;
    let mut players = vec![];
    for task in tasks {
        players.push(task.await.expect("repeated requests got the same answers"));
    }
    players
}

fn audit(data: &Path) {
    let output = Command::new(PROGRAM).arg("audit").arg(data).output().unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_nothing_acknowledged_is_lost_or_doubled_in_a_hundred_kills() {
    let data = tempfile::tempdir().unwrap();
    let mut players = vec![];
    let process = Process::start(PROGRAM, data.path(), None);
    let mut client = Client::connect(process.address).await;
    for player in 0..8 {
        players.push(Player::join(&mut client, &format!("p{player}"), "0.05").await);
    }
    process.kill();
    for kill in 0..100 {
        let process = Process::start(PROGRAM, data.path(), None);
        players = play_until(players, process, 1 + kill * 7 % 100, |process| async { process.kill() }).await;
    }
    std::fs::remove_dir_all(data.path().join("index")).unwrap();
    let process = Process::start(PROGRAM, data.path(), None);
    let mut client = Client::connect(process.address).await;
    for player in &mut players {
        player.check(&mut client).await;
    }
    assert_eq!(process.terminate().await, Some(0));
    assert!(data.path().join("index/0.views/checkpoints").exists(), "the index was rebuilt");
    audit(data.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_sigterm_answers_what_was_accepted_and_exits_cleanly() {
    let data = tempfile::tempdir().unwrap();
    let process = Process::start(PROGRAM, data.path(), None);
    let mut client = Client::connect(process.address).await;
    let mut players = vec![];
    for player in 0..16 {
        players.push(Player::join(&mut client, &format!("p{player}"), "0.05").await);
    }
    players = play_until(players, process, 500, |process| async {
        assert_eq!(process.terminate().await, Some(0));
    })
    .await;
    audit(data.path());
    let process = Process::start(PROGRAM, data.path(), None);
    let mut client = Client::connect(process.address).await;
    for player in &mut players {
        player.check(&mut client).await;
    }
    assert_eq!(process.terminate().await, Some(0));
    audit(data.path());
}

#[test]
fn a_second_service_on_the_same_log_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let first = Process::start(PROGRAM, data.path(), None);
    let second = Command::new(PROGRAM).args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()).output();
    let second = second.unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("the log in"), "the error names the log as the cause");
    first.kill();
}

#[test]
fn a_damaged_log_is_not_served() {
    let data = tempfile::tempdir().unwrap();
    Process::start(PROGRAM, data.path(), None).kill();
    let segment = data.path().join("log/0/00000000000000000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[200] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let output = Command::new(PROGRAM).args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        printed.contains("00000000000000000001.log") && printed.contains("byte"),
        "the error does not name file and byte: {printed}"
    );
    let audit = Command::new(PROGRAM).arg("audit").arg(data.path()).output().unwrap();
    assert_eq!(audit.status.code(), Some(1));
}

#[test]
fn an_unusable_configuration_binds_no_port() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("config.toml");
    std::fs::write(&file, "[limits]\nmessage_bytes_max = 1").unwrap();
    let output = Command::new(PROGRAM).arg("serve").arg("--config").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("limits.message_bytes_max is 1; it must be 1024 to"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_16_an_award_comes_once_when_the_process_is_killed_after_the_hit() {
    for partitions in [1, 3] {
        let data = tempfile::tempdir().unwrap();
        let [hits, usual] = [("hits", 0), ("usual", 2_000)].map(|(name, ms)| {
            let file = data.path().join(name);
            std::fs::write(&file, format!("partitions = {partitions}\n[limits]\naward_wait_ms_max = {ms}")).unwrap();
            file
        });
        let mut rounds = vec![];
        for player in 0..10 {
            let process = Process::start(PROGRAM, data.path(), Some(&hits));
            let mut client = Client::connect(process.address).await;
            rounds.push(jackpots::hit(&mut client.clone(), &mut client, player).await);
            process.kill();
        }
        let process = Process::start(PROGRAM, data.path(), Some(&usual));
        let mut client = Client::connect(process.address).await;
        let listed = jackpots::paid_once(&mut client.clone(), &mut client, &rounds).await;
        let hits: Vec<_> = rounds.into_iter().map(|(_, round)| round).collect();
        assert!(partitions > 1 || listed == hits, "the awards are listed in the order of their hits in the log");
        assert_eq!(process.terminate().await, Some(0));
        audit(data.path());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bw_16_an_award_comes_once_when_all_roles_are_killed_between_it_and_the_hit() {
    let data = tempfile::tempdir().unwrap();
    let path = |name: &str| data.path().join(name);
    let config = path("config.toml");
    std::fs::write(&config, "partitions = 3\n[limits]\naward_wait_ms_max = 0").unwrap();
    let ledger = || Process::start_as(PROGRAM, &path("data"), Some(&config), &["--role", "ledger"]);
    let join = |role: &str, ledger: &Process| {
        let target = format!("http://{}", ledger.address);
        Process::start_as(PROGRAM, &path(role), Some(&config), &["--role", role, "--ledger", &target])
    };
    let mut rounds = vec![];
    for player in [0, 2, 6, 1, 3, 16] {
        let log = ledger();
        let pools = join("jackpot", &log);
        let spin = join("spin", &log);
        pools.kill();
        let mut at_spin = Client::connect(spin.address).await;
        let mut at_ledger = Client::connect(log.address).await;
        rounds.push(jackpots::hit(&mut at_spin, &mut at_ledger, player).await);
        for process in [log, spin] {
            process.kill();
        }
    }
    let log = ledger();
    let (pools, spin) = (join("jackpot", &log), join("spin", &log));
    let mut at_spin = Client::connect(spin.address).await;
    at_spin.jackpot = Client::connect(pools.address).await.jackpot;
    let mut at_ledger = Client::connect(log.address).await;
    jackpots::paid_once(&mut at_spin, &mut at_ledger, &rounds).await;
    for process in [pools, spin, log] {
        assert_eq!(process.terminate().await, Some(0));
    }
    audit(&path("data"));
}

mod jackpots {
    use motherlode_proto::{
        jackpot::v1::ListAwardsRequest,
        round::v1::{Account, jackpot_win::State},
    };
    use motherlode_tests::{Client, EUR, Force, bet, until, vials};
    use std::collections::BTreeSet;
    use tokio::sync::Mutex;

    pub(crate) async fn hit(spin: &mut Client, ledger: &mut Client, player: u32) -> (Account, String) {
        let account = ledger.fund(&format!("p{player}"), EUR, 1_000_000).await;
        let mut request = bet("hit", &account, "0.20");
        request.stake.as_mut().unwrap().coins_per_line = 10;
        let spun = spin.spin(request, Some(Force::Pick)).await.unwrap();
        let hit = spin.choose("hit.1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
        assert!(hit.jackpot.is_some());
        (account, spun.round_id)
    }

    pub(crate) async fn paid_once(spin: &mut Client, ledger: &mut Client, rounds: &[(Account, String)]) -> Vec<String> {
        for (account, round) in rounds {
            let answer = Mutex::new((spin.clone(), None));
            until("the award", async || {
                let (spin, answer) = &mut *answer.lock().await;
                let again = spin.choose("hit.1", round, vials(), None).await.unwrap();
                let is_paid = again.jackpot.as_ref().unwrap().state() == State::Paid;
                *answer = Some(again);
                is_paid
            })
            .await;
            let again = answer.into_inner().1.unwrap();
            let expected = again.balance.unwrap().amount_minor + again.jackpot.unwrap().amount.unwrap().amount_minor;
            assert_eq!(ledger.balance(account).await, expected, "the jackpot of {round} is paid once");
        }
        let listed = Mutex::new((spin.jackpot.clone(), vec![]));
        until("the list of awards", async || {
            let (jackpot, listed) = &mut *listed.lock().await;
            let request = ListAwardsRequest { pool_id: "bewitched".into(), page_size: 100, page_token: String::new() };
            let awards = jackpot.list_awards(request).await.unwrap().into_inner().awards;
            *listed = awards.into_iter().rev().map(|award| award.round_id).collect();
            listed.len() == rounds.len()
        })
        .await;
        let listed = listed.into_inner().1;
        let all: BTreeSet<_> = rounds.iter().map(|(_, round)| round).collect();
        assert_eq!(listed.iter().collect::<BTreeSet<_>>(), all);
        listed
    }
}
