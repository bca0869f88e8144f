//! Events that void a player's rounds (PL-04).

use super::reveal::RevealDue;
use super::transition::{Transition, expect_amount};
use crate::events::{Decision, Refused, RoundStarted, TakeBack};
use crate::state::SettledRound;
use crate::values::{Account, Currency, Minor};

impl<'s> Transition<'s, '_> {
    pub fn void(
        &mut self,
        account: Account<'s>,
        operator: &'s str,
        number: u64,
        refund: Minor,
        win_taken_back: Minor,
    ) -> Result<(), Refused> {
        let (house, position) = (Account::House(operator), self.commit.position);
        let player = self.player()?;
        if number == 0 || number > player.rounds_started {
            return Err(Refused::NoSuchRound { round: number });
        }
        if player.voided_at(number).is_some() {
            return Err(Refused::AlreadyVoided { round: number });
        }
        let open = player.close_round(number);
        if let Some(open) = &open {
            player.tally(open, open.started.charged());
        }
        let reveal = open.as_ref().and_then(|open| RevealDue::of(open, true));
        player.mark_voided(number, position);
        self.reveal = reveal;
        let (started, opened_at, win) = match (&open, self.recalled) {
            (Some(open), _) => {
                if let Some(given) = &open.started.contribution {
                    self.pending(&given.pool).totals.open_rounds -= 1;
                }
                // Nothing was paid yet but what HALVE credited (ME-16).
                (&open.started, open.opened_at, open.credited)
            }
            (None, Some(SettledRound { started, opened_at, win, .. })) if started.round == number => {
                (started, *opened_at, *win)
            }
            (None, _) => return Err(Refused::RecallNeeded { round: number }),
        };
        expect_amount(started.charged(), refund)?;
        self.pay_player(house, account, started.currency, refund)?;
        if let Some(campaign) = &started.campaign {
            self.campaign(campaign)?.given_back += 1;
            let bet = started.bet.to_nano(started.currency);
            self.transfer(house, Account::Promotion(operator), started.currency, bet);
        }
        // A win that the player has spent or withdrawn is the house's loss (PL-09: never negative).
        let balance = self.check_account(started.currency)?;
        expect_amount(win.min(balance), win_taken_back)?;
        self.charge_player(account, house, started.currency, win_taken_back)?;
        self.give_back(house, started, opened_at)
    }

    /// A voided round's contribution goes back to the house at once; the pool takes it back in its turn (BW-19).
    fn give_back(&mut self, house: Account<'s>, started: &RoundStarted, opened_at: u64) -> Result<(), Refused> {
        let Some(given) = &started.contribution else {
            return Ok(());
        };
        let pool = self.view.pool(&given.pool);
        let pool = pool.ok_or_else(|| Refused::UnknownPool { pool: given.pool.clone() })?;
        self.transfer(Account::ContributionsDue(&pool.name), house, Currency::EUR, given.amount);
        let take_back = TakeBack {
            partition: self.commit.partition,
            position: self.commit.position,
            contributed_at: opened_at,
            amount: given.amount,
        };
        self.leave(&pool.name, Decision::TakeBack(take_back))
    }
}
