//! Sends due credits of one partition to an operator's wallet, and rolls back debits without a bet.
//!
//! Pending transactions are in the log, so a restart loses none. A transaction sent twice takes effect once. Each
//! player has three lanes (queues): rollbacks, credits and reports of round ends. Calls in a lane are sent in order.
//! Lanes are served concurrently, so an unanswered report delays no credit.

use crate::{
    call::{Call, NOT_IN_TIME, Names},
    client::Answer,
    wallets::{OperatorWallet, Wallets},
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use motherlode_ledger::{AppendError, Handle, Ledgers, Proposal};
use motherlode_proto::wallet::v1::ReasonCode;
use motherlode_state::{Debit, DueKind, Event, InternalRequest, Minor, StreamId, UnpaidCredit, Wallet, WalletAnswer};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem::take,
    panic::resume_unwind,
    sync::Arc,
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

const LOOK_EVERY: Duration = Duration::from_millis(5);

const AGE_EVERY: Duration = Duration::from_millis(500);

const LOOKS_MAX: usize = 1_024;

const REST: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Rollbacks,
    Credits,
    Reports,
}

impl Lane {
    const ALL: [Self; 3] = [Self::Rollbacks, Self::Credits, Self::Reports];
}

type Sender = (String, Lane);

pub struct WalletOutbox {
    ledgers: Ledgers,
    ledger: Handle,
    wallet: Arc<OperatorWallet>,
    pauses: Pauses,
    looked: String,
    overdue: Overdue,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Overdue {
    looked: String,
    busy: u64,
    players: u64,
    oldest_ms: Option<i64>,
}

impl Overdue {
    fn add(&mut self, page: &[i64], is_last: bool, until_ms: i64) -> Option<Self> {
        self.busy += page.len() as u64;
        for since in page.iter().filter(|since| **since <= until_ms) {
            self.players += 1;
            self.oldest_ms = Some(self.oldest_ms.map_or(*since, |oldest| oldest.min(*since)));
        }
        is_last.then(|| take(self))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Done,
    Failed { progress: bool },
}

impl WalletOutbox {
    /// Runs the outboxes of all wallets, including wallets that a reload adds. Returns when any outbox ends.
    pub async fn run_all(ledgers: Ledgers, wallets: Wallets) {
        let mut replacements = wallets.replacements();
        loop {
            replacements.mark_unchanged();
            let mut outboxes: JoinSet<_> = Self::for_wallets(&ledgers, &wallets).into_iter().map(Self::run).collect();
            tokio::select! {
                Some(ended) = outboxes.join_next() => {
                    if let Err(error) = ended && let Ok(panic) = error.try_into_panic() {
                        resume_unwind(panic);
                    }
                    return;
                }
                replaced = replacements.changed() => if replaced.is_err() { return },
            }
        }
    }

    #[must_use]
    pub fn for_wallets(ledgers: &Ledgers, wallets: &Wallets) -> Vec<Self> {
        let written = || ledgers.all().filter(|ledger| !ledger.is_replica());
        let wallets = wallets.all();
        let each = wallets.iter().flat_map(|wallet| written().map(move |ledger| (wallet, ledger)));
        let outbox = |(wallet, ledger): (&Arc<OperatorWallet>, &Handle)| Self {
            ledgers: ledgers.clone(),
            ledger: ledger.clone(),
            wallet: Arc::clone(wallet),
            pauses: Pauses::default(),
            looked: String::new(),
            overdue: Overdue::default(),
        };
        each.map(outbox).collect()
    }

    pub async fn run(mut self) {
        let (ledger, wallet) = (self.ledger.clone(), Arc::clone(&self.wallet));
        let mut head = ledger.head();
        let (mut look, mut age) = (interval(LOOK_EVERY), interval(AGE_EVERY));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        age.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut at_work = BTreeSet::new();
        let mut turns = FuturesUnordered::new();
        loop {
            head.borrow_and_update();
            for sender in self.next(&at_work) {
                at_work.insert(sender.clone());
                let attempt = self.pauses.failures(&sender).saturating_add(1);
                turns.push(turn(&ledger, &wallet, sender, attempt));
            }
            look.tick().await;
            let retry = self.next_retry();
            tokio::select! {
                Some((sender, ended)) = turns.next() => {
                    at_work.remove(&sender);
                    self.pauses.note(sender, ended, Instant::now());
                }
                changed = head.changed() => if changed.is_err() { return },
                () = sleep_until(retry) => {}
                _ = age.tick() => self.report().await,
            }
        }
    }

