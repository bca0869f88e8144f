use super::scripted::{Arrived, End, Wallet, WalletRequest};
use motherlode_proto::{
    convert::record::Logged,
    wallet::v1::{Context, CreditKind, DebitKind, RoundEnd},
};
use motherlode_state::{Automatic, Event, RoundStarted, StreamId};
use ring::digest::{SHA256, digest};
use std::{collections::BTreeMap, sync::Arc};

const REVERSAL: i32 = -1;

struct InLog {
    started: Arc<RoundStarted>,
    opening: String,
    ends: Vec<RoundEnd>,
    paid: BTreeMap<i32, i64>,
}

pub fn uuid(text: &str) -> String {
    let mut digits: Vec<char> = digest(&SHA256, text.as_bytes()).as_ref()[..16]
        .iter()
        .flat_map(|byte| format!("{byte:02x}").chars().collect::<Vec<_>>())
        .collect();
    digits[12] = '8';
    digits[16] = char::from_digit(digits[16].to_digit(16).unwrap() % 4 + 8, 16).unwrap();
    for at in [8, 13, 18, 23] {
        digits.insert(at, '-');
    }
    digits.into_iter().collect()
}

pub fn once(arrived: &[Arrived]) -> Vec<Arrived> {
    let mut first = BTreeMap::<&str, Arrived>::new();
    let mut order = vec![];
    for call in arrived {
        let plain = without_attempt(call);
        match first.get(call.id.as_str()) {
            Some(known) => assert_eq!(*known, plain, "a repeated call has different content"),
            None => {
                order.push(call.id.as_str());
                first.insert(&call.id, plain);
            }
        }
    }
    order.into_iter().map(|id| first[id].clone()).collect()
}

fn without_attempt(call: &Arrived) -> Arrived {
    let mut plain = call.clone();
    let context = match &mut plain.call {
        WalletRequest::Debit(request) => &mut request.context,
        WalletRequest::Open(request) => &mut request.context,
        WalletRequest::Credit(request) => &mut request.context,
        WalletRequest::Rollback(request) => &mut request.context,
        WalletRequest::Close(request) => &mut request.context,
    };
    let Some(Context { attempt, .. }) = context else { panic!("{call:?} has no context") };
    assert!(*attempt > 0, "{call:?}");
    *attempt = 0;
    plain
}

pub fn reconcile(wallet: &Wallet, commits: &[Arc<Logged>], player: &str) {
    let stream = StreamId::player("acme", player);
    let rounds = in_log(commits, &stream, player);
    let books = wallet.books();
    let mut paid = BTreeMap::<String, BTreeMap<i32, i64>>::new();
    let mut ends = BTreeMap::<String, Vec<RoundEnd>>::new();
    for call in once(&books.arrived) {
        let (context, round) = (call.context(), call.round());
        let of_player = call.id.split('/').nth(2) == Some(player);
        if !of_player {
            continue;
        }
        assert_eq!(context.transaction_uuid, uuid(&call.id), "{call:?}");
        assert_eq!(
            (context.provider.as_str(), context.brand.as_str(), context.currency_digits),
            ("motherlode", "acme", 2)
        );
        assert!(context.position > 0 && context.create_time.is_some(), "{call:?}");
        assert_eq!(round.round_uuid, uuid(&format!("round/{}", round.opening_transaction_id)), "{call:?}");
        if let WalletRequest::Rollback(request) = &call.call {
            assert_eq!(request.rolled_back_uuid, uuid(&request.transaction_id));
            assert_eq!(round.opening_transaction_id, request.transaction_id);
            continue;
        }
        if books.transactions.get(&call.id).is_none_or(|entry| entry.end != End::Applied) {
            continue;
        }
        let known = &rounds.get(&round.round_uuid).unwrap_or_else(|| panic!("{call:?} names no round of the log"));
        let started = &known.started;
        assert_eq!((&*round.game, &*round.rules_version), (&*started.game, &*started.rules_version), "{call:?}");
        assert_eq!(round.campaign_id, started.campaign.as_deref().unwrap_or_default());
        assert_eq!(round.bet_total.as_ref().unwrap().amount_minor, started.charged().0, "{call:?}");
        assert_eq!(round.opening_transaction_id, known.opening);
        if round.closed {
            ends.entry(round.round_uuid.clone()).or_default().push(round.end());
        } else {
            assert_eq!(round.end(), RoundEnd::Unspecified, "{call:?}");
        }
        match &call.call {
            WalletRequest::Credit(request) => {
                assert_eq!(round.round_id, format!("acme/{player}/{}", started.round));
                let of_round = paid.entry(round.round_uuid.clone()).or_default();
                *of_round.entry(request.kind).or_default() += request.amount.as_ref().unwrap().amount_minor;
                assert_eq!(request.kind() == CreditKind::Jackpot, request.jackpot.is_some(), "{call:?}");
            }
            WalletRequest::Debit(request) if request.kind() == DebitKind::Reversal => {
                assert_eq!((round.closed, round.end()), (true, RoundEnd::Voided), "{call:?}");
                let of_round = paid.entry(round.round_uuid.clone()).or_default();
                *of_round.entry(REVERSAL).or_default() -= request.amount.as_ref().unwrap().amount_minor;
            }
            WalletRequest::Close(_) => assert!(round.closed, "{call:?}"),
            _ => assert_eq!((&*round.round_id, round.closed), ("", false), "{call:?}"),
        }
    }
    for (uuid, InLog { started, ends: logged, paid: due, .. }) in &rounds {
        let round = started.round;
        assert_eq!(
            ends.remove(uuid).unwrap_or_default(),
            *logged,
            "the reported ends of round {round} of {player} differ from the log"
        );
        assert_eq!(
            paid.remove(uuid).unwrap_or_default(),
            *due,
            "the money paid for round {round} of {player} differs from the log"
        );
    }
    assert!(ends.is_empty() && paid.is_empty(), "{player}: {ends:?} {paid:?}");
}

