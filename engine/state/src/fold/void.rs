use super::reveal::RevealDue;
use super::transition::{Transition, expect_amount};
use crate::events::{
    Decision, Event, Incident, Refused, Reversal, RoundJackpot, RoundStarted, SettledRound, TakeBack, VoidedJackpot,
};
use crate::state::{BetPlace, PendingVoid};
use crate::values::{ANYONE, Account, Currency, Minor, Nano};

impl<'s> Transition<'s, '_> {
    pub fn void(&mut self, account: Account<'s>, operator: &'s str, event: &'s Event) -> Result<(), Refused> {
        let Event::RoundVoided { round: number, refund, win_taken_back, ref actor, jackpot, ref settled, .. } = *event
        else {
            return Err(Refused::WrongStream);
        };
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
        let reveal = open.as_ref().and_then(|open| RevealDue::for_round(open, true));
        player.mark_voided(number, position);
        self.reveal = reveal;
        let (started, opened_at, opened_ms, jackpots, win) = match (&open, self.recalled) {
            (Some(open), _) => {
                if let Some(given) = &open.started.contribution {
                    self.pending(&given.pool).totals.open_rounds -= 1;
                }
                // Of an open round's win, only the part that the player secured (`Halve`) is credited yet (ME-16).
                (&open.started, open.opened_at, open.opened_ms, &open.jackpots, open.credited)
            }
            (None, Some(settled)) if settled.started.round == number => {
                let SettledRound { started, opened_at, opened_ms, jackpots, win, .. } = settled;
                (started, *opened_at, *opened_ms, jackpots, *win)
            }
            (None, _) => return Err(Refused::RecallNeeded { round: number }),
        };
        if let Some(stated) = settled
            && (open.is_some() || self.recalled != Some(stated))
        {
            return Err(Refused::VoidFactsWrong { round: number });
        }
        self.ended.push((number, started.currency));
        expect_amount(started.charged(), refund)?;
        self.pay_player(house, account, started.currency, refund)?;
        if let Some(campaign) = &started.campaign {
            self.campaign(campaign)?.given_back += 1;
            let bet = started.bet.to_nano(started.currency);
            self.transfer(house, Account::Promotion(operator), started.currency, bet);
        }
        // If the balance is less than the win, the operator bears the difference (PL-09).
        let balance = self.check_account(started.currency)?;
        expect_amount(win.min(balance), win_taken_back)?;
        self.charge_player(account, house, started.currency, win_taken_back)?;
        self.left = Some((number, started.currency, Minor(win.0 - win_taken_back.0)));
        self.drop_proposals(number)?;
        if jackpot == VoidedJackpot::TakenBack {
            return self.give_back(house, started, opened_at);
        }
        let is_approved = std::mem::take(&mut self.void_approved) || actor == ANYONE;
        if !jackpots.is_empty() && !is_approved {
            return Err(Refused::VoidUnapproved { round: number });
        }
        self.void_awards(operator, started, jackpots, jackpot)?;
        self.keep_contribution(operator, started, (opened_at, opened_ms));
        Ok(())
    }

    fn keep_contribution(&mut self, operator: &str, started: &RoundStarted, (opened_at, opened_ms): (u64, i64)) {
        let Some(given) = &started.contribution else { return };
        let void = PendingVoid {
            position: self.commit.position,
            partition: self.commit.partition,
            minute: Incident::minute_of(opened_ms),
            operator: operator.into(),
            game: started.game.clone(),
            rules_version: started.rules_version.clone(),
            voids: 1,
            bet: BetPlace::At(opened_at),
            amount: given.amount,
        };
        self.pending(&given.pool).voids.push(void);
    }

    fn void_awards(
        &mut self,
        operator: &'s str,
        started: &RoundStarted,
        jackpots: &[RoundJackpot],
        effect: VoidedJackpot,
    ) -> Result<(), Refused> {
        let wrong = Err(Refused::VoidedJackpotWrong { round: started.round });
        let paid = Nano(jackpots.iter().filter_map(|jackpot| jackpot.paid).map(|paid| paid.0).sum());
        let has_paid = jackpots.iter().any(|jackpot| jackpot.paid.is_some());
        if has_paid == (effect == VoidedJackpot::Kept) {
            return wrong;
        }
        let Some(given) = &started.contribution else { return Ok(()) };
        let pool = self.view.pool(&given.pool);
        let pool = pool.ok_or_else(|| Refused::UnknownPool { pool: given.pool.clone() })?;
        let partition = self.commit.partition;
        let (mut amount, mut to_house) = (Nano::ZERO, Nano::ZERO);
        for RoundJackpot { hit, .. } in jackpots.iter().filter(|jackpot| jackpot.paid.is_none()) {
            let key = (partition, *hit);
            let award = self.view.unpaid(key).filter(|award| award.stream == self.commit.stream);
            let award = award.ok_or(Refused::AwardPending { hit: *hit })?;
            self.delta.paid.push(key);
            amount.0 += award.paid.0;
            to_house.0 += award.seed_from_house.min(award.paid).0;
        }
        let (payable, due) = (Account::JackpotPayable(&pool.name), Account::ContributionsDue(&pool.name));
        self.transfer(payable, due, Currency::EUR, amount);
        if effect == VoidedJackpot::Charged {
            self.transfer(Account::House(operator), due, Currency::EUR, paid);
            amount.0 += paid.0;
        }
        if amount == Nano::ZERO {
            return Ok(());
        }
        let position = self.commit.position;
        self.leave(
            &pool.name,
            Decision::Reversal(Reversal { partition, position, operator: operator.into(), amount, to_house }),
        )
    }

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
