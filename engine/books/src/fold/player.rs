//! Events of a player's stream: accounts, collections, rounds, and the jackpot's arrival.

use std::sync::Arc;

use super::transition::{Change, add_cash, expect_amount};
use crate::events::commit::Commit;
use crate::events::event::{Contribution, Event, RoundStarted, StepResolved};
use crate::events::refused::Refused;
use crate::play::sessions::SessionName;
use crate::state::campaign::{Campaign, CampaignState};
use crate::state::day::Rates;
use crate::state::player::{OpenRound, PlayerState, SettledRound, Step};
use crate::state::pool::{Decision, Hit, PoolStatus, TakeBack, UnpaidAward};
use crate::state::seat::SessionOpened;
use crate::values::account::Account;
use crate::values::currency::Currency;
use crate::values::money::{Minor, Nano};
use crate::values::rate::contribution;

impl<'s> Change<'s> {
    pub(super) fn player_event(
        &mut self,
        account: Account<'s>,
        operator: &'s str,
        event: &'s Event,
    ) -> Result<(), Refused> {
        let house = Account::House(operator);
        match event {
            Event::AccountOpened { currency } => self.open_account(*currency),
            Event::Deposited { currency, amount } => {
                self.check_real(*currency)?;
                check_positive(*amount)?;
                self.pay_player(Account::External(operator), account, *currency, *amount)
            }
            Event::Withdrawn { currency, amount } => {
                self.check_real(*currency)?;
                check_positive(*amount)?;
                self.charge_player(account, Account::External(operator), *currency, *amount)
            }
            Event::PlayMoneyGiven { amount } => {
                check_positive(*amount)?;
                self.pay_player(Account::External(operator), account, Currency::PLAY, *amount)
            }
            Event::CollectionChanged { game, scope, changes } => {
                self.player()?.change_collection(game, scope, changes);
                Ok(())
            }
            Event::RoundStarted(started) => {
                self.check_switches(operator, started)?;
                self.start_round(account, operator, started)
            }
            Event::StepResolved(step) => self.resolve_step(step),
            Event::JackpotHit { round, pool } => self.hit(*round, pool),
            Event::WinCredited { round, amount } => self.credit(account, house, *round, *amount),
            Event::RoundSettled { round, win } => self.settle(account, house, *round, *win),
            Event::RoundVoided { round, refund, win_taken_back, .. } => {
                self.void(account, operator, *round, *refund, *win_taken_back)
            }
            Event::SessionOpened(opened) => self.open_session(opened),
            Event::SessionEnded { session, hold_ms } => self.end_session(*session, *hold_ms),
            Event::RealityCheckAcknowledged { session } => self.acknowledge(*session),
            Event::CampaignGranted(campaign) => self.grant(campaign),
            Event::CampaignCancelled { campaign, .. } => {
                let now_ms = self.commit.time_ms;
                self.campaign(campaign)?.cancel(now_ms)
            }
            Event::JackpotPaid { round, pool, hit, amount, currency } => {
                self.pay_jackpot(account, *round, pool, *hit, *amount, *currency)
            }
            Event::AwardSetAside { round, pool, hit, amount, currency, .. } => {
                self.set_aside(*round, pool, *hit, *amount, *currency)
            }
            _ => Err(Refused::WrongStream),
        }
    }

    /// The player's copy; a player exists from the first account on.
    fn player(&mut self) -> Result<&mut PlayerState, Refused> {
        let player = self.delta.player.as_mut().ok_or(Refused::WrongStream)?;
        if player.balances.is_empty() {
            return Err(Refused::UnknownPlayer);
        }
        Ok(player)
    }

    fn open_account(&mut self, currency: Currency) -> Result<(), Refused> {
        let player = self.delta.player.as_mut().ok_or(Refused::WrongStream)?;
        if player.balance(currency).is_some() {
            return Err(Refused::AccountExists { currency });
        }
        player.balances.set(currency, Minor::ZERO);
        Ok(())
    }

