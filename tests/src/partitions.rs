use crate::{commits, pool::POOL};
use futures_util::future::select_all;
use motherlode_ledger::{Handle, Ledgers};
use motherlode_state::{Account, Currency, Event, Nano, PoolState, VoidedJackpot};
use std::{collections::BTreeMap, time::Duration};

pub async fn settled(ledgers: &Ledgers) {
    let mut heads: Vec<_> = ledgers.all().map(Handle::head).collect();
    let settle = async {
        while !is_settled(ledgers) {
            let _ = select_all(heads.iter_mut().map(|head| Box::pin(head.changed()))).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), settle).await.expect("the partitions settle");
}

#[must_use]
pub fn is_settled(ledgers: &Ledgers) -> bool {
    let home = ledgers.home();
    let told = |there: &Handle| {
        home.books(|home| {
            let (pool, partition) = (POOL, there.partition());
            there.books(|there| {
                home.partition_report(pool, partition, there).is_none()
                    && home.pool_mirror(pool, partition, there).is_none()
            })
        })
    };
    let paid = |ledger: &Handle| ledger.books(|books| books.unpaid_awards().next().is_none());
    home.books(|books| books.pool_step(POOL).expect("prices fit").is_none() && books.pool_return(POOL).is_none())
        && ledgers.others().all(told)
        && ledgers.all().all(paid)
}

pub fn balanced(ledgers: &Ledgers) {
    let (mut contributed, mut between) = (0, 0);
    for ledger in ledgers.all() {
        ledger.books(|books| {
            let partition = ledger.partition();
            assert!(books.trial_balance().is_empty(), "partition {partition}");
            assert!(books.pools().all(PoolState::is_balanced), "partition {partition}");
            between += books.holding(Account::Interpartition, Currency::EUR).0;
        });
        contributed += contributions(ledger);
    }
    assert_eq!(between, 0, "nothing is pending");
    let pooled = ledgers.home().books(|books| books.pool(POOL).map(|pool| pool.contributions));
    assert_eq!(pooled, Some(Nano(contributed)));
}

fn contributions(ledger: &Handle) -> i128 {
    let (mut rounds, mut returned) = (BTreeMap::new(), 0);
    for logged in commits(ledger, 1) {
        let commit = &logged.commit;
        for event in &commit.events {
            match event {
                Event::RoundStarted(started) => {
                    let amount = started.contribution.as_ref().map_or(0, |part| part.amount.0);
                    rounds.insert((commit.stream.clone(), started.round), amount);
                }
                Event::RoundVoided { round, jackpot: VoidedJackpot::TakenBack, .. } => {
                    rounds.remove(&(commit.stream.clone(), *round));
                }
                Event::ContributionsReturned { amount, .. } => returned += amount.0,
                _ => {}
            }
        }
    }
    rounds.values().sum::<i128>() - returned
}
