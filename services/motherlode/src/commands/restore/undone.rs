//! Transactions of seamless wallets that a restored log lacks, because the removed records caused or confirmed them.

use crate::commands::Failure;
use motherlode_log::Position;
use motherlode_proto::convert::record::Logged;
use motherlode_state::{Currency, Event, Minor, Restores, SmolStr, StreamId};
use motherlode_wallet::{opening_id, uuid};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Debit,
    Open,
    Credit,
    Reversal,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Debit => "debits",
            Self::Open => "free rounds",
            Self::Credit => "credits",
            Self::Reversal => "reversals",
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    operator_id: &'a str,
    player_id: &'a str,
    kind: Kind,
    transaction_id: String,
    transaction_uuid: String,
    currency_code: &'a str,
    amount_minor: i64,
    /// Whether the log has the wallet's answer.
    confirmed: bool,
    /// Whether the service sends the transaction again with the same id after the restore.
    repeated: bool,
    partition: u32,
    position: Position,
    wallet_transaction_id: &'a str,
}

#[derive(Debug, Clone)]
struct Call {
    kind: Kind,
    currency: Currency,
    amount: Minor,
    id: String,
    position: Position,
}

/// One player's wallet calls without an answer. The key of `calls` contains the id of the causing request.
#[derive(Debug, Default)]
struct Pending {
    calls: BTreeMap<(SmolStr, Kind, Currency), Call>,
    due: BTreeMap<Currency, i64>,
}

#[derive(Debug, Default)]
struct Sum {
    count: u64,
    minor: i128,
    unconfirmed: u64,
    repeated: u64,
}

/// Receives the records of one partition after another. Its memory grows with unanswered wallet calls, not with the
/// log.
pub(super) struct Undone {
    file: Option<(PathBuf, BufWriter<File>)>,
    failed: Option<Failure>,
    pending: BTreeMap<StreamId, Pending>,
    sums: BTreeMap<(SmolStr, Kind, Currency), Sum>,
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unwritable(path, error, "With --undone, specify a file that this user may write")
}

impl Undone {
    pub(super) fn new(path: Option<&Path>) -> Result<Self, Failure> {
        let open = |path: &Path| match File::create(path) {
            Ok(file) => Ok((path.to_owned(), BufWriter::new(file))),
            Err(error) => Err(unwritable(path, &error)),
        };
        let file = path.map(open).transpose()?;
        Ok(Self { file, failed: None, pending: BTreeMap::new(), sums: BTreeMap::new() })
    }

    /// If the restored log lacks the record, `cut` is the restored log's last position.
    pub(super) fn take(&mut self, logged: &Logged, restores: &Restores, cut: Option<Position>) {
        let commit = &logged.commit;
        let StreamId::Player { operator, player } = &commit.stream else { return };
        let mut pending = self.pending.remove(&commit.stream).unwrap_or_default();
        let owner = format!("{operator}/{player}");
        for event in &commit.events {
            let (key, answer) = match event {
                Event::DebitAsked(asked) => {
                    let is_free = asked.facts.as_ref().is_some_and(|facts| facts.campaign.is_some());
                    let kind = if is_free { Kind::Open } else { Kind::Debit };
                    let id = opening_id(&commit.stream, &asked.request_id, is_free);
                    let id = restores.transaction_id(commit.position, id);
                    let (currency, amount, position) = (asked.currency, asked.amount, commit.position);
                    let call = Call { kind, currency, amount, id, position };
                    pending.calls.insert((asked.request_id.clone(), kind, currency), call);
                    continue;
                }
                Event::ReversalDue { amount, .. } => {
                    pending.reversals(logged, *amount, |id| {
                        restores.transaction_id(commit.position, format!("reversal/{owner}/{id}"))
                    });
                    continue;
                }
                Event::DebitRefused { .. } | Event::DebitRolledBack => {
                    pending.calls.retain(|(request_id, kind, _), _| {
                        *request_id != commit.request_id || !matches!(kind, Kind::Debit | Kind::Open)
                    });
                    continue;
                }
                Event::DebitConfirmed { answer, .. } => (pending.debit(&commit.request_id), answer),
                Event::CreditPaid { request_id, currency, answer, .. } => {
                    (Some((request_id.clone(), Kind::Credit, *currency)), answer)
                }
                Event::ReversalTaken { request_id, currency, answer, .. } => {
                    (Some((request_id.clone(), Kind::Reversal, *currency)), answer)
                }
                _ => continue,
            };
            let Some(call) = key.and_then(|key| pending.calls.remove(&key)) else { continue };
            if let Some(cut) = cut {
                let wallets = answer.as_ref().map_or("", |answer| &answer.transaction_id);
                self.write((operator, player, commit.partition), &call, Some(wallets), cut);
            }
        }
        pending.credits(logged, |id| restores.transaction_id(commit.position, format!("credit/{owner}/{id}")));
        if !pending.calls.is_empty() || !pending.due.is_empty() {
            self.pending.insert(commit.stream.clone(), pending);
        }
    }

