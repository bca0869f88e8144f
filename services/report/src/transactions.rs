//! Transactions of an operator or a player, in pages, latest first (PL-34). Each call reads a bounded number of
//! records.

use crate::{
    dues::{Dues, DuesLookup},
    figures::Figures,
    follower::Follower,
    revenue::{day, page_size},
};
use motherlode_ledger::{
    FetchError, Handle,
    fields::{self, account_of, money, round_name, timestamp},
    rounds, unknown_account,
};
use motherlode_proto::{
    convert::record::{self, Logged},
    report::v1::{self as wire, transaction::Kind},
};
use motherlode_runtime::{Caller, Refusal};
use motherlode_state::{Currency, Statement, StreamId, Transaction, TransactionKind, date};
use std::collections::VecDeque;

const PAGE_SIZE: usize = 100;
const PAGE_SIZE_MAX: usize = 500;
const RECORDS_MAX: u64 = 20_000;
const COMMITS_MAX: usize = 4_096;
const STRETCH: u64 = 512;
const BYTES_MAX: usize = 1 << 20;

struct TransactionFilter {
    operator: String,
    currency: Option<Currency>,
    day: Option<i64>,
    size: usize,
}

type Cursor = (u32, u64);

#[derive(Default)]
struct Page {
    found: Vec<wire::Transaction>,
    next: Option<Cursor>,
    dues: Dues,
}

pub(crate) async fn list(
    follower: &Follower,
    caller: &Caller,
    request: &wire::ListTransactionsRequest,
) -> Result<wire::ListTransactionsResponse, Refusal> {
    let operator = fields::id("operator_id", &request.operator_id)?.to_owned();
    let player = fields::optional_id("player_id", &request.player_id)?;
    let player = (!player.is_empty()).then(|| StreamId::player(&operator, player));
    let day = day("date", &request.date)?;
    let currency = match request.currency_code.as_str() {
        "" => None,
        code => Some(fields::currency("currency_code", code)?),
    };
    let size = page_size(request.page_size, PAGE_SIZE, PAGE_SIZE_MAX)?;
    let from = match fields::page_token(&request.page_token)?[..] {
        [] => None,
        [partition, position] if position > 0 => {
            Some((u32::try_from(partition).map_err(|_| fields::page_token_unknown())?, position))
        }
        _ => return Err(fields::page_token_unknown()),
    };
    let own = caller.owns(&operator);
    let wanted = TransactionFilter { operator, currency, day, size };
    let page = match player {
        Some(stream) => {
            let ledger = follower.ledgers().for_stream(&stream)?.clone();
            let head = ledger
                .books_of(&stream, |books| books.player(&stream).filter(|_| own).map(|player| player.head.position))?;
            let head = head.ok_or_else(unknown_account)?;
            if from.is_some_and(|(partition, position)| partition != ledger.partition() || position > head) {
                return Err(fields::page_token_unknown());
            }
            let from = from.map_or(head, |(_, position)| position);
            follower.ledgers().reads().run(caller, move || of_player(&ledger, &stream, from, &wanted)).await??
        }
        None if !own => Page::default(),
        None => {
            let stretches = stretches(follower, day, from).await?;
            follower.ledgers().reads().run(caller, move || of_operator(stretches, &wanted)).await??
        }
    };
    let next_page_token = page.next.map(|(partition, position)| format!("{partition}.{position}")).unwrap_or_default();
    Ok(wire::ListTransactionsResponse { transactions: page.found, next_page_token })
}

async fn stretches(
    follower: &Follower,
    day: Option<i64>,
    from: Option<Cursor>,
) -> Result<VecDeque<(Handle, u64, u64)>, Refusal> {
    let ledgers = follower.ledgers();
    ledgers.whole()?;
    let whole = || ledgers.all().map(|ledger| (1, ledger.durable())).collect::<Vec<_>>();
    let of_day = |figures: &[&Figures], day| {
        let ends = whole().into_iter().zip(figures);
        ends.map(|((_, end), figures)| match figures.of_day(day) {
            Some((first, next)) => (first, next.map_or(end, |next| next - 1)),
            None => (1, 0),
        })
        .collect()
    };
    let stretches: Vec<_> = match day {
        None => whole(),
        Some(day) => follower.read(|figures| of_day(figures, day)).await?.0,
    };
    let mut left: VecDeque<_> =
        ledgers.all().cloned().zip(stretches).map(|(of, (first, last))| (of, first, last)).collect();
    if let Some((partition, position)) = from {
        while left.front().is_some_and(|(ledger, ..)| ledger.partition() < partition) {
            left.pop_front();
        }
        match left.front_mut() {
            Some((ledger, _, last)) if ledger.partition() == partition => *last = position.min(*last),
            _ => return Err(fields::page_token_unknown()),
        }
    }
    Ok(left)
}

