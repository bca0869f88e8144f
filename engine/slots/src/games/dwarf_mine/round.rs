//! A round consists of the paid spin, free spins, and collections in the order green, yellow, blue, red (DM-13). One step
//! contains all free spins of the round, or all spins of a collection. The win of each window is rounded separately (DM-17).

use super::model::{BASE_WAYS, BONUS_REELS, COLLECTIONS, FREE_SPINS, Model, ROWS};
use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::outcome::{Awaiting, CELLS_MAX, Mark, MarkKind, MeanCoin, Outcome, Spin, SpinKind, Win, WinKind};
use crate::contract::round::{Choice, ChoiceRefused, Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::collection::Collections;
use crate::parts::expansion::{CRYSTALS, Drawn, Landed};
use crate::parts::reels::{REELS, StopsAt};
use crate::parts::ways::{Counts, WaysReels};
use crate::parts::windows::{index, index8, stops_of};
use crate::parts::worth::CoinWorth;

#[derive(Debug)]
pub struct DwarfMineRound<'a> {
    model: &'a Model,
    coin_micros: u64,
    minor_micros: u64,
    worth: CoinWorth,
    collections: Collections,
    free_spins: bool,
    completed: [Option<MeanCoin>; CRYSTALS],
    awaiting: Awaiting,
    win_coins: u64,
    win_minor: u64,
}

impl<'a> DwarfMineRound<'a> {
    pub fn new(model: &'a Model, stake: &Stake, terms: &Terms) -> Result<Self, StakeRefused> {
        model.limits.check(stake)?;
        Ok(Self {
            model,
            coin_micros: stake.coin_value_micros,
            minor_micros: terms.minor_micros,
            worth: CoinWorth::new(stake.coin_value_micros, terms.minor_micros),
            collections: Collections::from_carried(&terms.carried),
            free_spins: false,
            completed: [None; CRYSTALS],
            awaiting: Awaiting::Spin,
            win_coins: 0,
            win_minor: 0,
        })
    }

    fn spin(&mut self, draws: &mut Draws, out: &mut Outcome) {
        let before = self.collections;
        self.collections.give(u64::from(self.model.gift));
        let stops = self.model.base.spin(draws);
        let window = self.expanded(&stops, draws, out);
        let bonuses = window.rows - ROWS;
        self.free_spins = bonuses == BONUS_REELS.len();
        let mut won = if self.free_spins { self.model.free_spins } else { 0 };
        for colour in window.landed.kinds() {
            let needs = u64::from(self.model.needs);
            let mean = self.collections.collect(colour, needs, self.coin_micros);
            won += if mean.is_some() { self.model.collection_spins } else { 0 };
            self.completed[colour] = mean;
        }
        out.carried = (self.collections != before).then(|| self.collections.carried());
        out.part_coins[BASE_WAYS] = self.show(SpinKind::Base, self.worth, &stops, &window, out);
        if let Some(spin) = out.spins.last_mut() {
            spin.free_spins_won = won;
        }
    }

    fn series(&mut self, draws: &mut Draws, out: &mut Outcome) {
        let model = self.model;
        if std::mem::take(&mut self.free_spins) {
            for _ in 0..model.free_spins {
                out.part_coins[FREE_SPINS] += self.free_spin(SpinKind::Free, &model.free, self.worth, draws, out);
            }
        } else if let Some(colour) = self.completed.iter().position(Option::is_some) {
            out.mean_coin = self.completed[colour].take();
            let worth = out.mean_coin.map_or(self.worth, |mean| CoinWorth::mean(mean, self.minor_micros));
            let kind = SpinKind::Collection(model.super_high[colour]);
            for _ in 0..model.collection_spins {
                out.part_coins[COLLECTIONS] += self.free_spin(kind, &model.collection[colour], worth, draws, out);
            }
        }
    }

    fn free_spin(
        &mut self,
        kind: SpinKind,
        reels: &WaysReels,
        worth: CoinWorth,
        draws: &mut Draws,
        out: &mut Outcome,
    ) -> u64 {
        let stops = reels.spin(draws);
        let mut window = Window::new(reels.rows());
        for (reel, column) in reels.window(&stops).iter().enumerate() {
            window.counts[reel] = column.counts;
            window.cells[reel * window.rows..][..window.rows].copy_from_slice(&column.cells);
        }
        self.show(kind, worth, &stops, &window, out)
    }