    /// Lists the partition's wallet calls that have no answer in the archive, except those that the service repeats
    /// after the restore.
    pub(super) fn end_partition(&mut self, partition: u32, cut: Position) {
        for (stream, pending) in std::mem::take(&mut self.pending) {
            let StreamId::Player { operator, player } = &stream else { continue };
            for call in pending.calls.into_values().filter(|call| call.position > cut) {
                self.write((operator, player, partition), &call, None, cut);
            }
        }
    }

    fn write(
        &mut self,
        (operator, player, partition): (&SmolStr, &SmolStr, u32),
        call: &Call,
        wallets: Option<&str>,
        cut: Position,
    ) {
        let Call { kind, currency, amount, id, position } = call;
        let (confirmed, repeated) = (wallets.is_some(), *position <= cut);
        let sum = self.sums.entry((operator.clone(), *kind, *currency)).or_default();
        sum.count += 1;
        sum.minor += i128::from(amount.0);
        sum.unconfirmed += u64::from(!confirmed);
        sum.repeated += u64::from(repeated);
        let Some((path, file)) = &mut self.file else { return };
        let line = Line {
            operator_id: operator,
            player_id: player,
            kind: *kind,
            transaction_id: id.clone(),
            transaction_uuid: uuid(id),
            currency_code: currency.code(),
            amount_minor: amount.0,
            confirmed,
            repeated,
            partition,
            position: *position,
            wallet_transaction_id: wallets.unwrap_or_default(),
        };
        let written = serde_json::to_writer(&mut *file, &line).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|()| file.write_all(b"\n")) {
            let path = path.clone();
            self.failed.get_or_insert_with(|| unwritable(&path, &error));
        }
    }

    /// Makes the list of transactions durable, and returns their sums per operator as text.
    pub(super) fn finish(self) -> Result<String, Failure> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if let Some((path, mut file)) = self.file {
            let synced = file.flush().and_then(|()| file.get_ref().sync_all());
            synced.map_err(|error| unwritable(&path, &error))?;
        }
        let mut text = String::new();
        for ((operator, kind, currency), Sum { count, minor, unconfirmed, repeated }) in &self.sums {
            let _ = writeln!(
                text,
                "  the restored log lacks {count} {} for the wallet of {operator}, {minor} minor units of {} in total; of \
                 these, {unconfirmed} have no answer from the wallet, and {repeated} will be sent again",
                kind.name(),
                currency.code()
            );
        }
        if text.is_empty() {
            text += "  no transactions of seamless wallets are missing from the restored log\n";
        }
        Ok(text)
    }
}

impl Pending {
    fn debit(&self, request: &SmolStr) -> Option<(SmolStr, Kind, Currency)> {
        let opens =
            |(of, kind, _): &&(SmolStr, Kind, Currency)| of == request && matches!(kind, Kind::Debit | Kind::Open);
        self.calls.keys().find(opens).cloned()
    }

    fn reversals(&mut self, logged: &Logged, amount: Minor, id: impl Fn(&str) -> String) {
        let commit = &logged.commit;
        let currency = commit.events.iter().find_map(|event| match event {
            Event::RoundVoided { settled: Some(settled), .. } => Some(settled.started.currency),
            _ => None,
        });
        let Some(currency) = currency else { return };
        let id = id(&format!("{currency}/{}", commit.request_id));
        let call = Call { kind: Kind::Reversal, currency, amount, id, position: commit.position };
        self.calls.insert((commit.request_id.clone(), Kind::Reversal, currency), call);
    }

