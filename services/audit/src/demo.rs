//! Adds up play money independently of the books (PL-17). All of it must come from grants to players, and none may
//! reach a jackpot pool, the currency exchange, a promotion or an external account.

use crate::divergence::Fault;
use motherlode_state::{Account, Books, Commit, Currency, Event, Nano, StreamId};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Demo {
    given: BTreeMap<String, i128>,
}

impl Demo {
    pub(crate) fn take(&mut self, commit: &Commit) -> Result<(), Fault> {
        let StreamId::Player { operator, .. } = &commit.stream else { return Ok(()) };
        for event in &commit.events {
            let met = match event {
                Event::PlayMoneyGiven { amount } => {
                    *self.given.entry(operator.to_string()).or_default() += i128::from(amount.0);
                    None
                }
                Event::Deposited { currency, .. } | Event::Withdrawn { currency, .. } => {
                    (!currency.is_real()).then_some("play money was deposited or withdrawn")
                }
                Event::JackpotPaid { currency, .. } => {
                    (!currency.is_real()).then_some("a jackpot was paid in play money")
                }
                Event::CampaignGranted(campaign) => {
                    (!campaign.currency.is_real()).then_some("a campaign was granted in play money")
                }
                Event::RoundStarted(started) => (!started.currency.is_real() && started.contribution.is_some())
                    .then_some("play money was contributed to a pool"),
                _ => None,
            };
            if let Some(met) = met {
                return Err(Fault::new(
                    "PL-17: play money was mixed with real money",
                    "only grants, bets and wins may move play money",
                    met,
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn join(&mut self, others: Self) {
        for (operator, given) in others.given {
            *self.given.entry(operator).or_default() += given;
        }
    }

    pub(crate) fn agree(&self, books: &Books) -> Result<(), Fault> {
        let holding = |account| books.holding(account, Currency::PLAY);
        for operator in books.operators() {
            let given = self.given.get(operator).copied().unwrap_or_default() * Currency::PLAY.nanos_per_minor();
            let held = books.players_total(operator, Currency::PLAY).0 + holding(Account::House(operator)).0;
            if held != given || holding(Account::Promotion(operator)) != Nano::ZERO {
                let what = format!(
                    "PL-17: the play money of {operator}'s players and house differs from the amount given to the players"
                );
                return Err(Fault::new(what, Nano(given), Nano(held)));
            }
        }
        match holding(Account::Exchange) {
            Nano::ZERO => Ok(()),
            met => Err(Fault::new("PL-17: play money was exchanged for another currency", Nano::ZERO, met)),
        }
    }
}