fn of_player(ledger: &Handle, stream: &StreamId, from: u64, wanted: &TransactionFilter) -> Result<Page, FetchError> {
    let (mut page, mut next) = (Page::default(), from);
    for _ in 0..COMMITS_MAX {
        if next == 0 {
            return Ok(page);
        }
        let logged = ledger.fetch(next)?;
        // A forged page token could name another player's commit.
        if logged.commit.stream != *stream || wanted.day.is_some_and(|day| date::day_of(logged.commit.time_ms) < day) {
            return Ok(page);
        }
        if !page.add(ledger, &logged, wanted)? {
            break;
        }
        next = logged.commit.previous;
    }
    page.next = (next > 0).then_some((ledger.partition(), next));
    Ok(page)
}

fn of_operator(mut left: VecDeque<(Handle, u64, u64)>, wanted: &TransactionFilter) -> Result<Page, FetchError> {
    let (mut page, mut looked) = (Page::default(), 0);
    while let Some((ledger, first, last)) = left.front_mut() {
        if *last < *first {
            left.pop_front();
            continue;
        }
        page.next = Some((ledger.partition(), *last));
        if looked >= RECORDS_MAX {
            return Ok(page);
        }
        let from = last.saturating_sub(STRETCH - 1).max(*first);
        looked += *last - from + 1;
        for logged in own(ledger, from, *last, wanted)?.iter().rev() {
            page.next = Some((ledger.partition(), logged.commit.position));
            if !page.add(ledger, logged, wanted)? {
                return Ok(page);
            }
        }
        *last = from - 1;
    }
    page.next = None;
    Ok(page)
}

fn own(ledger: &Handle, from: u64, to: u64, wanted: &TransactionFilter) -> Result<Vec<Logged>, FetchError> {
    let (mut found, mut next) = (vec![], from);
    while next <= to {
        let records = ledger.records(next, usize::try_from(to - next + 1).unwrap_or(usize::MAX), BYTES_MAX)?;
        next = records.last().map(|record| record.position + 1).ok_or(FetchError::Missing(next))?;
        for stored in records.iter().filter(|record| record.position <= to) {
            let malformed = |source| FetchError::Malformed { position: stored.position, source };
            match record::stream(&stored.bytes).map_err(malformed)? {
                StreamId::Player { operator, .. } if operator == wanted.operator => {
                    found.push(record::decode(&stored.bytes).map_err(malformed)?);
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

impl Page {
    /// Adds a commit's transactions in reverse order. Returns false, without adding them, if they belong to the next page.
    fn add(&mut self, ledger: &Handle, logged: &Logged, wanted: &TransactionFilter) -> Result<bool, FetchError> {
        let commit = &logged.commit;
        if wanted.day.is_some_and(|day| date::day_of(commit.time_ms) != day) {
            return Ok(true);
        }
        let known = rounds::bets_before(ledger, logged)?;
        let told = Statement::default().take(commit, &logged.balances_after, &known);
        let mut told = told.map_err(|_| FetchError::Missing(commit.position))?;
        let is_known = match self.dues.add(ledger, logged, &mut told)? {
            DuesLookup::Yes => true,
            DuesLookup::No => false,
            DuesLookup::NextPage => return Ok(false),
        };
        told.retain(|of| wanted.currency.is_none_or(|currency| currency == of.currency));
        if !self.found.is_empty() && self.found.len() + told.len() > wanted.size {
            return Ok(false);
        }
        self.found.extend(told.iter().rev().map(|transaction| to_wire(logged, transaction, is_known)));
        Ok(true)
    }
}

fn to_wire(logged: &Logged, of: &Transaction, is_known: bool) -> wire::Transaction {
    let commit = &logged.commit;
    wire::Transaction {
        kind: kind(of.kind).into(),
        account: Some(account_of(&commit.stream, of.currency)),
        amount: Some(money(of.amount, of.currency)),
        balance: is_known.then(|| money(of.balance, of.currency)),
        round_id: of.round.map(|round| round_name(&commit.stream, round)).unwrap_or_default(),
        game: of.game.to_string(),
        promotion: (of.promotion.0 != 0).then(|| money(of.promotion, of.currency)),
        partition: commit.partition,
        position: commit.position,
        number: of.number,
        time: Some(timestamp(commit.time_ms)),
        request_id: commit.request_id.to_string(),
    }
}

fn kind(kind: TransactionKind) -> Kind {
    match kind {
        TransactionKind::Deposit => Kind::Deposit,
        TransactionKind::Withdrawal => Kind::Withdrawal,
        TransactionKind::PlayMoney => Kind::PlayMoney,
        TransactionKind::Debit => Kind::Debit,
        TransactionKind::Credit => Kind::Credit,
        TransactionKind::Bet => Kind::Bet,
        TransactionKind::FreeBet => Kind::FreeBet,
        TransactionKind::Win => Kind::Win,
        TransactionKind::Jackpot => Kind::Jackpot,
        TransactionKind::Refund => Kind::Refund,
        TransactionKind::FreeBetReturned => Kind::FreeBetReturned,
        TransactionKind::WinTakenBack => Kind::WinTakenBack,
    }
}
