use std::collections::BTreeMap;

use crate::common::*;
use crate::histories::{attempt, begin, ops};
use motherlode_state::{TransactionKind as Kind, *};
use proptest::prelude::*;

const FASTER: i64 = 20_000;
const DAY_MS: i64 = 86_400_000;

fn known(log: &[Commit], commit: &Commit) -> BTreeMap<RoundKey, Bet> {
    let settled = recall(log, commit).map(|settled| {
        let bet = Bet { credited: settled.win, ..Bet::from_started(&settled.started) };
        ((commit.stream.clone(), settled.started.round), bet)
    });
    settled.into_iter().collect()
}

fn told(log: &[Commit]) -> (Revenue, Books, Vec<Transaction>) {
    let (mut statement, mut revenue, mut books, mut all) =
        (Statement::default(), Revenue::default(), Books::new(), vec![]);
    for commit in log {
        let balances = |books: &Books| -> Vec<_> {
            books.player(&commit.stream).map(|player| player.balances().collect()).unwrap_or_default()
        };
        let before: BTreeMap<_, _> = balances(&books).into_iter().collect();
        books.apply_recalling(commit, recall(log, commit).as_ref()).unwrap();
        let after = balances(&books);
        let transactions = statement.take(commit, &after, &known(log, commit)).unwrap();
        for (currency, balance) in &after {
            let of = || transactions.iter().filter(|transaction| transaction.currency == *currency);
            let change = balance.0 - before.get(currency).copied().unwrap_or_default().0;
            assert_eq!(of().map(|transaction| transaction.amount.0).sum::<i64>(), change, "{commit:?}");
            assert!(of().next_back().is_none_or(|last| last.balance == *balance), "{commit:?}");
        }
        if let StreamId::Player { operator, .. } = &commit.stream {
            revenue.take(operator, commit.time_ms * FASTER, &transactions);
        }
        all.extend(transactions);
    }
    (revenue, books, all)
}

fn counted(log: &[Commit]) -> BTreeMap<(i64, SmolStr, Currency), [i128; 5]> {
    let mut rounds = BTreeMap::new();
    let mut sums: BTreeMap<_, [i128; 5]> = BTreeMap::new();
    for commit in log {
        let day = (commit.time_ms * FASTER).div_euclid(DAY_MS);
        let mut add = |round: u64, started: Option<&RoundStarted>, of: [i64; 5]| {
            let key = (commit.stream.clone(), round);
            if let Some(started) = started {
                rounds.insert(key.clone(), (started.game.clone(), started.currency));
            }
            let (game, currency) = rounds[&key].clone();
            let sum = sums.entry((day, game, currency)).or_default();
            sum.iter_mut().zip(of).for_each(|(sum, of)| *sum += i128::from(of));
        };
        for event in &commit.events {
            match event {
                Event::RoundStarted(started) => add(started.round, Some(started), [started.charged().0, 0, 0, 0, 0]),
                Event::RoundSettled { round, win } => add(*round, None, [0, win.0, 0, 0, 0]),
                Event::JackpotPaid { round, amount, .. } => add(*round, None, [0, 0, amount.0, 0, 0]),
                Event::RoundVoided { round, refund, win_taken_back, .. } => {
                    add(*round, None, [0, 0, 0, refund.0, win_taken_back.0]);
                }
                _ => {}
            }
        }
    }
    sums.retain(|_, sums| sums.iter().any(|sum| *sum != 0));
    sums
}

