//! Pays awards, one per operator in turn, so that an operator's many awards do not delay others. An award is not paid
//! while it would raise the balance above the account's limit, or while a void of its round is proposed (PL-38).

use crate::proposal::proposal;
use futures_util::future::join_all;
use motherlode_ledger::{AppendError, Handle, Proposal};
use motherlode_state::{Books, Event, InternalRequest, Refused, StreamId, UnpaidAward};
use std::collections::BTreeMap;

const TOGETHER: usize = 32;

const AWARDS_MAX: usize = 256;

pub(crate) struct Fault {
    pub(crate) what: String,
    pub(crate) why: Refused,
}

type Unpaid = (u32, u64, UnpaidAward);

pub(crate) async fn pay(ledger: &Handle, refused: &mut Vec<Fault>) -> Result<bool, AppendError> {
    let unpaid: Vec<Unpaid> = ledger
        .books(|books| books.unpaid_awards().map(|(partition, hit, award)| (partition, hit, award.clone())).collect());
    let due = in_turn(unpaid.into_iter().filter(|(.., award)| is_due(ledger, award)));
    let left = due.len() > AWARDS_MAX;
    let mut result = Ok(());
    for together in due.chunks(TOGETHER).take(AWARDS_MAX / TOGETHER) {
        for ((partition, hit, award), done) in
            together.iter().zip(join_all(together.iter().map(|unpaid| pay_one(ledger, unpaid))).await)
        {
            match done {
                Ok(()) => {}
                Err(AppendError::Refused(Refused::AwardHeld { .. })) => {}
                Err(AppendError::Refused(why)) => {
                    refused.push(Fault { what: format!("award/{}/{partition}/{hit}", award.pool), why });
                }
                Err(AppendError::Busy) => result = Err(AppendError::Busy),
                Err(error) => return Err(error),
            }
        }
    }
    result.map(|()| left)
}

fn in_turn(unpaid: impl Iterator<Item = Unpaid>) -> Vec<Unpaid> {
    let mut turns = BTreeMap::<_, usize>::new();
    let mut ordered: Vec<_> = unpaid
        .map(|unpaid| {
            let operator = match &unpaid.2.stream {
                StreamId::Player { operator, .. } => operator.clone(),
                _ => Default::default(),
            };
            let turn = turns.entry(operator).or_default();
            *turn += 1;
            (*turn, unpaid)
        })
        .collect();
    ordered.sort_by_key(|(turn, (_, hit, _))| (*turn, *hit));
    ordered.into_iter().map(|(_, unpaid)| unpaid).collect()
}

fn is_due(ledger: &Handle, award: &UnpaidAward) -> bool {
    let now_ms = ledger.now_ms();
    let is_due = |books: &Books| {
        let held = books.player(&award.stream).and_then(|player| player.waiting_void(award.round, now_ms));
        held.is_none() && (!award.set_aside || in_the_way(books, award) == 0)
    };
    ledger.books_of(&award.stream, is_due).unwrap_or(!award.set_aside)
}

async fn pay_one(ledger: &Handle, (partition, hit, award): &Unpaid) -> Result<(), AppendError> {
    let (partition, hit) = (*partition, *hit);
    match ledger.append(payment(partition, hit, award, None)).await {
        Ok(_) => {
            tracing::info!(partition, hit, pool = %award.pool, amount = %award.amount.to_decimal(award.currency),
                currency = %award.currency, "paid a jackpot");
            Ok(())
        }
        Err(AppendError::Refused(Refused::Money(error))) if !award.set_aside => {
            tracing::error!(%error, partition, hit, pool = %award.pool, "set aside an award that would exceed the maximum balance: the player must withdraw money first");
            ledger.append(setting_aside(partition, hit, award, error.to_string())).await.map(|_| ())
        }
        Err(error) => Err(error),
    }
}

/// Returns the amount, in minor units, by which the award would exceed the maximum balance. The player must withdraw it
/// first.
pub(crate) fn in_the_way(books: &Books, award: &UnpaidAward) -> i64 {
    let balance = books.player(&award.stream).and_then(|player| player.balance(award.currency)).unwrap_or_default();
    award.amount.0.saturating_sub(i64::MAX - balance.0.max(0)).max(0)
}

pub(crate) fn payment(partition: u32, hit: u64, award: &UnpaidAward, acted: Option<Event>) -> Proposal {
    let UnpaidAward { round, amount, currency, .. } = *award;
    let paid = Event::JackpotPaid { round, pool: award.pool.to_string().into(), hit, amount, currency };
    let request = InternalRequest::PayAward { pool: &award.pool, partition, hit };
    proposal(award.stream.clone(), None, request, [paid].into_iter().chain(acted).collect())
}

fn setting_aside(partition: u32, hit: u64, award: &UnpaidAward, reason: String) -> Proposal {
    let UnpaidAward { round, amount, currency, .. } = *award;
    let request = InternalRequest::SetAwardAside { pool: &award.pool, partition, hit };
    let waits = Event::AwardSetAside { round, pool: award.pool.to_string().into(), hit, amount, currency, reason };
    proposal(award.stream.clone(), None, request, vec![waits])
}