    /// Returns the players' lanes to serve next, except lanes in `at_work` and paused lanes. Reports of round ends use
    /// at most half of the call slots.
    fn next(&mut self, at_work: &BTreeSet<Sender>) -> Vec<Sender> {
        let settings = self.wallet.settings();
        let room = settings.credits_max.saturating_sub(at_work.len());
        if room == 0 {
            return vec![];
        }
        let longest = i64::try_from(settings.debit_ms_max).unwrap_or(i64::MAX);
        let late_ms = self.ledger.now_ms().saturating_sub(longest);
        let (operator, is_left) = (self.wallet.operator(), self.wallet.left_ms() > 0);
        let (late, owing): (Vec<_>, Vec<_>) = self.ledger.books(|books| {
            let late = books.waiting_debits(operator).take_while(|(asked_ms, _)| *asked_ms <= late_ms);
            let late = late.map(|(_, name)| name.to_owned()).take(LOOKS_MAX).collect();
            let looks = if is_left { 0 } else { LOOKS_MAX };
            (late, books.owing_players(operator, &self.looked).take(looks).map(str::to_owned).collect())
        });
        let now = Instant::now();
        self.pauses.forget(now);
        // The next lookup starts after the last player of this lookup, so every player gets a turn.
        let is_last = owing.len() < LOOKS_MAX;
        let reports = |of: &&Sender| of.1 == Lane::Reports;
        let reports_max = (settings.credits_max / 2).max(1).saturating_sub(at_work.iter().filter(reports).count());
        let mut next: Vec<Sender> = vec![];
        let mut looked = String::new();
        let names = late.into_iter().map(|name| (name, false)).chain(owing.into_iter().map(|name| (name, true)));
        for (name, is_owing) in names {
            if next.len() == room {
                break;
            }
            if is_owing {
                looked.clone_from(&name);
            }
            for lane in Lane::ALL {
                let sender = (name.clone(), lane);
                let is_full =
                    next.len() == room || lane == Lane::Reports && next.iter().filter(reports).count() == reports_max;
                if !is_full
                    && !self.pauses.hold(&sender, now)
                    && !at_work.contains(&sender)
                    && !next.contains(&sender)
                    && self.due(&sender)
                {
                    next.push(sender);
                }
            }
        }
        self.looked = if is_last && next.len() < room { String::new() } else { looked };
        next
    }

    fn due(&self, (player, lane): &Sender) -> bool {
        todo(&self.ledger, &self.wallet, &StreamId::player(self.wallet.operator(), player), *lane).is_some()
    }

    /// Returns the earliest end of a pause or of the circuit's open time; if there is neither, 2 * [`AGE_EVERY`] from
    /// now.
    fn next_retry(&self) -> Instant {
        let now = Instant::now();
        let circuit =
            Some(self.wallet.left_ms()).filter(|left| *left > 0).map(|left| now + Duration::from_millis(left));
        self.pauses.earliest(now).into_iter().chain(circuit).min().unwrap_or(now + 2 * AGE_EVERY)
    }

