use smol_str::SmolStr;

use super::transition::{Transition, add_cash, expect_positive};
use crate::events::{Event, Refused};
use crate::state::PlayerState;
use crate::values::{Account, Currency, Minor};

impl<'s> Transition<'s, '_> {
    pub fn player(&mut self) -> Result<&mut PlayerState, Refused> {
        let Some(player) = &mut self.delta.player else { return Err(Refused::WrongStream) };
        if player.balances.is_empty() {
            return Err(Refused::UnknownPlayer);
        }
        Ok(player)
    }

    pub fn cancel_request(&self) -> Result<(), Refused> {
        let does_more = |event: &Event| !matches!(event, Event::RequestCancelled | Event::ActedBy { .. });
        if self.commit.events.iter().any(does_more) { Err(Refused::NotCancelled) } else { Ok(()) }
    }

    pub fn open_account(&mut self, currency: Currency) -> Result<(), Refused> {
        let player = self.delta.player.as_mut().ok_or(Refused::WrongStream)?;
        if player.balance(currency).is_some() {
            return Err(Refused::AccountExists { currency });
        }
        player.balances.set(currency, Minor::ZERO);
        Ok(())
    }

    pub fn check_account(&self, currency: Currency) -> Result<Minor, Refused> {
        let player = self.delta.player.as_ref().ok_or(Refused::WrongStream)?;
        player.balance(currency).ok_or(Refused::UnknownAccount { currency })
    }

    pub fn check_real(&self, currency: Currency) -> Result<(), Refused> {
        self.check_account(currency)?;
        if currency.is_real() { Ok(()) } else { Err(Refused::PlayMoney) }
    }

    fn check_cash(&mut self, currency: Currency, amount: Minor) -> Result<(), Refused> {
        self.check_real(currency)?;
        self.check_kept_here()?;
        expect_positive(amount)
    }

    pub fn deposit(
        &mut self,
        external: Account<'s>,
        player: Account<'s>,
        currency: Currency,
        amount: Minor,
    ) -> Result<(), Refused> {
        self.check_cash(currency, amount)?;
        self.pay_player(external, player, currency, amount)
    }

    pub fn withdraw(
        &mut self,
        player: Account<'s>,
        external: Account<'s>,
        currency: Currency,
        amount: Minor,
    ) -> Result<(), Refused> {
        self.check_cash(currency, amount)?;
        self.charge_player(player, external, currency, amount)
    }

    pub fn give_play_money(
        &mut self,
        external: Account<'s>,
        player: Account<'s>,
        amount: Minor,
    ) -> Result<(), Refused> {
        expect_positive(amount)?;
        self.pay_player(external, player, Currency::PLAY, amount)
    }

    pub fn pay_player(
        &mut self,
        from: Account<'s>,
        player: Account<'s>,
        currency: Currency,
        amount: Minor,
    ) -> Result<(), Refused> {
        let balance = add_cash(self.check_account(currency)?, amount)?;
        self.player()?.balances.set(currency, balance);
        self.transfer(from, player, currency, amount.to_nano(currency));
        Ok(())
    }

    /// Fails if the balance would become negative (PL-09).
    pub fn charge_player(
        &mut self,
        player: Account<'s>,
        to: Account<'s>,
        currency: Currency,
        amount: Minor,
    ) -> Result<(), Refused> {
        let balance = self.check_account(currency)?;
        let left = balance.checked_sub(amount).filter(|left| *left >= Minor::ZERO);
        let left = left.ok_or(Refused::InsufficientFunds { currency, balance, needed: amount })?;
        self.player()?.balances.set(currency, left);
        self.transfer(player, to, currency, amount.to_nano(currency));
        Ok(())
    }

    pub fn change_collection(&mut self, game: &str, scope: &str, changes: &[(SmolStr, i64)]) -> Result<(), Refused> {
        self.player()?.change_collection(game, scope, changes);
        Ok(())
    }
}
