use std::sync::Arc;

use smallvec::SmallVec;

use super::reveal::RevealDue;
use super::transition::{Transition, add_cash, expect_amount, expect_positive};
use crate::events::{
    Commit, Contribution, Decision, Hit, PoolStatus, Refused, RoundJackpot, RoundStarted, StepResolved,
};
use crate::state::{OpenRound, PlayerState, Step};
use crate::values::{Account, Currency, Minor, Nano, Rates, contribution};

impl<'s> Transition<'s, '_> {
    pub fn start_round(
        &mut self,
        account: Account<'s>,
        operator: &'s str,
        started: &'s Arc<RoundStarted>,
    ) -> Result<(), Refused> {
        let (house, currency) = (Account::House(operator), started.currency);
        self.check_switches(operator, started)?;
        self.check_account(currency)?;
        expect_positive(started.bet)?;
        self.take_debit(currency, started.charged())?;
        let (view, commit) = (self.view, self.commit);
        let player = self.player()?;
        if let Some(open) = player.open_round_of(&started.game, currency) {
            return Err(Refused::RoundOpen { round: open.started.round });
        }
        let expected = player.rounds_started + 1;
        if started.round != expected {
            return Err(Refused::WrongRound { expected, found: started.round });
        }
        let rate = view.rates().rate(currency).ok_or(Refused::NoRate { currency })?;
        if started.rate != rate {
            return Err(Refused::WrongRate { currency });
        }
        let rates = |currency| view.rates().rate(currency);
        within_day(player, started, &rates, commit.time_ms)?;
        player.rounds_started = expected;
        player.count_bet(started, commit.time_ms);
        player.open.push(Arc::new(OpenRound {
            started: Arc::clone(started),
            opened_at: commit.position,
            opened_ms: commit.time_ms,
            last_ms: commit.time_ms,
            last_position: commit.position,
            steps: SmallVec::new(),
            win: Minor::ZERO,
            credited: Minor::ZERO,
            automatic: None,
            jackpots: vec![],
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
            None => match self.view.pool(&started.game) {
                Some(pool) if pool.status == PoolStatus::Active => {
                    Err(Refused::ContributionMissing { pool: started.game.clone() })
                }
                _ => Ok(()),
            },
        }
    }

    fn check_switches(&self, operator: &str, started: &RoundStarted) -> Result<(), Refused> {
        let switches = &self.view.system().switches;
        match switches.against(operator, &started.game, &started.rules_version) {
            Some((switch, off)) => Err(Refused::SwitchedOff { switch: switch.clone(), reason: off.reason.clone() }),
            None => Ok(()),
        }
    }

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
        let change = self.pending(&given.pool);
        change.totals.open_rounds += 1;
        let earlier = change.contribution.map_or(Nano::ZERO, |(_, _, amount)| amount);
        change.contribution = Some((partition, position, super::transition::add_figure(earlier, expected)?));
        Ok(())
    }

    pub fn resolve_step(&mut self, step: &StepResolved) -> Result<(), Refused> {
        let commit = self.commit;
        if self.player()?.open_round(step.round).is_none() {
            return Err(Refused::NoSuchRound { round: step.round });
        }
        let drawn = self.draw(step)?;
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
        round.steps.push(Step { drawn, choice: SmallVec::from_slice(&step.choice) });
        round.win = step.win;
        round.automatic.clone_from(&step.automatic);
        (round.last_position, round.last_ms) = (commit.position, commit.time_ms);
        let real = round.started.currency.is_real();
        self.stepped = Some(step.round);
        if step.automatic.is_none() {
            self.player()?.day_mut(real).act(commit.time_ms);
        }
        Ok(())
    }

    pub fn hit(&mut self, number: u64, pool: &'s str) -> Result<(), Refused> {
        let commit = self.commit;
        let stepped = self.stepped == Some(number);
        let round = self.player()?.open_round_mut(number).ok_or(Refused::NoSuchRound { round: number })?;
        round.jackpots.push(RoundJackpot { hit: commit.position, paid: None });
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

    pub fn credit(
        &mut self,
        account: Account<'s>,
        house: Account<'s>,
        number: u64,
        amount: Minor,
    ) -> Result<(), Refused> {
        expect_positive(amount)?;
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

    pub fn settle(&mut self, account: Account<'s>, house: Account<'s>, number: u64, win: Minor) -> Result<(), Refused> {
        let round = self.player()?.close_round(number).ok_or(Refused::NoSuchRound { round: number })?;
        if round.steps.is_empty() {
            return Err(Refused::NothingResolved { round: number });
        }
        expect_amount(round.win, win)?;
        self.ended.push((number, round.started.currency));
        self.player()?.tally(&round, win);
        if let Some(given) = &round.started.contribution {
            self.pending(&given.pool).totals.open_rounds -= 1;
        }
        self.reveal = RevealDue::for_round(&round, false);
        let due = win.checked_sub(round.credited).ok_or(Refused::BadAmount { amount: win })?;
        self.pay_player(house, account, round.started.currency, due)
    }
}

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