    fn credits(&mut self, logged: &Logged, id: impl Fn(&str) -> String) {
        let commit = &logged.commit;
        for (currency, due) in &logged.due_after {
            let grown = due.0.saturating_sub(self.due.get(currency).copied().unwrap_or_default());
            if grown > 0 {
                let id = id(&format!("{currency}/{}", commit.request_id));
                let (currency, amount, position) = (*currency, Minor(grown), commit.position);
                let call = Call { kind: Kind::Credit, currency, amount, id, position };
                self.calls.insert((commit.request_id.clone(), Kind::Credit, currency), call);
            }
        }
        let due = logged.due_after.iter().filter(|(_, due)| due.0 != 0);
        self.due = due.map(|(currency, due)| (*currency, due.0)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_state::{Commit, DebitAsked};
    use serde_json::Value;

    fn logged(position: u64, request_id: &str, event: Event, due: i64) -> Logged {
        let commit = Commit {
            partition: 1,
            position,
            stream: StreamId::player("acme", "alice"),
            version: position,
            previous: 0,
            request_id: request_id.into(),
            fingerprint: [0; 16],
            time_ms: 0,
            events: vec![event],
        };
        let due_after = if due > 0 { vec![(Currency::EUR, Minor(due))] } else { vec![] };
        Logged { commit, balances_after: vec![], due_after, proposer: None }
    }

    fn asked(request_id: &str) -> Event {
        let (fingerprint, currency, amount) = ([0; 16], Currency::EUR, Minor(30));
        Event::DebitAsked(DebitAsked { request_id: request_id.into(), fingerprint, currency, amount, facts: None })
    }

    fn confirmed() -> Event {
        Event::DebitConfirmed { amount: Minor(30), reported_balance: Minor(0), answer: None }
    }

    fn settled(win: i64) -> Event {
        Event::RoundSettled { round: 1, win: Minor(win) }
    }

    fn paid(request_id: &str, amount: i64) -> Event {
        let (currency, reported_balance) = (Currency::EUR, Minor(0));
        let request_id = request_id.into();
        Event::CreditPaid { request_id, currency, amount: Minor(amount), reported_balance, answer: None }
    }

    #[test]
    fn pl_37_undone_transactions_state_which_are_sent_again_and_which_are_unanswered() {
        let at = tempfile::tempdir().unwrap();
        let path = at.path().join("undone");
        let mut undone = Undone::new(Some(&path)).unwrap();
        let log = [
            logged(1, "debit/a", asked("a"), 0),
            logged(2, "a", confirmed(), 0),
            logged(3, "win", settled(50), 50),
            logged(4, "debit/b", asked("b"), 50),
            logged(5, "b", confirmed(), 50),
            logged(6, "credit/win", paid("win", 50), 0),
            logged(7, "debit/c", asked("c"), 0),
            logged(8, "c", Event::DebitRefused { reason: String::new(), code: 0 }, 0),
            logged(9, "debit/d", asked("d"), 0),
            logged(10, "d", confirmed(), 0),
            logged(11, "more", settled(70), 70),
            logged(12, "most", settled(5), 75),
            logged(13, "credit/more", paid("more", 70), 5),
            logged(14, "debit/e", asked("e"), 5),
        ];
        for logged in &log {
            let cut = (logged.commit.position > 4).then_some(4);
            undone.take(logged, &Restores::default(), cut);
        }
        undone.end_partition(1, 4);
        let text = undone.finish().unwrap();
        assert!(text.contains("lacks 3 debits for the wallet of acme, 90 minor units of EUR in total; of these, 1 have no answer from the wallet, and 1 will"), "{text}");
        assert!(
            text.contains("lacks 3 credits for the wallet of acme, 125 minor units of EUR in total; of these, 1 have no answer from the wallet, and 1 will"),
            "{text}"
        );
        let lines = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let found = |line: &Value| {
            let id = line["transaction_id"].as_str().unwrap().to_owned();
            (id, line["amount_minor"].as_i64(), line["confirmed"].as_bool(), line["repeated"].as_bool())
        };
        let of = |id: &str, amount, confirmed, repeated| (id.to_owned(), Some(amount), Some(confirmed), Some(repeated));
        assert_eq!(
            lines.iter().map(found).collect::<Vec<_>>(),
            [
                of("debit/acme/alice/b", 30, true, true),
                of("credit/acme/alice/EUR/win", 50, true, true),
                of("debit/acme/alice/d", 30, true, false),
                of("credit/acme/alice/EUR/more", 70, true, false),
                of("debit/acme/alice/e", 30, false, false),
                of("credit/acme/alice/EUR/most", 5, false, false),
            ]
        );
        assert_eq!(lines[0]["transaction_uuid"], uuid("debit/acme/alice/b"));
    }
}
