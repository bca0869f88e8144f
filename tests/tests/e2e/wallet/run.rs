//! A long run with faults (PL-39). At the wallet, each round must be opened and closed once, and all amounts must agree
//! exactly. `MOTHERLODE_WALLET_ROUNDS` sets a larger number of bets.

use super::{
    facts::once,
    scripted::{Arrived, End, Wallet, WalletRequest},
    until,
    world::World,
};
use motherlode_proto::{
    ledger::v1::{CancelRequestRequest, GetRoundRequest, VoidRoundRequest},
    round::v1::Account,
    spin::v1::{CloseRoundRequest, Played, SpinRequest},
    wallet::v1::{CreditKind, DebitKind, RoundEnd},
};
use motherlode_slots::latest;
use motherlode_testkit::sim::Chance;
use motherlode_tests::{Client, Force, bet, campaign, free_round, next_choice, reason, vials};
use std::{collections::BTreeMap, env, time::Duration};
use tonic::Status;

const ROUNDS: u64 = 30;
const PLAYERS: u64 = 6;
const FAULTS: usize = 25;
const FUNDS: i64 = 100_000_000;

type Counts = BTreeMap<&'static str, u64>;

async fn known(client: &mut Client, request: &SpinRequest, force: Option<Force>) -> Result<Played, Status> {
    for _ in 0..10_000 {
        match client.spin(request.clone(), force).await {
            Err(status)
                if ["", "OUTCOME_UNKNOWN", "WALLET_UNAVAILABLE", "WALLET_BUSY", "DEBIT_OPEN", "DUES_WAITING"]
                    .contains(&&*reason(&status)) =>
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            known => return known,
        }
    }
    panic!("the outcome stays unknown")
}

struct Player {
    client: Client,
    account: Account,
    poor: Account,
    counts: Counts,
}

impl Player {
    fn count(&mut self, kind: &'static str) {
        *self.counts.entry(kind).or_default() += 1;
    }

    fn stepped(&mut self, step: Played) -> Played {
        if step.jackpot.is_some() {
            self.count("jackpots");
        }
        step
    }

    async fn spun(&mut self, request: SpinRequest, force: Option<Force>) -> Played {
        let played = known(&mut self.client, &request, force).await.unwrap();
        self.stepped(played)
    }

    async fn finished(&mut self, id: &str, mut last: Played) -> Played {
        while let Some(kind) = next_choice(&last) {
            let step = self.client.choose(&format!("{id}.{}", last.step), &last.round_id, kind, None).await.unwrap();
            last = self.stepped(step);
        }
        last
    }

    /// Skips rounds with a jackpot, because the void would only be proposed (PL-38).
    async fn void(&mut self, id: &str, round_id: String) {
        let get = GetRoundRequest { round_id: round_id.clone() };
        let round = self.client.ledger.get_round(get).await.unwrap().into_inner().round.unwrap();
        if !round.jackpots.is_empty() {
            return self.count("played");
        }
        let (request_id, actor) = (format!("void-{id}"), "support".to_owned());
        let void = VoidRoundRequest { request_id, round_id, reason: "a fault".into(), actor };
        self.client.ledger.void_round(void).await.unwrap();
        self.count("voided");
    }