    /// Prints an error and logs an event if calls are overdue, at most once per hour for wallet and partition (PL-32).
    async fn report(&mut self) {
        let now_ms = self.ledger.now_ms();
        let limit = i64::try_from(self.wallet.settings().overdue_ms).unwrap_or(i64::MAX);
        let operator = self.wallet.operator();
        let names: Vec<_> = self.ledger.books(|books| {
            let names = books.busy_players(operator, &self.overdue.looked).take(LOOKS_MAX);
            names.map(str::to_owned).collect()
        });
        let is_last = names.len() < LOOKS_MAX;
        let since = names.iter().filter_map(|name| {
            let player = self.ledger.player(&StreamId::player(operator, name)).ok()??;
            let Wallet { debit, dues, .. } = player.wallet()?;
            debit.iter().map(|debit| debit.asked_ms).chain(dues.front().map(|due| due.due_ms)).min()
        });
        let since: Vec<_> = since.collect();
        self.overdue.looked = names.last().cloned().unwrap_or_default();
        let Some(seen) = self.overdue.add(&since, is_last, now_ms.saturating_sub(limit)) else { return };
        let (partition, Overdue { busy, players, oldest_ms, .. }) = (self.ledger.partition(), seen);
        self.wallet.note_under_way(partition, busy, players);
        let Some(oldest_ms) = oldest_ms else { return };
        let request = InternalRequest::LogOverdue { operator, partition, hour: now_ms / 3_600_000 }.to_string();
        if !matches!(self.ledgers.home().find_position(&StreamId::System, &request), Ok(None)) {
            return;
        }
        let operator = operator.to_owned();
        tracing::error!(
            operator,
            partition,
            players,
            "debits or credits at the operator's wallet are overdue: check the wallet"
        );
        let event = Event::WalletOverdue { operator: operator.into(), partition, players, oldest_ms };
        let proposal = internal(&StreamId::System, request, event);
        if let Err(error) = self.ledgers.append(proposal).await {
            tracing::warn!(%error, "failed to record the significant event WalletOverdue");
        }
    }
}

#[derive(Debug, Default)]
struct Pauses(BTreeMap<Sender, (u32, Instant)>);

impl Pauses {
    fn failures(&self, sender: &Sender) -> u32 {
        self.0.get(sender).map_or(0, |(failures, _)| *failures)
    }

    fn hold(&self, sender: &Sender, now: Instant) -> bool {
        self.0.get(sender).is_some_and(|(_, until)| *until > now)
    }

    fn earliest(&self, now: Instant) -> Option<Instant> {
        self.0.values().map(|(_, until)| *until).filter(|until| *until > now).min()
    }

    fn forget(&mut self, now: Instant) {
        self.0.retain(|_, (_, until)| *until + REST.1 > now);
    }