    fn check_account(&self, currency: Currency) -> Result<Minor, Refused> {
        let player = self.delta.player.as_ref().ok_or(Refused::WrongStream)?;
        player.balance(currency).ok_or(Refused::UnknownAccount { currency })
    }

    /// An account that money can be brought to, taken from and promised to (PL-17).
    fn check_real(&self, currency: Currency) -> Result<(), Refused> {
        self.check_account(currency)?;
        if currency.is_real() { Ok(()) } else { Err(Refused::PlayMoney) }
    }

    /// Cash from an account to the player.
    fn pay_player(
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

    /// Cash from the player to an account; a balance is never negative (PL-09).
    fn charge_player(
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

    /// Nothing that is switched off takes a bet (PL-25).
    fn check_switches(&self, operator: &str, started: &RoundStarted) -> Result<(), Refused> {
        let switches = &self.view.system().switches;
        match switches.against(operator, &started.game, &started.rules_version) {
            Some((switch, off)) => Err(Refused::SwitchedOff { switch: switch.clone(), reason: off.reason.clone() }),
            None => Ok(()),
        }
    }

    fn start_round(
        &mut self,
        account: Account<'s>,
        operator: &'s str,
        started: &'s RoundStarted,
    ) -> Result<(), Refused> {
        let (house, currency) = (Account::House(operator), started.currency);
        self.check_account(currency)?;
        check_positive(started.bet)?;
        let (view, commit) = (self.view, self.commit);
        let player = self.player()?;
        if let Some(open) = player.open_round_of(&started.game, currency) {
            return Err(Refused::RoundOpen { round: open.started.round });
        }
        let expected = player.rounds_started + 1;
        if started.round != expected {
            return Err(Refused::WrongRound { expected, found: started.round });
        }
        let rate = view.rates().of(currency).ok_or(Refused::NoRate { currency })?;
        if started.rate != rate {
            return Err(Refused::WrongRate { currency });
        }
        let rates = |currency| view.rates().of(currency);
        within_day(player, started, &rates, commit.time_ms)?;
        player.rounds_started = expected;
        player.count_bet(started, commit.time_ms);
        player.open.push(Arc::new(OpenRound {
            started: started.clone(),
            opened_at: commit.position,
            opened_ms: commit.time_ms,
            last_ms: commit.time_ms,
            last_position: commit.position,
            steps: Vec::new(),
            win: Minor::ZERO,
            credited: Minor::ZERO,
            automatic: None,
        }));
        match &started.campaign {
            None => self.charge_player(account, house, currency, started.bet)?,
            Some(campaign) => {
                self.campaign(campaign)?.begin(started, commit.time_ms)?;
                self.transfer(Account::Promotion(operator), house, currency, started.bet.to_nano(currency));
            }
        }
        match &started.contribution {
            Some(_) if started.campaign.is_some() => Err(Refused::FreeRoundPooled { round: started.round }),
            Some(_) if !currency.is_real() => Err(Refused::PlayMoney),
            None if started.campaign.is_some() || !currency.is_real() => Ok(()),
            Some(contribution) => self.contribute(house, started, contribution),
            // A pool takes the bets of the game of its name: none passes it by while it's active.
            None => match self.view.pool(&started.game) {
                Some(pool) if pool.status == PoolStatus::Active => {
                    Err(Refused::ContributionMissing { pool: started.game.clone() })
                }
                _ => Ok(()),
            },
        }
    }

    /// A bet's contribution leaves the house at once and waits for the pool to take it up (BW-11).
    fn contribute(
        &mut self,
        house: Account<'s>,
        started: &RoundStarted,
        given: &'s Contribution,
    ) -> Result<(), Refused> {
        let pool = self.view.pool(&given.pool);
        let pool = pool.ok_or_else(|| Refused::UnknownPool { pool: given.pool.clone() })?;
        if pool.status != PoolStatus::Active {
            return Err(Refused::PoolStatus { status: pool.status.clone() });
        }
        let terms = &pool.terms;
        if given.terms_version != terms.version {
            return Err(Refused::WrongTerms { expected: terms.version, found: given.terms_version });
        }
        let expected = contribution(started.bet, started.currency, started.rate, terms.contribution_ppm)?;
        if given.amount != expected {
            return Err(Refused::ContributionWrong { expected, found: given.amount });
        }
        if !started.rate.coin_within(started.coin_value, terms.base_coin) {
            return Err(Refused::CoinTooLarge);
        }
        self.transfer(house, Account::ContributionsDue(&given.pool), Currency::EUR, expected);
        let Commit { partition, position, .. } = *self.commit;
        let change = self.pending_change(&given.pool);
        change.totals.open_rounds += 1;
        // Two rounds begun in one commit stand at one position: one entry.
        let earlier = change.contribution.map_or(Nano::ZERO, |(_, _, amount)| amount);
        change.contribution = Some((partition, position, super::transition::add_figure(earlier, expected)?));
        Ok(())
    }

    fn resolve_step(&mut self, step: &StepResolved) -> Result<(), Refused> {
        let commit = self.commit;
        let round = self.player()?.open_round_mut(step.round);
        let round = round.ok_or(Refused::NoSuchRound { round: step.round })?;
        let taken = u32::try_from(round.steps.len()).unwrap_or(u32::MAX);
        let expected = taken.saturating_add(1);
        if step.step != expected {
            return Err(Refused::WrongStep { expected, found: step.step });
        }
        if step.win < round.credited {
            return Err(Refused::BadAmount { amount: step.win });
        }
        round.steps.push(Step { seed: step.seed, choice: step.choice.clone() });
        round.win = step.win;
        round.automatic.clone_from(&step.automatic);
        (round.last_position, round.last_ms) = (commit.position, commit.time_ms);
        let real = round.started.currency.is_real();
        self.stepped = Some(step.round);
        // What the player didn't choose is no action of the player's.
        if step.automatic.is_none() {
            self.player()?.day_mut(real).act(commit.time_ms);
        }
        Ok(())
    }

    fn hit(&mut self, number: u64, pool: &'s str) -> Result<(), Refused> {
        let commit = self.commit;
        let stepped = self.stepped == Some(number);
        let round = self.player()?.open_round(number).ok_or(Refused::NoSuchRound { round: number })?;
        let started = &round.started;
        let contributed = started.contribution.as_ref().is_some_and(|given| given.pool == pool);
        if !(stepped && contributed) {
            return Err(Refused::HitUnfounded { round: number });
        }
        let hit = Hit {
            partition: commit.partition,
            position: commit.position,
            time_ms: commit.time_ms,
            stream: commit.stream.clone(),
            round: number,
            currency: started.currency,
            coin_value: started.coin_value,
            rate: started.rate,
        };
        self.leave(pool, Decision::Hit(hit))
    }

    /// A part of an open round's win reaches the player before the round is over (ME-16).
    fn credit(&mut self, account: Account<'s>, house: Account<'s>, number: u64, amount: Minor) -> Result<(), Refused> {
        check_positive(amount)?;
        let stepped = self.stepped == Some(number);
        let round = self.player()?.open_round_mut(number).filter(|_| stepped);
        let round = round.ok_or(Refused::NoSuchRound { round: number })?;
        let credited = add_cash(round.credited, amount)?;
        if credited > round.win {
            return Err(Refused::BadAmount { amount });
        }
        round.credited = credited;
        let currency = round.started.currency;
        self.pay_player(house, account, currency, amount)
    }

    fn settle(&mut self, account: Account<'s>, house: Account<'s>, number: u64, win: Minor) -> Result<(), Refused> {
        let round = self.player()?.close_round(number).ok_or(Refused::NoSuchRound { round: number })?;
        if round.steps.is_empty() {
            return Err(Refused::NothingResolved { round: number });
        }
        expect_amount(round.win, win)?;
        self.player()?.tally(&round, win);
        if let Some(given) = &round.started.contribution {
            self.pending(&given.pool).open_rounds -= 1;
        }
        // No step wins less than what was credited before it.
        let due = win.checked_sub(round.credited).ok_or(Refused::BadAmount { amount: win })?;
        self.pay_player(house, account, round.started.currency, due)
    }

    fn void(
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
        player.mark_voided(number, position);
        let (started, opened_at, win) = match (&open, self.recalled) {
            (Some(open), _) => {
                if let Some(given) = &open.started.contribution {
                    self.pending(&given.pool).open_rounds -= 1;
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

    /// The latest session of a game takes the seat, whatever was there: who may open one is the service's to say.
    fn open_session(&mut self, opened: &SessionOpened) -> Result<(), Refused> {
        self.check_account(opened.currency)?;
        let limits = &opened.limits;
        for (_, limit) in limits.losses_max.iter().chain(&limits.bets_max) {
            check_positive(*limit)?;
        }
        let time_ms = self.commit.time_ms;
        let player = self.player()?;
        if opened.game.is_empty() {
            return Err(Refused::NoSuchSession);
        }
        player.sit(opened, time_ms);
        player.day_mut(opened.currency.is_real()).restrict(limits, time_ms);
        Ok(())
    }

    fn end_session(&mut self, session: SessionName, hold_ms: u32) -> Result<(), Refused> {
        let time_ms = self.commit.time_ms;
        let ended = self.player()?.stand(session, hold_ms.into(), time_ms);
        if ended { Ok(()) } else { Err(Refused::NoSuchSession) }
    }

    fn acknowledge(&mut self, session: SessionName) -> Result<(), Refused> {
        let time_ms = self.commit.time_ms;
        let player = self.player()?;
        let real = player.sits(session).ok_or(Refused::NoSuchSession)?.real;
        player.day_mut(real).see(time_ms);
        Ok(())
    }

    fn grant(&mut self, campaign: &Campaign) -> Result<(), Refused> {
        let commit = self.commit;
        self.check_real(campaign.currency)?;
        campaign.check(commit.time_ms)?;
        let player = self.player()?;
        if player.campaign(&campaign.id).is_some() {
            return Err(Refused::CampaignExists { campaign: campaign.id.clone() });
        }
        player.grant(campaign, commit);
        Ok(())
    }

    /// The player's campaign of a name.
    fn campaign(&mut self, id: &str) -> Result<&mut CampaignState, Refused> {
        let state = self.player()?.campaign_mut(id);
        state.ok_or_else(|| Refused::UnknownCampaign { campaign: id.to_owned() })
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

    fn pay_jackpot(
        &mut self,
        account: Account<'s>,
        round: u64,
        pool: &'s str,
        hit: u64,
        amount: Minor,
        currency: Currency,
    ) -> Result<(), Refused> {
        let award = self.unpaid(round, pool, hit, amount, currency)?;
        self.delta.paid.push((self.commit.partition, hit));
        self.transfer(Account::JackpotPayable(pool), Account::Exchange, Currency::EUR, award.paid);
        self.pay_player(Account::Exchange, account, currency, amount)
    }

    /// The award of a hit of this player's that waits to be paid.
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

    /// An award waits where the account has no room for it; no money moves, and what is owed stays owed.
    fn set_aside(
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
}

fn check_positive(amount: Minor) -> Result<(), Refused> {
    if amount > Minor::ZERO { Ok(()) } else { Err(Refused::BadAmount { amount }) }
}

/// No bet that is above, or could take the day's loss past, what sessions of the day have limited it to (PL-26). What the
/// jurisdiction and the operator ask beyond that is not in the log.
fn within_day(player: &PlayerState, started: &RoundStarted, rates: Rates<'_>, now_ms: i64) -> Result<(), Refused> {
    let day = player.day(started.currency);
    let Some(limits) = day.limits(now_ms) else { return Ok(()) };
    let past = |limit| Refused::PastLimit { currency: started.currency, limit, bet: started.bet };
    if let Some(limit) = limits.bet_max(started.currency, rates).filter(|limit| started.bet > *limit) {
        return Err(past(limit));
    }
    let Some(limit) = limits.loss_max(started.currency, rates) else { return Ok(()) };
    let left = i128::from(limit.0) + day.net(started.currency, rates, now_ms);
    let charged = started.charged();
    if charged > Minor::ZERO && left < i128::from(charged.0) { Err(past(limit)) } else { Ok(()) }
}