    async fn play(&mut self, number: u64) {
        let id = format!("r{number}");
        let request = bet(&id, &self.account, "0.10");
        match number % 15 {
            0 => self.hit(&id).await,
            kind @ (1 | 2) => {
                let force = if kind == 1 { Force::Open } else { Force::Loss };
                let last = self.spun(request, Some(force)).await;
                let last = self.finished(&id, last).await;
                self.void(&id, last.round_id).await;
            }
            3 => {
                let open = self.spun(request, Some(Force::Open)).await;
                self.void(&id, open.round_id).await;
            }
            4 => {
                let round_id = self.spun(request, Some(Force::Open)).await.round_id;
                let (request_id, reason, actor) = (format!("left-{id}"), "left".into(), "support".into());
                let close = CloseRoundRequest { request_id, round_id, reason, actor };
                let closed = self.client.spin.close_round(close).await.unwrap().into_inner();
                closed.steps.into_iter().for_each(|step| _ = self.stepped(step));
                self.count("abandoned");
            }
            5 => {
                let request = free_round(latest("neptune").unwrap(), &id, &self.account, "spring");
                let last = self.spun(SpinRequest { offer_double: false, ..request }, None).await;
                self.finished(&id, last).await;
                self.count("free");
            }
            6 => self.cancel(&id, request).await,
            7 => {
                let poor = bet(&id, &self.poor, "0.10");
                let refused = known(&mut self.client, &poor, None).await.unwrap_err();
                assert_eq!(reason(&refused), "INSUFFICIENT_FUNDS");
                self.count("refused");
            }
            _ => {
                let last = self.spun(request, None).await;
                self.finished(&id, last).await;
                self.count("played");
            }
        }
    }

