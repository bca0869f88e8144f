use super::{players::Players, report::Verdict};
use crate::{call::Call, client::Client};
use data_encoding::HEXLOWER;
use futures_util::future::join_all;
use motherlode_proto::{
    round::v1::Account,
    wallet::v1::{self as wire, Outcome, ReasonCode},
};
use motherlode_runtime::config::Seamless;
use std::{mem::take, time::Duration};
use tokio::time::{Instant, timeout};

const FUNDS: i64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Done,
    DoneBefore,
    Applied,
    Refused,
    RefusedFor(ReasonCode),
    NotApplied,
}

pub(super) type Seen = Result<wire::Result, String>;

pub(super) struct Kit {
    pub(super) settings: Seamless,
    pub(super) client: Client,
    pub(super) players: Players,
    pub(super) restart_within: Duration,
    pub(super) say: fn(&str),
    pub(super) run: String,
    pub(super) serial: u64,
    pub(super) moved: i64,
    pub(super) first_balance: Option<i64>,
    pub(super) opened: u64,
    pub(super) closed: u64,
    pub(super) took: Vec<Duration>,
    pub(super) balances_absent: usize,
    calls: Vec<String>,
    faults: Vec<String>,
}

impl Kit {
    pub(super) fn new(settings: Seamless, client: Client, players: Players, say: fn(&str)) -> Self {
        let mut run = [0; 4];
        let _ = getrandom::fill(&mut run);
        Self {
            settings,
            client,
            players,
            restart_within: Duration::ZERO,
            say,
            run: HEXLOWER.encode(&run),
            serial: 0,
            moved: 0,
            first_balance: None,
            opened: 0,
            closed: 0,
            took: vec![],
            balances_absent: 0,
            calls: vec![],
            faults: vec![],
        }
    }

    pub(super) fn outcome(&mut self, ended: Result<(), &'static str>) -> (Vec<String>, Verdict) {
        let (calls, faults) = (take(&mut self.calls), take(&mut self.faults));
        let verdict = match ended {
            _ if !faults.is_empty() => Verdict::Failed(faults),
            Err(why) => Verdict::Skipped(why),
            Ok(()) => Verdict::Passed,
        };
        (calls, verdict)
    }

    pub(super) fn note(&mut self, line: String) {
        self.calls.push(line);
    }

    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    pub(super) async fn fund(&mut self) {
        self.first_balance = self.balance().await;
        let open = self.open_free();
        self.expect(&open, Want::Done).await;
        let win = self.credit(&open, FUNDS, wire::CreditKind::FreeRoundWin, true);
        self.expect(&win, Want::Done).await;
    }

    async fn ask(&self, call: &Call) -> (Seen, Duration) {
        let begun = Instant::now();
        let longest = Duration::from_millis(self.settings.answer_ms_max);
        let seen = match timeout(longest, self.client.ask(call, 1)).await {
            Err(_) => Err("the wallet did not answer in time".to_owned()),
            Ok(Err(status)) => Err(format!("{:?}: {}", status.code(), status.message())),
            Ok(Ok(None)) => Err("the wallet's answer has no result".to_owned()),
            Ok(Ok(Some(result))) => Ok(result),
        };
        (seen, begun.elapsed())
    }

    pub(super) async fn expect(&mut self, call: &Call, want: Want) -> Outcome {
        let asked = self.ask(call).await;
        self.judge(call, asked, want)
    }

    pub(super) async fn expect_one_of_ten(&mut self, call: &Call) {
        let all = join_all((0..10).map(|_| self.ask(call))).await;
        let is_done = |asked: &(Seen, Duration)| asked.0.as_ref().is_ok_and(|result| result.outcome() == Outcome::Done);
        let done = all.iter().filter(|asked| is_done(asked)).count();
        for asked in all {
            self.judge(call, asked, Want::Applied);
        }
        if done != 1 {
            self.fault(format!("{done} of ten concurrent copies of a call were answered with DONE; expected 1"));
        }
    }

    pub(super) async fn send_both(&mut self, one: &Call, other: &Call) {
        let (first, second) = tokio::join!(self.ask(one), self.ask(other));
        for (call, concurrent, (seen, _)) in [(one, other, first), (other, one, second)] {
            self.note(format!(
                "{}, sent at the same time as {}: {}",
                described(call),
                described(concurrent),
                answered(&seen)
            ));
        }
    }