    fn expanded(&self, stops: &StopsAt, draws: &mut Draws, out: &mut Outcome) -> Window {
        let columns = self.model.base.window(stops);
        let bonuses: u8 = BONUS_REELS.iter().map(|&reel| columns[reel].counts.count(self.model.bonus)).sum();
        let mut window = Window::new(ROWS + usize::from(bonuses));
        for (reel, column) in columns.iter().enumerate() {
            let top = reel * window.rows;
            window.cells[top..][..ROWS].copy_from_slice(&column.cells[..ROWS]);
            window.counts[reel] = column.counts;
            for cell in top + ROWS..top + window.rows {
                window.cells[cell] = match self.model.expansion.cell(&mut window.landed, draws) {
                    Drawn::Symbol(symbol) => {
                        window.counts[reel] = window.counts[reel].with(symbol);
                        symbol
                    }
                    Drawn::Crystal(colour) => {
                        let crystal = self.model.crystals[colour];
                        out.marks.push(Mark { cell: index8(cell), kind: MarkKind::Crystal, value: u32::from(crystal) });
                        crystal
                    }
                };
            }
        }
        window
    }

    fn show(&mut self, kind: SpinKind, worth: CoinWorth, stops: &StopsAt, window: &Window, out: &mut Outcome) -> u64 {
        let wins_from = index(out.wins.len());
        let mut win_coins = 0;
        self.model.ways.evaluate(&window.counts, |win| {
            win_coins += win.coins;
            let (symbol, count, coins) = (win.symbol, win.count, win.coins);
            out.wins.push(Win { kind: WinKind::Ways(win.ways), symbol, count, coins });
        });
        let win_minor = worth.minor(win_coins);
        self.win_coins += win_coins;
        self.win_minor = self.win_minor.saturating_add(win_minor);
        out.spins.push(Spin {
            kind,
            stops: stops_of(stops),
            reels: index8(REELS),
            rows: index8(window.rows),
            cells: window.cells,
            multiplier: 1,
            wins: wins_from..index(out.wins.len()),
            marks: 0..index(out.marks.len()),
            win_coins,
            win_minor,
            free_spins_won: 0,
            bonus: false,
        });
        win_coins
    }

    fn free_spins_left(&self) -> u32 {
        match (self.free_spins, self.completed.iter().any(Option::is_some)) {
            (true, _) => self.model.free_spins,
            (false, true) => self.model.collection_spins,
            (false, false) => 0,
        }
    }
}

struct Window {
    rows: usize,
    cells: [u8; CELLS_MAX],
    counts: [Counts; REELS],
    landed: Landed,
}

impl Window {
    fn new(rows: usize) -> Self {
        Self { rows, cells: [0; CELLS_MAX], counts: [Counts::default(); REELS], landed: Landed::default() }
    }
}

impl Round for DwarfMineRound<'_> {
    fn awaiting(&self) -> Awaiting {
        self.awaiting
    }

    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused> {
        out.clear();
        match (choice, self.awaiting) {
            (Choice::Spin, Awaiting::Spin) => self.spin(draws, out),
            (Choice::StartFreeSpins, Awaiting::FreeSpins) => self.series(draws, out),
            (_, awaiting) => return Err(ChoiceRefused::NotAwaited { awaiting }),
        }
        out.free_spins_left = self.free_spins_left();
        self.awaiting = if out.free_spins_left > 0 { Awaiting::FreeSpins } else { Awaiting::Nothing };
        out.awaiting = self.awaiting;
        out.round_win_coins = self.win_coins;
        out.round_win_minor = self.win_minor;
        Ok(())
    }

    fn reopen(&mut self, carried: &Carried) {
        self.collections = Collections::from_carried(carried);
        self.free_spins = false;
        self.completed = [None; CRYSTALS];
        self.awaiting = Awaiting::Spin;
        self.win_coins = 0;
        self.win_minor = 0;
    }
}
