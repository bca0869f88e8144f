//! Seamless wallets (PL-31). The commit that opens a round also adds the confirmed debit's amount to the player's
//! balance. Any balance left after a commit is owed to the wallet as a credit.

use std::sync::Arc;

use super::transition::{Transition, expect_amount, expect_positive};
use crate::events::{Commit, DebitAsked, Event, InternalRequest, Refused, WalletAnswer};
use crate::state::{Debit, DueKind, ReportedBalance, UnpaidCredit, Wallet};
use crate::values::{Account, Currency, Minor, is_id};

pub(super) type Reported<'a> = (Minor, Option<&'a WalletAnswer>);

impl<'s> Transition<'s, '_> {
    pub fn choose_seamless(&mut self) -> Result<(), Refused> {
        let opened = |event: &Event| matches!(event, Event::AccountOpened { currency } if currency.is_real());
        let opens = self.commit.events.iter().any(opened);
        let player = self.player()?;
        let accounts = player.balances().filter(|(currency, _)| currency.is_real()).count();
        if !opens || accounts != 1 || player.wallet.is_some() {
            return Err(Refused::SeamlessWallet);
        }
        player.wallet = Some(Arc::default());
        Ok(())
    }

    pub fn check_kept_here(&mut self) -> Result<(), Refused> {
        if self.player()?.wallet.is_some() { Err(Refused::SeamlessWallet) } else { Ok(()) }
    }

    /// Refuses to cancel a request for which a debit was sent, because the wallet may have executed the debit.
    pub fn check_no_debit(&mut self) -> Result<(), Refused> {
        let request_id = &self.commit.request_id;
        match self.player()?.debit() {
            Some(debit) if debit.request_id == *request_id => Err(Refused::DebitOpen),
            _ => Ok(()),
        }
    }

    pub fn ask_debit(&mut self, asked: &DebitAsked) -> Result<(), Refused> {
        let DebitAsked { request_id, fingerprint, currency, amount, facts } = asked;
        self.check_real(*currency)?;
        // Only the debit for a free round may be 0.
        if *amount != Minor::ZERO || facts.as_ref().is_none_or(|facts| facts.campaign.is_none()) {
            expect_positive(*amount)?;
        }
        let named = InternalRequest::AskDebit { request_id }.to_string() == self.commit.request_id;
        let Commit { position, time_ms, .. } = *self.commit;
        let wallet = self.wallet()?;
        if wallet.debit.is_some() {
            return Err(Refused::DebitOpen);
        }
        if !named || !is_id(request_id) {
            return Err(Refused::NoSuchDebit);
        }
        wallet.debit = Some(Debit {
            request_id: request_id.clone(),
            fingerprint: *fingerprint,
            currency: *currency,
            amount: *amount,
            asked_at: position,
            asked_ms: time_ms,
            rolling_back: false,
        });
        Ok(())
    }

    pub fn confirm_debit(
        &mut self,
        operator: &'s str,
        account: Account<'s>,
        amount: Minor,
        reported: Reported<'_>,
    ) -> Result<(), Refused> {
        let debit = self.end_debit(false)?;
        self.note_balance(debit.currency, reported)?;
        expect_amount(debit.amount, amount)?;
        self.debited = Some((debit.currency, amount));
        self.pay_player(Account::External(operator), account, debit.currency, amount)
    }

    fn note_balance(&mut self, currency: Currency, (balance, answer): Reported<'_>) -> Result<(), Refused> {
        if answer.is_some_and(|answer| answer.balance_unknown) {
            return Ok(());
        }
        let Commit { position, time_ms, .. } = *self.commit;
        self.wallet()?.reported = Some(ReportedBalance { currency, balance, position, time_ms });
        Ok(())
    }

    pub fn take_debit(&mut self, currency: Currency, charged: Minor) -> Result<(), Refused> {
        match self.debited.take() {
            Some(debited) if debited != (currency, charged) => Err(Refused::DebitUnused),
            _ => Ok(()),
        }
    }

    pub fn refuse_debit(&mut self) -> Result<(), Refused> {
        self.end_debit(false).map(|_| ())
    }

    pub fn ask_rollback(&mut self, request_id: &str) -> Result<(), Refused> {
        let debit = self.wallet()?.debit.as_mut().filter(|debit| debit.request_id == request_id && !debit.rolling_back);
        debit.ok_or(Refused::NoSuchDebit)?.rolling_back = true;
        Ok(())
    }

    pub fn roll_back_debit(&mut self) -> Result<(), Refused> {
        self.end_debit(true).map(|_| ())
    }

    fn end_debit(&mut self, rolling_back: bool) -> Result<Debit, Refused> {
        let commit = self.commit;
        let ends = |debit: &Debit| {
            debit.request_id == commit.request_id
                && debit.fingerprint == commit.fingerprint
                && debit.rolling_back == rolling_back
        };
        let wallet = self.wallet()?;
        match wallet.debit.take() {
            Some(debit) if ends(&debit) => Ok(debit),
            _ => Err(Refused::NoSuchDebit),
        }
    }

    pub fn pay_credit(
        &mut self,
        operator: &'s str,
        (request_id, currency): (&str, Currency),
        amount: Minor,
        reported: Reported<'_>,
    ) -> Result<(), Refused> {
        // After a credit, the wallet's balance is above 0. A reported 0 means that the wallet reported no balance, or that
        // an older version wrote the log.
        if reported.0 != Minor::ZERO {
            self.note_balance(currency, reported)?;
        }
        expect_amount(self.take_due(request_id, currency, DueKind::Credit, 0)?.amount, amount)?;
        self.transfer(Account::Transit(operator), Account::External(operator), currency, amount.to_nano(currency));
        Ok(())
    }

    pub fn owe_reversal(&mut self, round: u64, amount: Minor) -> Result<(), Refused> {
        expect_positive(amount)?;
        self.wallet()?;
        let left = self.left.take().filter(|(of, currency, _)| *of == round && currency.is_real());
        let (_, currency, left) = left.ok_or(Refused::NoSuchDue)?;
        expect_amount(left, amount)?;
        self.reversal = Some((round, currency, amount));
        Ok(())
    }

    pub fn take_reversal(
        &mut self,
        (operator, account): (&'s str, Account<'s>),
        (request_id, round): (&str, u64),
        (currency, amount): (Currency, Minor),
        reported: Reported<'_>,
    ) -> Result<(), Refused> {
        let due = self.take_due(request_id, currency, DueKind::Reversal, round)?;
        expect_amount(due.reversal(), amount)?;
        self.note_balance(currency, reported)?;
        self.pay_player(Account::External(operator), account, currency, amount)?;
        self.charge_player(account, Account::House(operator), currency, amount)
    }

    pub fn report_close(
        &mut self,
        request_id: &str,
        currency: Currency,
        round: u64,
        skipped: bool,
    ) -> Result<(), Refused> {
        if round == 0 {
            return Err(Refused::NoSuchDue);
        }
        if !skipped {
            return self.take_due(request_id, currency, DueKind::Close, round).map(|_| ());
        }
        let dues = &mut self.wallet()?.dues;
        let skipped = dues.iter().position(|due| due.is(request_id, currency, round));
        skipped.and_then(|index| dues.remove(index)).map(|_| ()).ok_or(Refused::NoSuchDue)
    }

    fn take_due(
        &mut self,
        request_id: &str,
        currency: Currency,
        kind: DueKind,
        round: u64,
    ) -> Result<UnpaidCredit, Refused> {
        let wallet = self.wallet()?;
        let next = if kind == DueKind::Credit { wallet.next_credit() } else { wallet.next_report() };
        let is_named = |due: &UnpaidCredit| {
            let of = if kind == DueKind::Credit { 0 } else { due.closes };
            due.request_id == request_id && due.currency == currency && due.kind() == kind && of == round
        };
        let next = next.filter(|index| wallet.dues.get(*index).is_some_and(is_named));
        next.and_then(|index| wallet.dues.remove(index)).ok_or(Refused::NoSuchDue)
    }

    pub fn hold_due(&mut self, request_id: &str, currency: Currency, close: u64, held: bool) -> Result<(), Refused> {
        let dues = &mut self.wallet()?.dues;
        let due = dues.iter_mut().find(|due| due.held != held && due.is(request_id, currency, close));
        due.ok_or(Refused::NoSuchDue)?.held = held;
        Ok(())
    }
    pub fn choose_reports(&mut self, rounds: bool) -> Result<(), Refused> {
        self.wallet()?.reports = rounds;
        Ok(())
    }
    pub fn note_session(&mut self, session: &str) -> Result<(), Refused> {
        self.player()?;
        if session.is_empty() { Err(Refused::NoSuchSession) } else { Ok(()) }
    }
    pub fn make_due(&mut self, operator: &'s str, account: Account<'s>) -> Result<(), Refused> {
        if self.debited.is_some() {
            return Err(Refused::DebitUnused);
        }
        let Commit { position: due_at, time_ms: due_ms, .. } = *self.commit;
        let mut ended = std::mem::take(&mut self.ended);
        let player = self.player()?;
        let reports = player.wallet().is_some_and(|wallet| wallet.reports);
        ended.retain(|(_, currency)| reports && currency.is_real());
        let left: Vec<_> = player.balances().filter(|(of, left)| of.is_real() && left.0 > 0).collect();
        for (currency, amount) in left {
            self.charge_player(account, Account::Transit(operator), currency, amount)?;
            let request_id = self.commit.request_id.clone();
            let closed = ended.iter().rposition(|(_, of)| *of == currency);
            let closes = closed.map_or(0, |index| ended.remove(index).0);
            let due = UnpaidCredit { request_id, currency, amount, closes, held: false, due_at, due_ms };
            self.wallet()?.dues.push_back(due);
        }
        if let Some((closes, currency, Minor(amount))) = self.reversal.take() {
            ended.retain(|(of, _)| *of != closes);
            let (request_id, amount) = (self.commit.request_id.clone(), Minor(-amount));
            let due = UnpaidCredit { request_id, currency, amount, closes, held: false, due_at, due_ms };
            self.wallet()?.dues.push_back(due);
        }
        for (closes, currency) in ended {
            let (request_id, amount) = (self.commit.request_id.clone(), Minor::ZERO);
            self.wallet()?.dues.push_back(UnpaidCredit {
                request_id,
                currency,
                amount,
                closes,
                held: false,
                due_at,
                due_ms,
            });
        }
        Ok(())
    }

    fn wallet(&mut self) -> Result<&mut Wallet, Refused> {
        self.player()?.wallet.as_mut().map(Arc::make_mut).ok_or(Refused::TransferWallet)
    }
}
