use super::model::{
    BASE_LINES, CELLS, EXPLOSION, FREE_SPINS, FreeFeature, HIGH_SYMBOLS, MEGA_WILD, MULTIPLIER, MegaWilds, Model,
    RANDOM_WILDS, ROWS, Respin,
};
use super::potions::{Feature, Potion, Shelf};
use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::outcome::{Awaiting, Mark, MarkKind, Outcome, SpinKind, Stops};
use crate::contract::round::{Choice, ChoiceRefused, Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::free_spins::FreeSpins;
use crate::parts::placed::{Placed, Window, distinct};
use crate::parts::windows::LineBet;

/// Maximum number of spins and respins in a step; the next step contains the others.
const WINDOWS_PER_STEP: usize = 100;

pub(super) const CARRIED: [&str; 3] = ["potion_1", "potion_2", UNLOCKED];
pub(super) const UNLOCKED: &str = "unlocked";

#[derive(Debug)]
pub struct WitchRound<'a> {
    model: &'a Model,
    pub(super) bet: LineBet,
    awaiting: Awaiting,
    shelf: Shelf,
    /// Win multiplier of the remaining respins; `None` if there are none.
    respins: Option<u64>,
    free_spins: FreeSpins,
    in_free_spins: bool,
    win_coins: u64,
}

impl<'a> WitchRound<'a> {
    pub fn new(model: &'a Model, stake: &Stake, terms: &Terms) -> Result<Self, StakeRefused> {
        let bet_coins = u64::from(model.limits.check(stake)?);
        Ok(Self {
            model,
            bet: LineBet::new(stake, terms, bet_coins),
            awaiting: Awaiting::Spin,
            shelf: shelf(&terms.carried),
            respins: None,
            free_spins: FreeSpins::default(),
            in_free_spins: false,
            win_coins: 0,
        })
    }

    fn spin(&mut self, draws: &mut Draws, out: &mut Outcome) {
        let before = self.shelf;
        let shown = self.model.base.spin(&self.bet, 1, SpinKind::Base, draws, out);
        self.book(BASE_LINES, shown.line_coins, out);
        self.free_spins.award(shown.free_spins_won);
        if let Some(combination) = self.collect(draws, out) {
            match self.shelf.trigger(combination) {
                Some(Feature::HighSymbols) => self.respin(Respin::HighSymbols, 1, HIGH_SYMBOLS, draws, out),
                Some(Feature::RandomWilds) => self.respin(Respin::RandomWilds, 1, RANDOM_WILDS, draws, out),
                Some(Feature::MegaWild) => self.respin(Respin::MegaWild, 1, MEGA_WILD, draws, out),
                Some(Feature::Multiplier) => {
                    self.respins = Some(self.multiplier(draws));
                    self.respin_until_a_win(draws, out);
                }
                None if self.model.explosion.draw(draws) => self.explode(draws, out),
                None => {}
            }
        }
        if self.shelf != before {
            out.carried = Some(carried(&self.shelf));
        }
    }

    fn collect(&mut self, draws: &mut Draws, out: &mut Outcome) -> Option<[Potion; 3]> {
        let mut combination = None;
        for reel in 1..=3usize {
            if !self.model.potion_chance.draw(draws) {
                continue;
            }
            let row = draws.below(4) as usize;
            let potion = self.model.colours.draw(draws);
            let symbol = self.model.potions[potion as usize - 1];
            out.marks.push(Mark { cell: index8(reel * ROWS + row), kind: MarkKind::Potion, value: u32::from(symbol) });
            combination = combination.or(self.shelf.collect(potion));
        }
        if let Some(spin) = out.spins.last_mut() {
            spin.marks.end = u32::try_from(out.marks.len()).unwrap_or(u32::MAX);
        }
        combination
    }

    fn multiplier(&self, draws: &mut Draws) -> u64 {
        u64::from(self.model.multipliers.draw(draws))
    }

    pub(super) fn respin(
        &mut self,
        respin: Respin,
        multiplier: u64,
        part: usize,
        draws: &mut Draws,
        out: &mut Outcome,
    ) {
        let marks_from = out.marks.len();
        let mut stops = Stops::default();
        let (kind, window) = match respin {
            Respin::HighSymbols => (SpinKind::HighSymbols, self.model.high_window(draws)),
            Respin::RandomWilds => {
                let mut window = self.reels(draws, &mut stops);
                let wilds = self.model.random_wilds.draw(draws) as usize;
                let mut cells = [0; CELLS];
                let wilds = distinct(wilds, CELLS, draws, &mut cells);
                for &cell in &cells[..wilds] {
                    window[usize::from(cell) / ROWS][usize::from(cell) % ROWS] = self.model.wild;
                    out.marks.push(Mark { cell, kind: MarkKind::PlacedWild, value: 1 });
                }
                (SpinKind::RandomWilds, window)
            }
            Respin::MegaWild => {
                let mut window = self.reels(draws, &mut stops);
                let places = match self.model.one_mega_wild.draw(draws) {
                    true => &self.model.three_by_three,
                    false => &self.model.two_by_two,
                };
                let place = draws.below(u32::try_from(places.len()).unwrap_or(1)) as usize;
                lay(&places[place], self.model.wild, &mut window, out);
                (SpinKind::MegaWild, window)
            }
        };
        let placed = Placed { kind, multiplier, stops, marks_from };
        let coins = self.model.respin.show_placed(&self.bet, &window, &placed, out);
        self.book(part, coins, out);
    }

