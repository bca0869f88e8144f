use std::sync::Arc;

use super::transition::{Transition, add_cash, expect_amount};
use crate::events::{Refused, RoundJackpot};
use crate::state::UnpaidAward;
use crate::values::{Account, Currency, Minor};

impl<'s> Transition<'s, '_> {
    pub fn pay_jackpot(
        &mut self,
        account: Account<'s>,
        round: u64,
        pool: &'s str,
        hit: u64,
        amount: Minor,
        currency: Currency,
    ) -> Result<(), Refused> {
        let award = self.unpaid(round, pool, hit, amount, currency)?;
        let now_ms = self.commit.time_ms;
        let player = self.player()?;
        if player.waiting_void(round, now_ms).is_some() {
            return Err(Refused::AwardHeld { hit });
        }
        if let Some(open) = player.open_round_mut(round) {
            let started = Arc::clone(&open.started);
            RoundJackpot::pay(&mut open.jackpots, hit, &started, amount);
        }
        self.delta.paid.push((self.commit.partition, hit));
        self.transfer(Account::JackpotPayable(pool), Account::Exchange, Currency::EUR, award.paid);
        self.pay_player(Account::Exchange, account, currency, amount)
    }

    pub fn set_aside(
        &mut self,
        round: u64,
        pool: &str,
        hit: u64,
        amount: Minor,
        currency: Currency,
    ) -> Result<(), Refused> {
        let award = self.unpaid(round, pool, hit, amount, currency)?;
        if award.set_aside || add_cash(self.check_account(currency)?, amount).is_ok() {
            return Err(Refused::AwardPayable { hit });
        }
        let waiting = UnpaidAward { set_aside: true, ..award.clone() };
        self.delta.awarded.push(((self.commit.partition, hit), waiting));
        Ok(())
    }

    fn unpaid(
        &self,
        round: u64,
        pool: &str,
        hit: u64,
        amount: Minor,
        currency: Currency,
    ) -> Result<&'s UnpaidAward, Refused> {
        let key = (self.commit.partition, hit);
        let award = self.view.unpaid(key).filter(|_| !self.delta.paid.contains(&key));
        let award = award.filter(|award| {
            award.stream == self.commit.stream
                && award.round == round
                && &*award.pool == pool
                && award.currency == currency
        });
        let award = award.ok_or(Refused::NoSuchAward { hit })?;
        expect_amount(award.amount, amount)?;
        Ok(award)
    }
}
