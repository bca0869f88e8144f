//! A round consists of the paid spin, Treasure bonuses and free spins. Each line that starts a Treasure bonus gives a
//! separate pick, so the number of lines does not affect the return.

use std::collections::VecDeque;

use super::model::{BASE_LINES, FREE_SPINS, Model, SCATTER, TREASURE};
use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::outcome::{Awaiting, Outcome, PickOffer, SpinKind};
use crate::contract::round::{Choice, ChoiceRefused, Picked, Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::free_spins::{FREE_SPINS_PER_STEP, FreeSpins};
use crate::parts::picks::Pick;
use crate::parts::windows::LineBet;

#[derive(Debug)]
pub struct NeptuneRound<'a> {
    model: &'a Model,
    bet: LineBet,
    awaiting: Awaiting,
    free_spins: FreeSpins,
    picks: VecDeque<Pick>,
    in_free_spins: bool,
    win_coins: u64,
}

impl<'a> NeptuneRound<'a> {
    pub fn new(model: &'a Model, stake: &Stake, terms: &Terms) -> Result<Self, StakeRefused> {
        let bet_coins = u64::from(model.limits.check(stake)?);
        Ok(Self {
            model,
            bet: LineBet::new(stake, terms, bet_coins),
            awaiting: Awaiting::Spin,
            free_spins: FreeSpins::default(),
            picks: VecDeque::new(),
            in_free_spins: false,
            win_coins: 0,
        })
    }

    fn check(&self, choice: &Choice) -> Result<(), ChoiceRefused> {
        match (choice, self.awaiting) {
            (Choice::Spin, Awaiting::Spin) | (Choice::StartFreeSpins, Awaiting::FreeSpins) => Ok(()),
            (Choice::Pick(picked), Awaiting::Pick) => {
                self.picks.front().map_or(Ok(()), |pick| picked.check(pick.offer().needs, pick.offer().of))
            }
            (_, awaiting) => Err(ChoiceRefused::NotAwaited { awaiting }),
        }
    }

    fn free_spins(&mut self, draws: &mut Draws, out: &mut Outcome) {
        self.in_free_spins = true;
        for _ in 0..FREE_SPINS_PER_STEP {
            if !self.picks.is_empty() || !self.free_spins.take() {
                break;
            }
            self.show(u64::from(self.model.multiplier), SpinKind::Free, draws, out);
        }
    }

    fn open_treasures(&mut self, picked: &Picked, out: &mut Outcome) {
        let Some(pick) = self.picks.pop_front() else { return };
        out.reveals.extend(pick.reveal(picked.as_slice()));
        out.unopened.extend(pick.unopened(picked.as_slice()));
        let coins = out.reveals.iter().map(|reveal| reveal.coins).sum::<u64>();
        self.win_coins += coins;
        out.part_coins[if self.in_free_spins { FREE_SPINS } else { TREASURE }] += coins;
    }

    fn show(&mut self, multiplier: u64, kind: SpinKind, draws: &mut Draws, out: &mut Outcome) {
        let shown = self.model.windows.spin(&self.bet, multiplier, kind, draws, out);
        if let Some(spin) = out.spins.last_mut() {
            for needs in self.model.treasures.at(spin.stops.as_slice(), self.bet.lines) {
                self.picks.push_back(self.model.objects.hide(needs, self.bet.coins_per_line, draws));
                spin.bonus = true;
            }
        }
        self.free_spins.award(shown.free_spins_won);
        self.win_coins += shown.win_coins();
        if kind == SpinKind::Base {
            out.part_coins[BASE_LINES] += shown.line_coins;
            out.part_coins[SCATTER] += shown.scatter_coins;
        } else {
            out.part_coins[FREE_SPINS] += shown.win_coins();
        }
    }

    fn next(&self) -> Awaiting {
        if !self.picks.is_empty() {
            Awaiting::Pick
        } else if self.free_spins.left() > 0 {
            Awaiting::FreeSpins
        } else {
            Awaiting::Nothing
        }
    }
}

impl Round for NeptuneRound<'_> {
    fn awaiting(&self) -> Awaiting {
        self.awaiting
    }

    fn pick(&self) -> Option<PickOffer> {
        self.picks.front().map(Pick::offer)
    }

    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused> {
        out.clear();
        self.check(choice)?;
        match choice {
            Choice::Pick(picked) => self.open_treasures(picked, out),
            Choice::StartFreeSpins => self.free_spins(draws, out),
            _ => self.show(1, SpinKind::Base, draws, out),
        }
        self.awaiting = self.next();
        out.awaiting = self.awaiting;
        out.free_spins_left = self.free_spins.left();
        out.pick = self.pick();
        out.round_win_coins = self.win_coins;
        out.round_win_minor = self.bet.worth.minor(self.win_coins);
        Ok(())
    }

    fn reopen(&mut self, _carried: &Carried) {
        self.awaiting = Awaiting::Spin;
        self.free_spins = FreeSpins::default();
        self.picks.clear();
        self.in_free_spins = false;
        self.win_coins = 0;
    }
}
