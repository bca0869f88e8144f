use crate::PROGRAM;
use motherlode_proto::{
    convert::record::{Logged, decode},
    ledger::v1::VoidRoundRequest,
    round::v1::{Account, Choice, RoundState},
    spin::v1::{ChooseRequest, Played},
};
use motherlode_server::log_folder;
use motherlode_state::{Dealt, Event, Seal, SealReason, draw};
use motherlode_tests::{Cable, Client, EUR, Process, audited, bet, channel, next_choice, reason, until};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::{sync::watch, task::JoinHandle};
use tonic::{Code, Status};

struct Installation {
    folder: tempfile::TempDir,
    config: PathBuf,
    at: [watch::Sender<SocketAddr>; 2],
    at_ledger: watch::Sender<SocketAddr>,
    ledger: Option<Process>,
    spins: [Option<Process>; 2],
    links: Vec<Cable>,
    more: &'static [&'static str],
}

impl Installation {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.toml");
        let text = format!(
            "[limits]\nrequest_ms_max = 1500\naward_wait_ms_max = 0\n[draws]\nkey_file = {:?}\n",
            folder.path().join("draws")
        );
        fs::write(&config, text).unwrap();
        let nowhere = || watch::Sender::new(SocketAddr::from(([127, 0, 0, 1], 1)));
        let mut all = Self {
            folder,
            config,
            at: [nowhere(), nowhere()],
            at_ledger: nowhere(),
            ledger: None,
            spins: [None, None],
            links: vec![],
            more: &[],
        };
        all.restart_ledger();
        for _ in 0..2 {
            all.links.push(Cable::to(*all.at_ledger.borrow()).await);
        }
        [0, 1].into_iter().for_each(|spin| all.restart(spin));
        all
    }

    fn keys(&self) -> PathBuf {
        self.folder.path().join("draws")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn restart_ledger(&mut self) {
        self.ledger.take().into_iter().for_each(Process::kill);
        let ledger =
            Process::start_as(PROGRAM, &self.data(), Some(&self.config), &[&["--role", "ledger"], self.more].concat());
        self.links.iter().for_each(|link| link.lead_to(ledger.address));
        self.at_ledger.send_replace(ledger.address);
        self.ledger = Some(ledger);
    }

    fn kill(&mut self, spin: usize) {
        self.spins[spin].take().into_iter().for_each(Process::kill);
    }

    fn restart(&mut self, spin: usize) {
        self.kill(spin);
        let target = format!("http://{}", self.links[spin].address);
        let data = self.folder.path().join(format!("spin{spin}"));
        let more = [&["--role", "spin", "--ledger", &target], self.more].concat();
        let process = Process::start_as(PROGRAM, &data, Some(&self.config), &more);
        self.at[spin].send_replace(process.address);
        self.spins[spin] = Some(process);
    }

    async fn stop(self) -> tempfile::TempDir {
        for process in self.spins.into_iter().chain([self.ledger]).flatten() {
            assert_eq!(process.terminate().await, Some(0));
        }
        self.folder
    }
}

struct Racer {
    account: Account,
    name: &'static str,
    round: u64,
    spin: watch::Receiver<SocketAddr>,
    ledger: watch::Receiver<SocketAddr>,
    answers: BTreeMap<String, Played>,
}

enum Ended {
    Unknown,
    Over,
}

impl Racer {
    async fn race(mut self, ending: Arc<AtomicBool>, answered: Arc<AtomicU64>) -> Self {
        while !ending.load(Ordering::Acquire) {
            let (spin, ledger) = (*self.spin.borrow_and_update(), *self.ledger.borrow_and_update());
            let (Some(spin), Some(ledger)) = (channel(spin).await, channel(ledger).await) else { continue };
            let (mut spin, mut ledger) = (Client::on(spin), Client::on(ledger));
            while !ending.load(Ordering::Acquire) {
                match self.play(&mut spin, &mut ledger, &answered).await {
                    Ok(()) | Err(Ended::Over) => self.round += 1,
                    Err(Ended::Unknown) => break,
                }
            }
        }
        self
    }