/// Sum of the house's postings, without contributions to the pool and awards charged by voids.
fn house(books: &Books, log: &[Commit], currency: Currency) -> i128 {
    let (mut given, mut rates, mut awards, mut charged) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::<_, i128>::new(), 0);
    for commit in log {
        for event in &commit.events {
            match event {
                Event::RoundStarted(started) => {
                    rates.insert((&commit.stream, started.round), started.rate);
                    let of = started.contribution.as_ref();
                    given.extend(of.map(|of| ((&commit.stream, started.round), of.amount.0)));
                }
                Event::RoundVoided { round, jackpot: VoidedJackpot::TakenBack, .. } => {
                    given.remove(&(&commit.stream, *round));
                }
                Event::RoundVoided { round, jackpot: VoidedJackpot::Charged, .. } => {
                    charged += awards.get(&(&commit.stream, *round)).copied().unwrap_or_default();
                }
                Event::JackpotPaid { round, amount, currency, .. } => {
                    let eur = contribution(*amount, *currency, rates[&(&commit.stream, *round)], 1_000_000).unwrap();
                    *awards.entry((&commit.stream, *round)).or_default() += eur.0;
                }
                _ => {}
            }
        }
    }
    let passed_on = if currency == Currency::EUR { given.values().sum::<i128>() + charged } else { 0 };
    books.holding(Account::House("acme"), currency).0 + passed_on
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pl_34_transactions_come_to_the_balances_and_revenue_to_the_events_and_the_house(ops in ops()) {
        let mut world = begin();
        for op in ops {
            attempt(&mut world, op);
        }
        world.settle_pool();
        let (revenue, books, transactions) = told(&world.log);
        let found: BTreeMap<_, _> = revenue
            .iter()
            .map(|(RevenueKey { day, game, currency, .. }, of)| {
                let sums = [of.bets, of.wins, of.jackpots, of.refunds, of.wins_taken_back];
                ((*day, game.clone(), *currency), sums)
            })
            .filter(|(_, sums)| sums.iter().any(|sum| *sum != 0))
            .collect();
        prop_assert_eq!(found, counted(&world.log));
        for currency in Currency::all() {
            let of = || revenue.iter().filter(|(key, _)| key.currency == currency).map(|(_, sums)| sums);
            let sum = of().map(|sums| sums.revenue() + sums.free_bets - sums.free_bets_returned).sum::<i128>();
            prop_assert_eq!(sum * currency.nanos_per_minor(), house(&books, &world.log, currency), "{}", currency);
        }
        let begun = transactions.iter().filter(|of| matches!(of.kind, Kind::Bet | Kind::FreeBet)).count() as u64;
        prop_assert_eq!(revenue.iter().map(|(_, of)| of.rounds + of.free_rounds).sum::<u64>(), begun);
        let mut paged: Vec<(RevenueKey, RevenueSums)> = vec![];
        loop {
            let last = paged.last().map(|(key, _)| key.clone());
            let mut next = revenue.of_days(i64::MIN, i64::MAX, last.as_ref());
            let Some((key, sums)) = next.next() else { break };
            paged.push((key.clone(), *sums));
        }
        let whole: Vec<_> = revenue.iter().map(|(key, sums)| (key.clone(), *sums)).collect();
        prop_assert_eq!(&paged, &whole);
        let days: Vec<_> = (0..=2).flat_map(|day| revenue.of_days(day, day, None)).collect();
        prop_assert!(days.iter().all(|(key, _)| (0..=2).contains(&key.day)));
        prop_assert_eq!(days.len(), whole.iter().filter(|(key, _)| (0..=2).contains(&key.day)).count());
    }
}

#[test]
fn pl_34_a_transaction_says_its_kind_its_round_and_the_balance_after_it() {
    let mut world = World::with_players(&["alice"]);
    let (round, _) = world.play("alice", 150, "0.1", 700);
    world.void("alice", round, 150, 700).unwrap();
    let (_, _, told) = told(&world.log);
    let found: Vec<_> = told.iter().map(|of| (of.kind, of.amount.0, of.balance.0, of.round, &*of.game)).collect();
    let before = 100_000_000;
    let expected = [
        (Kind::Deposit, before, before, None, ""),
        (Kind::Bet, -150, before - 150, Some(1), POOL),
        (Kind::Win, 700, before + 550, Some(1), POOL),
        (Kind::Refund, 150, before + 700, Some(1), POOL),
        (Kind::WinTakenBack, -700, before, Some(1), POOL),
    ];
    assert_eq!(found, expected);
}

#[test]
fn pl_34_a_void_of_a_round_that_nobody_told_is_an_error_and_no_guess() {
    let mut world = World::with_players(&["alice"]);
    let (round, _) = world.play("alice", 150, "0.1", 700);
    world.void("alice", round, 150, 700).unwrap();
    let void = world.log.last().unwrap();
    assert_eq!(rounds_named(void).collect::<Vec<_>>(), [round]);
    let refused = Statement::default().take(void, &[], &BTreeMap::new());
    assert_eq!(refused, Err(UnknownBet { round }));
}

#[test]
fn pl_34_a_statement_keeps_nothing_of_rounds_that_are_over() {
    let mut world = World::with_players(&["alice"]);
    for number in 0..200 {
        match number % 10 {
            7 => _ = world.hit("alice", Currency::EUR, 150, "0.1"),
            _ => _ = world.play("alice", 150, "0.1", number),
        }
    }
    for award in world.settle_pool() {
        world.pay(&award).unwrap();
    }
    let mut statement = Statement::default();
    for commit in &world.log {
        statement.take(commit, &[], &BTreeMap::new()).unwrap();
    }
    assert_eq!(statement, Statement::default());
}
