//! Transactions of players' accounts (PL-34). A [`Statement`] stores open rounds and unpaid jackpots. For the void of a
//! settled round, the caller must provide the round's bet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::events::{Commit, Event, RoundStarted};
use crate::values::{Currency, Minor, PerCurrency, StreamId};

pub type RoundKey = (StreamId, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransactionKind {
    Deposit,
    Withdrawal,
    PlayMoney,
    /// Payment from the seamless wallet into the account.
    Debit,
    /// Payment from the account to the seamless wallet.
    Credit,
    Bet,
    /// Bet of a free round. The balance is unchanged, because the operator's promotion pays the bet.
    FreeBet,
    Win,
    Jackpot,
    Refund,
    /// Return of a voided free round to its campaign. The balance is unchanged.
    FreeBetReturned,
    WinTakenBack,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Number of the event in its commit, 1-based. A void can cause two transactions with the same number.
    pub number: u32,
    pub kind: TransactionKind,
    pub currency: Currency,
    pub amount: Minor,
    /// Balance after the transaction, excluding due credits (see [`Dues`](super::Dues)).
    pub balance: Minor,
    pub round: Option<u64>,
    pub game: SmolStr,
    pub promotion: Minor,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bet {
    pub game: SmolStr,
    pub currency: Currency,
    pub bet: Minor,
    pub free: bool,
    /// Part of the win that was credited before the round was settled.
    pub credited: Minor,
}

impl Bet {
    #[must_use]
    pub fn from_started(started: &RoundStarted) -> Self {
        let RoundStarted { game, currency, bet, campaign, .. } = started;
        let (game, free) = (game.clone(), campaign.is_some());
        Self { game, currency: *currency, bet: *bet, free, credited: Minor::ZERO }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the statement lacks the bet of round {round}")]
pub struct UnknownBet {
    pub round: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    open: BTreeMap<RoundKey, Bet>,
    hits: BTreeMap<(u32, u64), SmolStr>,
}

pub fn rounds_named(commit: &Commit) -> impl Iterator<Item = u64> + '_ {
    let begun = |number: u64| {
        commit.events.iter().any(|event| matches!(event, Event::RoundStarted(started) if started.round == number))
    };
    let named = commit.events.iter().filter_map(|event| match event {
        Event::WinCredited { round, .. }
        | Event::RoundSettled { round, .. }
        | Event::RoundVoided { round, .. }
        | Event::ReversalTaken { round, .. }
        | Event::JackpotPaid { round, .. } => Some(*round),
        _ => None,
    });
    named.filter(move |number| !begun(*number))
}

impl Statement {
    fn pays_hit(&self, commit: &Commit, number: u64) -> bool {
        commit.events.iter().all(|event| match event {
            Event::JackpotPaid { round, hit, .. } if *round == number => {
                self.hits.contains_key(&(commit.partition, *hit))
            }
            Event::WinCredited { round, .. } | Event::RoundSettled { round, .. } | Event::RoundVoided { round, .. } => {
                *round != number
            }
            _ => true,
        })
    }

    /// `known` contains the bets of settled rounds, and of rounds opened before the first commit of the statement.
    /// After an error, the statement is unchanged.
    pub fn take(
        &mut self,
        commit: &Commit,
        balances_after: &[(Currency, Minor)],
        known: &BTreeMap<RoundKey, Bet>,
    ) -> Result<Vec<Transaction>, UnknownBet> {
        let mut found = vec![];
        if !matches!(commit.stream, StreamId::Player { .. }) {
            return Ok(found);
        }
        let lacking = |round: &u64| {
            let key = (commit.stream.clone(), *round);
            !self.open.contains_key(&key) && !known.contains_key(&key) && !self.pays_hit(commit, *round)
        };
        if let Some(round) = rounds_named(commit).find(lacking) {
            return Err(UnknownBet { round });
        }
        let mut begun = None;
        for (number, event) in (1..).zip(&commit.events) {
            self.event(commit, number, event, (&mut begun, known), &mut found)?;
        }
        if let Some((round, bet)) = begun {
            self.open.insert((commit.stream.clone(), round), bet);
        }
        let mut balances = PerCurrency::default();
        balances_after.iter().for_each(|(currency, balance)| balances.set(*currency, *balance));
        for transaction in found.iter_mut().rev() {
            let balance: &mut Minor = balances.entry(transaction.currency);
            transaction.balance = *balance;
            balance.0 = balance.0.saturating_sub(transaction.amount.0);
        }
        Ok(found)
    }

    fn event(
        &mut self,
        commit: &Commit,
        number: u32,
        event: &Event,
        (begun, known): (&mut Option<(u64, Bet)>, &BTreeMap<RoundKey, Bet>),
        found: &mut Vec<Transaction>,
    ) -> Result<(), UnknownBet> {
        use TransactionKind as Kind;
        let mut tell = |kind, currency, amount: Minor, round: Option<u64>, game: &str, promotion| {
            let (game, balance) = (game.into(), Minor::ZERO);
            found.push(Transaction { number, kind, currency, amount, balance, round, game, promotion });
        };
        let less = |amount: Minor| Minor(amount.0.saturating_neg());
        let key = |round: u64| (commit.stream.clone(), round);
        let known = |round: u64| known.get(&key(round)).cloned().ok_or(UnknownBet { round });
        let taken = |open: &mut BTreeMap<RoundKey, Bet>, begun: &mut Option<(u64, Bet)>, round: u64| {
            let bet = begun.take_if(|(of, _)| *of == round).map(|(_, bet)| bet);
            bet.or_else(|| open.remove(&key(round))).map_or_else(|| known(round), Ok)
        };
        let open = &mut self.open;
        match event {
            Event::Deposited { currency, amount } => tell(Kind::Deposit, *currency, *amount, None, "", Minor::ZERO),
            Event::Withdrawn { currency, amount } => {
                tell(Kind::Withdrawal, *currency, less(*amount), None, "", Minor::ZERO);
            }
            Event::PlayMoneyGiven { amount } => tell(Kind::PlayMoney, Currency::PLAY, *amount, None, "", Minor::ZERO),
            Event::DebitConfirmed { amount, .. } => {
                let started = commit.events.iter().find_map(|event| match event {
                    Event::RoundStarted(started) => Some(&**started),
                    _ => None,
                });
                let Some(RoundStarted { round, game, currency, .. }) = started else { return Ok(()) };
                // The opening of a free round moves no money.
                if *amount == Minor::ZERO {
                    return Ok(());
                }
                tell(Kind::Debit, *currency, *amount, Some(*round), game, Minor::ZERO);
            }
            Event::CreditPaid { currency, amount, .. } => {
                tell(Kind::Credit, *currency, less(*amount), None, "", Minor::ZERO);
            }
            Event::ReversalTaken { round, currency, amount, .. } => {
                let game = known(*round)?.game;
                tell(Kind::Debit, *currency, *amount, Some(*round), &game, Minor::ZERO);
                tell(Kind::WinTakenBack, *currency, less(*amount), Some(*round), &game, Minor::ZERO);
            }
            Event::RoundStarted(started) => {
                let bet = Bet::from_started(started);
                let (kind, promotion) = if bet.free { (Kind::FreeBet, bet.bet) } else { (Kind::Bet, Minor::ZERO) };
                tell(kind, bet.currency, less(started.charged()), Some(started.round), &bet.game, promotion);
                if let Some((before, bet)) = begun.replace((started.round, bet)) {
                    open.insert(key(before), bet);
                }
            }
            Event::WinCredited { round, amount } => {
                let mut bet = taken(open, begun, *round)?;
                tell(Kind::Win, bet.currency, *amount, Some(*round), &bet.game, Minor::ZERO);
                bet.credited.0 = bet.credited.0.saturating_add(amount.0);
                open.insert(key(*round), bet);
            }
            Event::JackpotHit { round, .. } => {
                let begun = begun.as_ref().filter(|(of, _)| of == round).map(|(_, bet)| bet);
                if let Some(bet) = begun.or_else(|| open.get(&key(*round))) {
                    self.hits.insert((commit.partition, commit.position), bet.game.clone());
                }
            }
            Event::RoundSettled { round, win } => {
                let bet = taken(open, begun, *round)?;
                let due = Minor(win.0.saturating_sub(bet.credited.0));
                if due != Minor::ZERO {
                    tell(Kind::Win, bet.currency, due, Some(*round), &bet.game, Minor::ZERO);
                }
            }
            Event::JackpotPaid { round, hit, amount, currency, .. } => {
                let game = self.hits.remove(&(commit.partition, *hit));
                let game = game.map_or_else(|| known(*round).map(|bet| bet.game), Ok)?;
                tell(Kind::Jackpot, *currency, *amount, Some(*round), &game, Minor::ZERO);
            }
            Event::RoundVoided { round, refund, win_taken_back, .. } => {
                let bet = taken(open, begun, *round)?;
                let (kind, promotion) = match bet.free {
                    true => (Kind::FreeBetReturned, bet.bet),
                    false => (Kind::Refund, Minor::ZERO),
                };
                tell(kind, bet.currency, *refund, Some(*round), &bet.game, promotion);
                if *win_taken_back != Minor::ZERO {
                    let back = less(*win_taken_back);
                    tell(Kind::WinTakenBack, bet.currency, back, Some(*round), &bet.game, Minor::ZERO);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