    async fn play(&mut self, spin: &mut Client, ledger: &mut Client, answered: &AtomicU64) -> Result<(), Ended> {
        let id = format!("{}{}", self.name, self.round);
        let client_seed = format!("{id} of the caller").into_bytes();
        let request = motherlode_proto::spin::v1::SpinRequest { client_seed, ..bet(&id, &self.account, "0.05") };
        let mut last = match spin.spin(request, None).await {
            Ok(played) => self.note(&id, played, answered),
            Err(status) => return Err(refused(&status)),
        };
        for step in 1.. {
            let Some(kind) = next_choice(&last) else { break };
            let id = format!("{id}.{step}");
            let request = ChooseRequest {
                request_id: id.clone(),
                round_id: last.round_id.clone(),
                choice: Some(Choice { kind: Some(kind) }),
                ..ChooseRequest::default()
            };
            last = match spin.spin.choose(request).await {
                Ok(response) => self.note(&id, response.into_inner().played.unwrap(), answered),
                Err(status) if reason(&status) == "DRAW_KEY_LOST" => {
                    let void = VoidRoundRequest {
                        request_id: format!("void-{}", last.round_id.replace('/', "-")),
                        round_id: last.round_id.clone(),
                        reason: "its key is gone".to_owned(),
                        actor: String::new(),
                    };
                    return Err(match ledger.ledger.void_round(void).await {
                        Ok(_) => Ended::Over,
                        Err(status) => refused(&status),
                    });
                }
                Err(status) => return Err(refused(&status)),
            };
        }
        Ok(())
    }

    fn note(&mut self, id: &str, played: Played, answered: &AtomicU64) -> Played {
        answered.fetch_add(1, Ordering::Relaxed);
        let kept = Played { jackpot: None, ..played.clone() };
        if let Some(before) = self.answers.insert(id.to_owned(), kept.clone()) {
            assert_eq!(before, kept, "the repeated request {id} got another answer");
        }
        played
    }
}

fn refused(status: &Status) -> Ended {
    match &*reason(status) {
        // The racer retries: another racer's round of this player is open, or the draw was sealed again because its
        // key was lost.
        "ROUND_IN_PROGRESS" | "SEAL_CHANGED" => Ended::Unknown,
        "ALREADY_SETTLED" | "ROUND_VOIDED" => Ended::Over,
        why => {
            let known = matches!(
                status.code(),
                Code::Unavailable
                    | Code::Unknown
                    | Code::Cancelled
                    | Code::DeadlineExceeded
                    | Code::Aborted
                    | Code::Internal
            );
            assert!(known && why != "INTERNAL", "{why}: {status:?}");
            Ended::Unknown
        }
    }
}

fn racers(all: &Installation, account: &Account) -> Vec<Racer> {
    let racer = |(name, spin): (&'static str, usize)| Racer {
        account: account.clone(),
        name,
        round: 0,
        spin: all.at[spin].subscribe(),
        ledger: all.at_ledger.subscribe(),
        answers: BTreeMap::new(),
    };
    [("same-", 0), ("same-", 1), ("a-", 0), ("b-", 1)].map(racer).into()
}

struct Race {
    tasks: Vec<JoinHandle<Racer>>,
    ending: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
}