    fn note(&mut self, sender: Sender, ended: Turn, now: Instant) {
        match ended {
            Turn::Done => _ = self.0.remove(&sender),
            Turn::Failed { progress } => {
                let failures = if progress { 0 } else { self.failures(&sender) };
                let rest = REST.0.saturating_mul(1 << failures.min(16)).min(REST.1);
                self.0.insert(sender, (failures.saturating_add(1), now + rest));
            }
        }
    }
}

enum Todo {
    GiveUp(Debit),
    RollBack(Debit),
    Send(UnpaidCredit),
    /// A report of a round's end is due, but the operator's settings no longer request reports.
    Skip(UnpaidCredit),
}

fn todo(ledger: &Handle, wallet: &OperatorWallet, stream: &StreamId, lane: Lane) -> Option<Todo> {
    let player = ledger.player(stream).ok()??;
    let owed = player.wallet()?;
    let longest = i64::try_from(wallet.settings().debit_ms_max).unwrap_or(i64::MAX);
    let reports_rounds = wallet.settings().close_rounds;
    let next = match (lane, &owed.debit) {
        (Lane::Rollbacks, Some(debit)) if debit.rolling_back => return Some(Todo::RollBack(debit.clone())),
        (Lane::Rollbacks, Some(debit)) if ledger.now_ms().saturating_sub(debit.asked_ms) >= longest => {
            return Some(Todo::GiveUp(debit.clone()));
        }
        (Lane::Rollbacks, _) => return None,
        (Lane::Credits, _) => owed.next_credit(),
        (Lane::Reports, _) if !reports_rounds && owed.dues.iter().any(UnpaidCredit::is_close) => {
            return owed.dues.iter().find(|due| due.is_close()).cloned().map(Todo::Skip);
        }
        (Lane::Reports, _) => owed.next_report(),
    };
    owed.dues.get(next?).cloned().map(Todo::Send)
}

async fn turn(ledger: &Handle, wallet: &OperatorWallet, sender: Sender, mut attempt: u32) -> (Sender, Turn) {
    let stream = StreamId::player(wallet.operator(), &sender.0);
    let mut progress = false;
    while let Some(todo) = todo(ledger, wallet, &stream, sender.1) {
        if !step(ledger, wallet, &stream, (todo, attempt)).await {
            return (sender, Turn::Failed { progress });
        }
        (attempt, progress) = (1, true);
    }
    (sender, Turn::Done)
}

async fn step(ledger: &Handle, wallet: &OperatorWallet, stream: &StreamId, (todo, attempt): (Todo, u32)) -> bool {
    let proposal = match todo {
        Todo::GiveUp(debit) => roll_back(stream, &debit, NOT_IN_TIME),
        Todo::RollBack(debit) => {
            let call = match rollback_of(ledger, wallet, stream, &debit) {
                Ok(call) => call,
                Err(why) => return unread(stream, &why),
            };
            let Debit { request_id, fingerprint, .. } = debit;
            match wallet.send(&call, attempt).await {
                Answer::Done { .. } => Proposal {
                    stream: stream.clone(),
                    expected_version: None,
                    request_id,
                    fingerprint,
                    events: vec![Event::DebitRolledBack],
                },
                answer => return unanswered(stream, &call, &answer),
            }
        }
        Todo::Send(due) => {
            let names = Names::new(wallet.operator(), wallet.settings());
            let call = match Call::due(names, ledger, stream, &due) {
                Ok(call) => call,
                Err(error) => return unread(stream, &error.to_string()),
            };
            match wallet.send(&call, attempt).await {
                Answer::Done { reported_balance, facts } => ended(stream, due, (reported_balance, facts)),
                Answer::Refused { reason, code } => match hold_call(ledger, stream, &due, (reason, code)) {
                    Some(proposal) => proposal,
                    None => return false,
                },
                answer => return unanswered(stream, &call, &answer),
            }
        }
        Todo::Skip(due) => closed(stream, due, true),
    };
    match ledger.append(proposal).await {
        Ok(_) => true,
        Err(AppendError::Refused(_)) => false,
        Err(error) => {
            tracing::warn!(%stream, %error, "failed to append the wallet's answer to the event log; \
                 the call is sent again");
            false
        }
    }
}

fn rollback_of(ledger: &Handle, wallet: &OperatorWallet, stream: &StreamId, debit: &Debit) -> Result<Call, String> {
    let names = Names::new(wallet.operator(), wallet.settings());
    let asked = ledger.fetch(debit.asked_at).map_err(|error| error.to_string())?;
    let id = InternalRequest::AskRollback { request_id: &debit.request_id }.to_string();
    let rollback = ledger.find(stream, &id, InternalRequest::FINGERPRINT).map_err(|error| error.to_string())?;
    let call = rollback.and_then(|rollback| Call::rollback(names, &ledger.restores(), &asked, &rollback));
    call.ok_or_else(|| format!("the log has no rollback of the debit {}", debit.request_id))
}
fn ended(
    stream: &StreamId,
    due: UnpaidCredit,
    (reported_balance, answer): (Minor, Option<Box<WalletAnswer>>),
) -> Proposal {
    let (kind, taken) = (due.kind(), due.reversal());
    if kind == DueKind::Close {
        return closed(stream, due, false);
    }
    let UnpaidCredit { request_id, currency, amount, closes: round, .. } = due;
    if kind == DueKind::Reversal {
        let request = InternalRequest::TakeReversal { request_id: &request_id, currency }.to_string();
        let event = Event::ReversalTaken { request_id, round, currency, amount: taken, reported_balance, answer };
        return internal(stream, request, event);
    }
    let request = InternalRequest::PayCredit { request_id: &request_id, currency }.to_string();
    internal(stream, request, Event::CreditPaid { request_id, currency, amount, reported_balance, answer })
}
fn closed(stream: &StreamId, due: UnpaidCredit, skipped: bool) -> Proposal {
    let UnpaidCredit { request_id, currency, closes: round, .. } = due;
    let request = InternalRequest::ReportClose { request_id: &request_id, round }.to_string();
    internal(stream, request, Event::CloseReported { request_id, currency, round, skipped })
}
fn hold_call(
    ledger: &Handle,
    stream: &StreamId,
    due: &UnpaidCredit,
    (reason, code): (String, ReasonCode),
) -> Option<Proposal> {
    let transaction = due.transaction_id(stream, &ledger.restores());
    tracing::error!(%stream, transaction, reason, code = code.as_str_name(), "the operator's wallet refused a call, which is held until RetryWalletCalls is called");
    let version = ledger.player(stream).ok()??.head.version;
    let request = InternalRequest::HoldCall { version }.to_string();
    let (request_id, currency, close) = (due.request_id.clone(), due.currency, due.close());
    let code = u32::try_from(i32::from(code)).unwrap_or_default();
    Some(internal(stream, request, Event::WalletCallHeld { request_id, currency, close, reason, code }))
}

#[must_use]
pub fn roll_back(stream: &StreamId, debit: &Debit, reason: &str) -> Proposal {
    let Debit { request_id, .. } = debit;
    let request = InternalRequest::AskRollback { request_id }.to_string();
    internal(stream, request, Event::RollbackAsked { request_id: request_id.clone(), reason: reason.to_owned() })
}

fn internal(stream: &StreamId, request_id: String, event: Event) -> Proposal {
    let (fingerprint, stream) = (InternalRequest::FINGERPRINT, stream.clone());
    Proposal { stream, expected_version: None, request_id: request_id.into(), fingerprint, events: vec![event] }
}

fn unanswered(stream: &StreamId, call: &Call, answer: &Answer) -> bool {
    let (name, transaction) = (call.name(), call.id());
    match answer {
        Answer::Refused { reason, .. } => {
            tracing::error!(%stream, name, transaction, reason, "the operator's wallet refused a rollback, which it must accept; retrying");
        }
        answer => {
            tracing::debug!(%stream, name, transaction, ?answer, "the operator's wallet did not answer a call; retrying")
        }
    }
    false
}

fn unread(stream: &StreamId, why: &str) -> bool {
    tracing::warn!(%stream, why, "failed to read the log for a call to the operator's wallet; retrying");
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_31_a_failed_call_is_repeated_when_its_pause_ends_without_other_work() {
        let (now, mut pauses) = (Instant::now(), Pauses::default());
        let lane = |player: &str| (player.to_owned(), Lane::Credits);
        let failed = Turn::Failed { progress: false };
        assert_eq!(pauses.earliest(now), None);
        pauses.note(lane("bob"), failed, now);
        for pause in [50, 100, 200, 400].map(Duration::from_millis) {
            pauses.note(lane("alice"), failed, now + Duration::from_millis(50));
            let ends = now + Duration::from_millis(50) + pause;
            assert_eq!(pauses.earliest(now + Duration::from_millis(50)), Some(ends), "bob's pause has ended");
            assert!(pauses.hold(&lane("alice"), now + Duration::from_millis(50)) && !pauses.hold(&lane("alice"), ends));
        }
        assert_eq!(pauses.earliest(now), Some(now + REST.0), "bob's pause");
        pauses.note(lane("alice"), Turn::Failed { progress: true }, now);
        assert_eq!((pauses.failures(&lane("alice")), pauses.earliest(now)), (1, Some(now + REST.0)));
        pauses.note(lane("alice"), Turn::Done, now);
        pauses.note(lane("bob"), Turn::Done, now);
        assert_eq!(pauses.earliest(now), None);
    }

    #[test]
    fn pl_32_what_is_overdue_is_found_beyond_the_first_page_and_counted_anew_each_time() {
        let mut overdue = Overdue::default();
        for _ in 0..2 {
            assert_eq!(overdue.add(&[50; LOOKS_MAX], false, 40), None);
            assert_eq!(overdue.add(&[41, 40, 30], false, 40), None);
            let seen = overdue.add(&[35, 99], true, 40).unwrap();
            assert_eq!((seen.busy, seen.players, seen.oldest_ms), (LOOKS_MAX as u64 + 5, 3, Some(30)));
        }
        let seen = overdue.add(&[41], true, 40).unwrap();
        assert_eq!((seen.busy, seen.players, seen.oldest_ms), (1, 0, None), "nothing may be overdue");
    }
}