    fn reels(&self, draws: &mut Draws, stops: &mut Stops) -> Window {
        let at = self.model.respin.reels.spin(draws);
        for stop in at {
            stops.push(u16::try_from(stop).unwrap_or(u16::MAX));
        }
        self.model.respin.reels.window(&at)
    }

    fn respin_until_a_win(&mut self, draws: &mut Draws, out: &mut Outcome) {
        while let Some(multiplier) = self.respins.filter(|_| out.spins.len() < WINDOWS_PER_STEP) {
            let shown = self.model.respin.spin(&self.bet, multiplier, SpinKind::MultiplierRespin, draws, out);
            self.book(MULTIPLIER, shown.line_coins, out);
            if shown.line_coins > 0 {
                self.respins = None;
            }
        }
    }

    /// See WF-13.
    pub(super) fn explode(&mut self, draws: &mut Draws, out: &mut Outcome) {
        let Some(spin) = out.spins.last() else { return };
        let (stops, mut window) = (spin.stops, Window::default());
        for (column, cells) in window.iter_mut().zip(spin.cells.chunks(ROWS)) {
            column.copy_from_slice(cells);
        }
        let marks_from = out.marks.len();
        let questions = self.model.question_marks.draw(draws) as usize;
        let mut cells = [0; CELLS];
        let questions = distinct(questions, CELLS, draws, &mut cells);
        for &cell in &cells[..questions] {
            let symbol = self.model.high_symbols.draw(draws);
            window[usize::from(cell) / ROWS][usize::from(cell) % ROWS] = symbol;
            out.marks.push(Mark { cell, kind: MarkKind::Question, value: u32::from(symbol) });
        }
        let placed = Placed { kind: SpinKind::Explosion, multiplier: 1, stops, marks_from };
        let coins = self.model.base.show_placed(&self.bet, &window, &placed, out);
        self.book(EXPLOSION, coins, out);
    }

    fn free_spins(&mut self, draws: &mut Draws, out: &mut Outcome) {
        self.in_free_spins = true;
        while out.spins.len() < WINDOWS_PER_STEP && self.respins.is_none() && self.free_spins.take() {
            let shown = self.model.free.spin(&self.bet, 1, SpinKind::Free, draws, out);
            self.book(FREE_SPINS, shown.line_coins, out);
            self.free_spins.award(shown.free_spins_won);
            if self.model.free_feature_chance.draw(draws) {
                match self.model.free_features.draw(draws) {
                    FreeFeature::Respin { respin, multiplied } => {
                        let multiplier = if multiplied { self.multiplier(draws) } else { 1 };
                        self.respin(respin, multiplier, FREE_SPINS, draws, out);
                    }
                    FreeFeature::Multiplier => {
                        self.respins = Some(self.multiplier(draws));
                        self.respin_until_a_win(draws, out);
                    }
                }
            }
        }
    }

    /// Adds a win to the round, and to the given part of the game's return. Wins in free spins are added to the free-spin
    /// part instead of `part`.
    fn book(&mut self, part: usize, coins: u64, out: &mut Outcome) {
        self.win_coins += coins;
        out.part_coins[if self.in_free_spins { FREE_SPINS } else { part }] += coins;
    }

    fn next(&self) -> Awaiting {
        match (self.respins, self.free_spins.left()) {
            (Some(_), _) => Awaiting::Feature,
            (None, 0) => Awaiting::Nothing,
            (None, _) => Awaiting::FreeSpins,
        }
    }
}

impl Round for WitchRound<'_> {
    fn awaiting(&self) -> Awaiting {
        self.awaiting
    }

    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused> {
        out.clear();
        match (self.awaiting, choice) {
            (Awaiting::Spin, Choice::Spin) => self.spin(draws, out),
            (Awaiting::Feature, Choice::StartFeature) => self.respin_until_a_win(draws, out),
            (Awaiting::FreeSpins, Choice::StartFreeSpins) => self.free_spins(draws, out),
            (awaiting, _) => return Err(ChoiceRefused::NotAwaited { awaiting }),
        }
        self.awaiting = self.next();
        out.awaiting = self.awaiting;
        out.free_spins_left = self.free_spins.left();
        out.round_win_coins = self.win_coins;
        out.round_win_minor = self.bet.worth.minor(self.win_coins);
        Ok(())
    }

    fn reopen(&mut self, carried: &Carried) {
        self.awaiting = Awaiting::Spin;
        self.shelf = shelf(carried);
        self.respins = None;
        self.free_spins = FreeSpins::default();
        self.in_free_spins = false;
        self.win_coins = 0;
    }
}

fn lay(wilds: &MegaWilds, wild: u8, window: &mut Window, out: &mut Outcome) {
    for cell in (0..CELLS).filter(|cell| wilds.cells >> cell & 1 == 1) {
        window[cell / ROWS][cell % ROWS] = wild;
    }
    for cell in wilds.corners.into_iter().flatten() {
        out.marks.push(Mark { cell, kind: MarkKind::PlacedWild, value: wilds.side });
    }
}

pub(super) fn shelf(carried: &Carried) -> Shelf {
    let [potion_1, potion_2, unlocked, ..] = carried.0;
    Shelf::new(potion_1, potion_2, unlocked)
}

pub(super) fn carried(shelf: &Shelf) -> Carried {
    let mut carried = Carried::default();
    carried.0[..CARRIED.len()].copy_from_slice(&shelf.carried());
    carried
}

#[allow(clippy::cast_possible_truncation)]
const fn index8(of: usize) -> u8 {
    of as u8
}