impl Race {
    fn start(racers: Vec<Racer>) -> Self {
        let (ending, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let task = |racer: Racer| tokio::spawn(racer.race(Arc::clone(&ending), Arc::clone(&answered)));
        Self { tasks: racers.into_iter().map(task).collect(), ending, answered }
    }

    async fn goes_on(&self, answers: u64) {
        let wanted = self.answered.load(Ordering::Relaxed) + answers;
        until("an answer", async || {
            assert!(self.tasks.iter().all(|task| !task.is_finished()), "a racer has found a fault");
            self.answered.load(Ordering::Relaxed) >= wanted
        })
        .await;
    }

    async fn end(self) -> BTreeMap<String, Played> {
        self.ending.store(true, Ordering::Release);
        let mut answers = BTreeMap::<String, Played>::new();
        for task in self.tasks {
            for (id, played) in task.await.expect("repeated requests got the same answers").answers {
                let other = answers.entry(id.clone()).or_insert_with(|| played.clone());
                assert_eq!(*other, played, "{id} has two outcomes");
            }
        }
        answers
    }
}

fn commits(data: &Path) -> Vec<Logged> {
    motherlode_log::scan(&log_folder(data, 0)).unwrap().map(|record| decode(&record.unwrap().bytes).unwrap()).collect()
}

fn draws_are_used_once(data: &Path, answers: &BTreeMap<String, Played>) -> usize {
    let (mut next, mut lost): (Option<(u64, Seal)>, usize) = (None, 0);
    let (mut seals, mut dealt, mut ids) = (BTreeSet::<Seal>::new(), BTreeSet::<Dealt>::new(), BTreeMap::new());
    let mut open = BTreeMap::<u64, Vec<Seal>>::new();
    for logged in commits(data).into_iter().filter(|logged| logged.commit.stream.to_string() == "player/acme/ann") {
        let id = logged.commit.request_id.clone();
        assert_eq!(ids.insert(id.clone(), logged.commit.position), None, "{id} has two commits");
        for event in &logged.commit.events {
            match event {
                Event::DrawSealed(sealed) => {
                    let expected = next.map_or(1, |(number, _)| number + 1);
                    let why = if next.is_some() { SealReason::KeyLost } else { SealReason::Opened };
                    assert_eq!((sealed.number, sealed.reason), (expected, why));
                    lost += usize::from(next.is_some());
                    assert!(seals.insert(sealed.seal), "a seal was used twice");
                    next = Some((sealed.number, sealed.seal));
                }
                Event::StepResolved(step) => {
                    let (drawn, (number, seal)) = (step.draw.as_ref().unwrap(), next.unwrap());
                    assert_eq!(drawn.number, number, "each draw is used once and in order");
                    open.entry(step.round).or_default().push(seal);
                    assert!(seals.insert(drawn.next_seal), "a seal was used twice");
                    next = Some((number + 1, drawn.next_seal));
                }
                Event::DrawsRevealed { round, dealt: revealed } => {
                    let of = open.remove(round).unwrap();
                    assert_eq!(revealed.iter().map(draw::seal).collect::<Vec<_>>(), of);
                    assert!(revealed.iter().all(|value| dealt.insert(*value)), "a dealt value is used twice");
                }
                _ => {}
            }
        }
    }
    for (id, played) in answers {
        assert_eq!(ids.get(id.as_str()), Some(&played.position), "{id}");
        assert_eq!(played.dealt.is_empty(), played.state() == RoundState::Open, "{id}");
    }
    lost
}

async fn answered_again(all: &Installation, account: &Account, answers: &BTreeMap<String, Played>) {
    for at in &all.at {
        let mut client = Client::connect(*at.borrow()).await;
        for (id, played) in answers.iter().filter(|(id, _)| !id.contains('.')) {
            let client_seed = format!("{id} of the caller").into_bytes();
            let request = motherlode_proto::spin::v1::SpinRequest { client_seed, ..bet(id, account, "0.05") };
            let again = client.spin(request, None).await.unwrap();
            assert_eq!(Played { jackpot: None, ..again }, *played, "{id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_30_two_spinning_processes_race_for_a_player_and_are_killed_and_each_request_has_one_outcome() {
    let mut all = Installation::start().await;
    let account = Client::connect(*all.at_ledger.borrow()).await.fund("ann", EUR, 100_000_000).await;
    let race = Race::start(racers(&all, &account));
    for turn in 0..8 {
        race.goes_on(1 + turn * 7 % 23).await;
        match turn % 4 {
            0 => all.restart(0),
            1 => all.restart_ledger(),
            2 => {
                all.links[1].cut();
                all.kill(1 - usize::from(turn > 4));
                all.links[1].mend();
                all.restart(1 - usize::from(turn > 4));
            }
            _ => {
                all.restart(1);
                all.restart(0);
            }
        }
    }
    race.goes_on(20).await;
    let answers = race.end().await;
    answered_again(&all, &account, &answers).await;
    let data = all.data();
    let _folder = all.stop().await;
    assert_eq!(draws_are_used_once(&data, &answers), 0, "no key was lost");
    let seals = audited(&data, 1).seals();
    assert_eq!((seals.opened, seals.unsealed, seals.key_lost, seals.rounds_lost), (1, 0, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_28_a_key_file_that_is_lost_in_a_race_costs_one_draw_each_time_and_all_of_it_is_in_the_books() {
    let mut all = Installation::start().await;
    all.more = &["--draw-keys-lost"];
    let account = Client::connect(*all.at_ledger.borrow()).await.fund("ann", EUR, 100_000_000).await;
    let race = Race::start(racers(&all, &account));
    for turn in 0..4 {
        race.goes_on(5 + turn * 7).await;
        fs::remove_file(all.keys()).unwrap();
        match turn {
            3 => all.restart_ledger(),
            _ => all.restart(usize::try_from(turn % 2).unwrap()),
        }
    }
    race.goes_on(20).await;
    let answers = race.end().await;
    answered_again(&all, &account, &answers).await;
    let data = all.data();
    let _folder = all.stop().await;
    let lost = draws_are_used_once(&data, &answers);
    let seals = audited(&data, 1).seals();
    assert!(lost > 0, "a key was lost");
    assert_eq!((seals.opened, seals.unsealed, seals.key_lost), (1, 0, u64::try_from(lost).unwrap()));
}