    async fn hit(&mut self, id: &str) {
        let mut request = bet(id, &self.account, "0.20");
        request.stake.as_mut().unwrap().coins_per_line = 10;
        let spun = self.spun(request, Some(Force::Pick)).await;
        let hit = self.client.choose(&format!("{id}.1"), &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
        assert!(hit.jackpot.is_some(), "{id}");
        let last = self.stepped(hit);
        self.finished(id, last).await;
        self.count("forced jackpots");
    }

    async fn cancel(&mut self, id: &str, request: SpinRequest) {
        let (mut client, mut other) = (self.client.clone(), self.client.clone());
        let account = Some(self.account.clone());
        let cancel = CancelRequestRequest { account, request_id: id.to_owned(), ..Default::default() };
        let playing = known(&mut client, &request, None);
        let (played, cancelled) = tokio::join!(playing, other.ledger.cancel_request(cancel));
        cancelled.unwrap();
        match played {
            Ok(spun) => {
                let last = self.stepped(spun);
                self.finished(id, last).await;
            }
            Err(status) => {
                assert!(["DEBIT_ROLLED_BACK", "REQUEST_CANCELLED"].contains(&&*reason(&status)), "{status:?}");
                self.count("cancelled");
            }
        }
    }
}

async fn player(world: &World, client: &Client, number: u64, rounds: u64) -> Player {
    let mut client = client.clone();
    let account = world.player(&mut client, &format!("p{number}"), FUNDS).await;
    let poor = world.player(&mut client, &format!("poor{number}"), 1).await;
    let rounds = u32::try_from(rounds).unwrap();
    client.spin.grant_campaign(campaign(latest("neptune").unwrap(), "spring", &account, rounds)).await.unwrap();
    Player { client, account, poor, counts: Counts::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_39_a_run_under_faults_opens_and_closes_each_round_once_to_the_last_unit() {
    let rounds = env::var("MOTHERLODE_WALLET_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number"));
    let wallet = Wallet::default();
    let (address, _) = wallet.serve().await;
    let settings = format!("url = \"http://{address}\", open_free_rounds = true, answer_ms_max = 50");
    let world = World::with(wallet, &settings).await;
    let client = world.client("acme").await;
    let mut players = vec![];
    for number in 0..PLAYERS {
        players.push(player(&world, &client, number, rounds / PLAYERS + 1).await);
    }
    world.wallet.books().random = Some((FAULTS, Chance(7)));
    let playing = players.into_iter().zip(0..).map(|(mut player, first)| {
        tokio::spawn(async move {
            for number in (first..rounds).step_by(usize::try_from(PLAYERS).unwrap()) {
                player.play(number).await;
            }
            player.counts
        })
    });
    let mut counts = Counts::new();
    for ended in playing.collect::<Vec<_>>() {
        for (kind, count) in ended.await.unwrap() {
            *counts.entry(kind).or_default() += count;
        }
    }
    let awards = || world.wallet.books().order.iter().filter(|id| id.contains("/award/")).count() as u64;
    let jackpots = counts.get("jackpots").copied().unwrap_or_default();
    until(|| awards() == jackpots, "the jackpots are credited").await;
    world.wallet.script(&[]);
    let names: Vec<_> = (0..PLAYERS).flat_map(|number| [format!("p{number}"), format!("poor{number}")]).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    world.settled(&names).await;
    judge(&world.wallet, &counts, rounds);
    for name in &names {
        let first = if name.starts_with("poor") { 1 } else { FUNDS };
        assert_eq!(world.wallet.balance(name), first + world.wallet.applied(name), "{name}");
    }
    world.reconciled(&names).await;
}

fn judge(wallet: &Wallet, counts: &Counts, rounds: u64) {
    let books = wallet.books();
    let mut seen = BTreeMap::<String, u64>::new();
    let (mut opened, mut closed) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, Vec<RoundEnd>>::new());
    for call in once(&books.arrived) {
        let name = described(&call);
        if let WalletRequest::Rollback(_) = call.call {
            *seen.entry("rolled back".into()).or_default() += 1;
            continue;
        }
        match books.transactions.get(&call.id).map(|entry| &entry.end) {
            Some(End::Applied) => *seen.entry(name.into()).or_default() += 1,
            Some(End::Refused(_)) => *seen.entry("refused".into()).or_default() += 1,
            Some(End::RolledBack) | None => continue,
        }
        if books.transactions[&call.id].end != End::Applied {
            continue;
        }
        let round = call.round();
        if ["bet", "open free round"].contains(&name) {
            *opened.entry(round.round_uuid.clone()).or_default() += 1;
        }
        if round.closed {
            closed.entry(round.round_uuid.clone()).or_default().push(round.end());
        }
    }
    assert!(opened.values().all(|times| *times == 1), "a round was opened twice");
    assert_eq!(opened.keys().collect::<Vec<_>>(), closed.keys().collect::<Vec<_>>(), "each opened round is closed");
    let mut ends = BTreeMap::<&str, u64>::new();
    for ended in closed.values() {
        assert!(matches!(ended.as_slice(), [_] | [RoundEnd::Played, RoundEnd::Voided]), "{ended:?}");
        *ends.entry(ended.last().unwrap().as_str_name()).or_default() += 1;
    }
    let of = |kind| counts.get(kind).copied().unwrap_or_default();
    assert_eq!(ends.get("ROUND_END_VOIDED").copied().unwrap_or_default(), of("voided"));
    assert_eq!(ends.get("ROUND_END_ABANDONED").copied().unwrap_or_default(), of("abandoned"));
    assert_eq!(seen.get("refused").copied().unwrap_or_default(), of("refused"));
    assert_eq!(seen.get("jackpot").copied().unwrap_or_default(), of("jackpots"));
    assert_eq!(seen.get("open free round").copied().unwrap_or_default(), of("free"));
    assert_eq!(
        opened.len() as u64 + of("refused") + of("cancelled"),
        rounds,
        "each bet is played, refused or cancelled"
    );
    let (distinct, all) = (once(&books.arrived).len(), books.arrived.len());
    let a_round = |calls: usize| calls as f64 / opened.len() as f64;
    println!("bets {rounds}; by the run: {counts:?}");
    println!("rounds opened and closed {}; by end: {ends:?}; calls applied: {seen:?}", opened.len());
    println!("calls per round: {:.2} distinct, {:.2} with repeats", a_round(distinct), a_round(all));
}

fn described(call: &Arrived) -> &'static str {
    match &call.call {
        WalletRequest::Debit(request) if request.kind() == DebitKind::Reversal => "reversal",
        WalletRequest::Debit(_) => "bet",
        WalletRequest::Open(_) => "open free round",
        WalletRequest::Credit(request) => match request.kind() {
            CreditKind::Jackpot => "jackpot",
            CreditKind::Refund => "refund",
            CreditKind::FreeRoundWin => "free round win",
            _ => "win",
        },
        WalletRequest::Rollback(_) => "rollback",
        WalletRequest::Close(_) => "close round",
    }
}
