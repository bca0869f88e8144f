//! A round consists of the paid spin, its bonus rounds and free spins, then a gamble of the paid spin's line win. The
//! player's witch does not affect outcomes (BW-05).

use super::model::{BASE_LINES, BONUS, DOUBLES_MAX, FREE_SPINS, Model, SCATTER, VIALS_PICKED as VIALS};
use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::info::PrizeInfo;
use crate::contract::outcome::{Awaiting, Card, Outcome, PickOffer, Prize, SpinKind};
use crate::contract::round::{Choice, ChoiceRefused, Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::free_spins::{FREE_SPINS_PER_STEP, FreeSpins};
use crate::parts::gamble::Gamble;
use crate::parts::windows::{LineBet, Shown};

#[derive(Debug)]
pub struct BewitchedRound<'a> {
    model: &'a Model,
    bet: LineBet,
    /// Coins staked for the jackpot; 0 while the pool is closed.
    jackpot_coins: u64,
    double_allowed: bool,
    awaiting: Awaiting,
    free_spins: FreeSpins,
    gamble: Gamble,
    in_free_spins: bool,
    line_win_coins: u64,
    win_coins: u64,
}

impl<'a> BewitchedRound<'a> {
    pub fn new(model: &'a Model, stake: &Stake, terms: &Terms) -> Result<Self, StakeRefused> {
        let bet_coins = u64::from(model.limits.check(stake)?);
        Ok(Self {
            model,
            bet: LineBet::new(stake, terms, bet_coins),
            jackpot_coins: if terms.jackpot { bet_coins } else { 0 },
            double_allowed: terms.double,
            awaiting: Awaiting::Spin,
            free_spins: FreeSpins::default(),
            gamble: Gamble::default(),
            in_free_spins: false,
            line_win_coins: 0,
            win_coins: 0,
        })
    }

    fn check(&self, choice: &Choice) -> Result<(), ChoiceRefused> {
        if self.awaiting != choice.awaited() {
            return Err(ChoiceRefused::NotAwaited { awaiting: self.awaiting });
        }
        match choice {
            Choice::Pick(vials) => vials.check(VIALS, self.model.vials),
            Choice::Double(Card::RedHeart | Card::BlackSpade) => Ok(()),
            Choice::Double(_) => {
                Err(ChoiceRefused::NotOffered { what: "a guess must be a red heart or a black spade" })
            }
            Choice::Halve => Err(ChoiceRefused::NotOffered {
                what: "this game does not let the player secure half of the gambled amount",
            }),
            _ => Ok(()),
        }
    }

    fn spin(&mut self, draws: &mut Draws, out: &mut Outcome) {
        let shown = self.show(1, SpinKind::Base, draws, out);
        self.line_win_coins = shown.line_coins;
        self.awaiting = if shown.bonus { Awaiting::Pick } else { self.next() };
    }

    fn free_spins(&mut self, draws: &mut Draws, out: &mut Outcome) {
        self.in_free_spins = true;
        for _ in 0..FREE_SPINS_PER_STEP {
            if !self.free_spins.take() {
                break;
            }
            if self.show(u64::from(self.model.multiplier), SpinKind::Free, draws, out).bonus {
                self.awaiting = Awaiting::Pick;
                return;
            }
        }
        self.awaiting = self.next();
    }

    fn vials(&mut self, draws: &mut Draws, out: &mut Outcome) {
        out.prize = Some(match self.model.wheel.turn(self.jackpot_coins, draws) {
            PrizeInfo::Jackpot => {
                out.jackpot = true;
                Prize::Jackpot
            }
            PrizeInfo::FreeSpins(spins) => {
                self.free_spins.award(spins);
                Prize::FreeSpins(spins)
            }
            PrizeInfo::Multiple(multiple) => {
                let coins = u64::from(multiple) * self.bet.bet_coins;
                self.win_coins += coins;
                out.part_coins[if self.in_free_spins { FREE_SPINS } else { BONUS }] += coins;
                Prize::Coins { multiple, coins }
            }
        });
        self.awaiting = self.next();
    }

    fn double(&mut self, guess: Card, draws: &mut Draws, out: &mut Outcome) {
        out.card = Some(self.gamble.turn(guess, draws));
        self.awaiting = if self.gamble.open() { Awaiting::Double } else { Awaiting::Nothing };
    }

    fn win_minor(&self) -> u64 {
        if self.gamble.strip().is_empty() {
            self.bet.worth.minor(self.win_coins)
        } else {
            self.bet.worth.minor(self.win_coins - self.line_win_coins) + self.gamble.at_risk()
        }
    }

    fn next(&mut self) -> Awaiting {
        if self.free_spins.left() > 0 {
            Awaiting::FreeSpins
        } else if self.double_allowed && self.line_win_coins > 0 {
            self.gamble = Gamble::new(self.bet.worth.minor(self.line_win_coins), DOUBLES_MAX);
            Awaiting::Double
        } else {
            Awaiting::Nothing
        }
    }

    fn show(&mut self, multiplier: u64, kind: SpinKind, draws: &mut Draws, out: &mut Outcome) -> Shown {
        let shown = self.model.windows.spin(&self.bet, multiplier, kind, draws, out);
        self.free_spins.award(shown.free_spins_won);
        self.win_coins += shown.win_coins();
        if kind == SpinKind::Base {
            out.part_coins[BASE_LINES] += shown.line_coins;
            out.part_coins[SCATTER] += shown.scatter_coins;
        } else {
            out.part_coins[FREE_SPINS] += shown.win_coins();
        }
        shown
    }
}

impl Round for BewitchedRound<'_> {
    fn awaiting(&self) -> Awaiting {
        self.awaiting
    }

    fn pick(&self) -> Option<PickOffer> {
        (self.awaiting == Awaiting::Pick).then_some(PickOffer { needs: VIALS, of: self.model.vials })
    }

    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused> {
        out.clear();
        self.check(choice)?;
        match *choice {
            Choice::Spin => self.spin(draws, out),
            Choice::Pick(_) => self.vials(draws, out),
            Choice::StartFreeSpins => self.free_spins(draws, out),
            Choice::Double(guess) => self.double(guess, draws, out),
            Choice::Collect | Choice::Halve | Choice::StartFeature => self.awaiting = Awaiting::Nothing,
        }
        out.awaiting = self.awaiting;
        out.free_spins_left = self.free_spins.left();
        out.double_strip = self.gamble.strip();
        out.pick = self.pick();
        out.round_win_coins = self.win_coins;
        out.round_win_minor = self.win_minor();
        Ok(())
    }

    fn reopen(&mut self, _carried: &Carried) {
        self.awaiting = Awaiting::Spin;
        self.free_spins = FreeSpins::default();
        self.gamble = Gamble::default();
        self.in_free_spins = false;
        self.line_win_coins = 0;
        self.win_coins = 0;
    }
}