fn in_log(commits: &[Arc<Logged>], stream: &StreamId, player: &str) -> BTreeMap<String, InLog> {
    let mut rounds = BTreeMap::<u64, InLog>::new();
    for logged in commits.iter().filter(|logged| logged.commit.stream == *stream) {
        for event in &logged.commit.events {
            match event {
                Event::RoundStarted(started) => {
                    let kind = if started.campaign.is_some() { "open" } else { "debit" };
                    let opening = format!("{kind}/acme/{player}/{}", logged.commit.request_id);
                    let round = InLog { started: Arc::clone(started), opening, ends: vec![], paid: BTreeMap::new() };
                    rounds.insert(started.round, round);
                }
                Event::RoundSettled { round, win } => {
                    let round = rounds.get_mut(round).unwrap();
                    round.ends.push(end_of(logged, round.started.round));
                    round.pays(win.0);
                }
                Event::RoundVoided { round, refund, win_taken_back, .. } => {
                    let round = rounds.get_mut(round).unwrap();
                    round.ends.push(RoundEnd::Voided);
                    *round.paid.entry(CreditKind::Refund.into()).or_default() += refund.0 - win_taken_back.0;
                    round.paid.retain(|_, amount| *amount != 0);
                }
                Event::ReversalDue { round, amount } => {
                    *rounds.get_mut(round).unwrap().paid.entry(REVERSAL).or_default() -= amount.0;
                }
                Event::JackpotPaid { round, amount, .. } => {
                    let round = rounds.get_mut(round).unwrap();
                    *round.paid.entry(CreditKind::Jackpot.into()).or_default() += amount.0;
                }
                _ => {}
            }
        }
    }
    rounds.into_values().map(|round| (uuid(&format!("round/{}", round.opening)), round)).collect()
}

impl InLog {
    fn pays(&mut self, win: i64) {
        let kind = if self.started.campaign.is_some() { CreditKind::FreeRoundWin } else { CreditKind::Win };
        if win > 0 {
            self.paid.insert(kind.into(), win);
        }
    }
}

fn end_of(logged: &Logged, round: u64) -> RoundEnd {
    let automatic = logged.commit.events.iter().any(|event| match event {
        Event::StepResolved(step) => {
            step.round == round && matches!(step.automatic, Some(Automatic::TimeOver | Automatic::Closed { .. }))
        }
        _ => false,
    });
    if automatic { RoundEnd::Abandoned } else { RoundEnd::Played }
}