    fn judge(&mut self, call: &Call, (seen, took): (Seen, Duration), want: Want) -> Outcome {
        self.took.push(took);
        let outcome = seen.as_ref().map_or(Outcome::Unspecified, wire::Result::outcome);
        let is_wanted = match want {
            Want::Done => outcome == Outcome::Done,
            Want::DoneBefore => outcome == Outcome::DoneBefore,
            Want::Applied => matches!(outcome, Outcome::Done | Outcome::DoneBefore),
            Want::Refused => outcome == Outcome::Refused,
            Want::RefusedFor(code) => {
                let named = seen.as_ref().is_ok_and(|result| result.reason_code() == code);
                outcome == Outcome::Refused && named
            }
            Want::NotApplied => !matches!(outcome, Outcome::Done | Outcome::DoneBefore),
        };
        if outcome == Outcome::Done {
            self.count(call);
        }
        if seen.as_ref().is_ok_and(|result| result.balance_minor.is_none()) {
            self.balances_absent += 1;
        }
        let line = format!("{}: {}; expected {}", described(call), answered(&seen), wanted(want));
        if !is_wanted {
            self.fault(line.clone());
        }
        self.note(line);
        outcome
    }

    fn count(&mut self, call: &Call) {
        let (amount, round) = (self.effect(call), round_of(call));
        let opens = matches!(call, Call::Open(_)) || matches!(call, Call::Debit(_) if amount < 0 && !is_closed(round));
        self.opened += u64::from(opens);
        self.closed += u64::from(is_closed(round));
        if call.player() == self.players.player {
            self.moved += amount;
        }
    }

    fn effect(&self, call: &Call) -> i64 {
        match call {
            Call::Debit(request) => -request.amount.as_ref().map_or(0, |amount| amount.amount_minor),
            Call::Credit(request) => request.amount.as_ref().map_or(0, |amount| amount.amount_minor),
            _ => 0,
        }
    }

    pub(super) fn undone(&mut self, debit: &Call) {
        self.moved -= self.effect(debit);
        self.opened -= 1;
    }

    pub(super) async fn balance(&mut self) -> Option<i64> {
        let account = self.account();
        self.balance_of(account).await
    }

    /// If the wallet lacks GetBalance, the balance is read from the answer to the rollback of a debit that was never
    /// sent.
    pub(super) async fn balance_of(&mut self, account: Account) -> Option<i64> {
        let longest = Duration::from_millis(self.settings.answer_ms_max);
        if let Ok(Ok(balance)) = timeout(longest, self.client.balance(&account)).await {
            return Some(balance);
        }
        let debit = self.debit_of(account, 1);
        let unknown = self.rollback(&debit);
        self.ask(&unknown).await.0.ok()?.balance_minor
    }

    pub(super) async fn expect_moved(&mut self, before: Option<i64>, amount: i64) {
        let after = self.balance().await;
        self.judge_moved((before, after), amount);
    }

    pub(super) fn judge_moved(&mut self, balances: (Option<i64>, Option<i64>), amount: i64) {
        let (Some(before), Some(after)) = balances else {
            return self.note("balance: not reported by the wallet, so the effect was not checked".to_owned());
        };
        let line = format!("balance: {before}, then {after}; expected a change of {amount}");
        if before.checked_add(amount) != Some(after) {
            self.fault(line.clone());
        }
        self.note(line);
    }
}

fn round_of(call: &Call) -> Option<&wire::Round> {
    match call {
        Call::Debit(request) => request.round.as_ref(),
        Call::Open(request) => request.round.as_ref(),
        Call::Credit(request) => request.round.as_ref(),
        Call::Close(request) => request.round.as_ref(),
        Call::Rollback(_) => None,
    }
}

fn is_closed(round: Option<&wire::Round>) -> bool {
    round.is_some_and(|round| round.closed)
}

pub(super) fn described(call: &Call) -> String {
    let amount = match call {
        Call::Debit(request) => request.amount.as_ref(),
        Call::Credit(request) => request.amount.as_ref(),
        Call::Rollback(request) => request.amount.as_ref(),
        Call::Open(_) | Call::Close(_) => None,
    };
    let amount = amount.map_or_else(String::new, |of| format!(" {} {}", of.amount_minor, of.currency_code));
    format!("{} {}{amount}", call.name(), call.id())
}

fn answered(seen: &Seen) -> String {
    let result = match seen {
        Ok(result) => result,
        Err(why) => return format!("no answer ({why})"),
    };
    let outcome = result.outcome().as_str_name().trim_start_matches("OUTCOME_");
    let reason = match result.reason_code() {
        ReasonCode::Unspecified => result.reason.clone(),
        code => code.as_str_name().trim_start_matches("REASON_CODE_").to_owned(),
    };
    let balance = result.balance_minor.map_or_else(String::new, |balance| format!(", balance {balance}"));
    let reason = if reason.is_empty() { reason } else { format!(" {reason}") };
    format!("{outcome}{reason}{balance}")
}

fn wanted(want: Want) -> String {
    match want {
        Want::Done => "DONE".to_owned(),
        Want::DoneBefore => "DONE_BEFORE".to_owned(),
        Want::Applied => "DONE or DONE_BEFORE".to_owned(),
        Want::Refused => "REFUSED".to_owned(),
        Want::RefusedFor(code) => format!("REFUSED {}", code.as_str_name().trim_start_matches("REASON_CODE_")),
        Want::NotApplied => "no effect".to_owned(),
    }
}
