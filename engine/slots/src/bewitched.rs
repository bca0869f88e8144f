//! Bewitched: 5x3 reels, 1 to 15 lines, the witches' battle, Merlin's vials with a progressive
//! jackpot, free spins that double line wins, and the double (rules BW-01 to BW-24).
//!
//! A round: the paid spin; then, while they last, bonus rounds (the player combines three vials)
//! and free spins (which pause for each bonus); then, if the terms keep it open, the double on the
//! paid spin's line win. Which witch accompanies the player is no input here (BW-05).

use std::ops::Range;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use crate::data;
use crate::draws::Draws;
use crate::free_spins::{FREE_SPINS_PER_STEP, FreeSpins};
use crate::gamble::Gamble;
use crate::game::{Awaiting, Choice, ChoiceRefused, Game, GameInfo, PrizeInfo, Round, Terms};
use crate::lines::{LineMask, Lines};
use crate::model::Model;
use crate::outcome::{CELLS_MAX, Card, Outcome, Prize, Spin, Stops, Win, WinKind};
use crate::par::{self, Par};
use crate::reels::{REELS, ROWS_MAX, StopsAt};
use crate::scan::{self, ScanTotals};
use crate::stake::{Stake, StakeRefused};

const DATA: &str = include_str!("../games/bewitched.toml");
const NAME: &str = "bewitched";
const RULES_VERSION: &str = "1.6";
const RULES_DATE: &str = "2016-04-21";

/// Bewitched, rules 1.6.
#[must_use]
pub fn v1_6() -> &'static dyn Game {
    static GAME: LazyLock<Bewitched> = LazyLock::new(|| {
        let data = data::parse(DATA).expect("the embedded data file parses: a test loads it");
        let model = Model::compile(DATA).expect("the embedded data file is proven: a test loads it");
        let info = model.info(&data);
        Bewitched { model, info, hash: Sha256::digest(DATA.as_bytes()).into() }
    });
    &*GAME
}

struct Bewitched {
    model: Model,
    info: GameInfo,
    hash: [u8; 32],
}

impl Game for Bewitched {
    fn name(&self) -> &'static str {
        NAME
    }

    fn rules_version(&self) -> &'static str {
        RULES_VERSION
    }

    fn rules_date(&self) -> &'static str {
        RULES_DATE
    }

    fn model_hash(&self) -> [u8; 32] {
        self.hash
    }

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.model.limits.check(stake)
    }

    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        Ok(Box::new(BewitchedRound::new(&self.model, stake, terms)?))
    }

    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused> {
        par::par(self, &self.model, stake)
    }

    fn cycle(&self) -> u64 {
        self.model.reels.cycle()
    }

    fn scan(&self, lines: u32, range: Range<u64>) -> ScanTotals {
        scan::scan(&self.model, lines, range)
    }
}

/// A round of Bewitched.
#[derive(Debug)]
pub struct BewitchedRound<'a> {
    model: &'a Model,
    lines: LineMask,
    coins_per_line: u64,
    bet_coins: u64,
    /// Coins that count for the jackpot: the bet, or 0 while the pool is closed.
    jackpot_coins: u64,
    double_allowed: bool,
    awaiting: Awaiting,
    free_spins: FreeSpins,
    gamble: Gamble,
    /// What the paid spin won on lines: all that the double may risk.
    line_win_coins: u64,
    win_coins: u64,
}

impl<'a> BewitchedRound<'a> {
    /// Opens a round of the model at a stake, on terms.
    ///
    /// # Errors
    /// The first fault of the stake.
    pub fn new(model: &'a Model, stake: &Stake, terms: &Terms) -> Result<Self, StakeRefused> {
        let bet_coins = u64::from(model.limits.check(stake)?);
        Ok(Self {
            model,
            lines: Lines::first(stake.lines),
            coins_per_line: u64::from(stake.coins_per_line),
            bet_coins,
            jackpot_coins: if terms.jackpot { bet_coins } else { 0 },
            double_allowed: terms.double,
            awaiting: Awaiting::Spin,
            free_spins: FreeSpins::default(),
            gamble: Gamble::default(),
            line_win_coins: 0,
            win_coins: 0,
        })
    }

    /// Checks a choice against what the round waits for, before anything is drawn.
    fn check(&self, choice: &Choice) -> Result<(), ChoiceRefused> {
        let awaited = match choice {
            Choice::Spin => Awaiting::Spin,
            Choice::Vials(_) => Awaiting::Vials,
            Choice::StartFreeSpins => Awaiting::FreeSpins,
            Choice::Double(_) | Choice::Collect => Awaiting::Double,
        };
        if self.awaiting != awaited {
            return Err(ChoiceRefused::NotAwaited { awaiting: self.awaiting });
        }
        if let Choice::Vials(picked) = *choice {
            let vials = self.model.vials;
            if let Some(&vial) = picked.iter().find(|&&vial| vial >= vials) {
                return Err(ChoiceRefused::UnknownVial { vial, vials });
            }
            let [a, b, c] = picked;
            if a == b || a == c {
                return Err(ChoiceRefused::SameVial { vial: a });
            }
            if b == c {
                return Err(ChoiceRefused::SameVial { vial: b });
            }
        }
        Ok(())
    }

    /// The paid spin.
    fn spin(&mut self, draws: &mut Draws, out: &mut Outcome) {
        let shown = self.show(1, false, draws, out);
        self.line_win_coins = shown.line_coins;
        self.awaiting = if shown.bonus { Awaiting::Vials } else { self.next() };
    }

    /// Free spins until they end, a bonus lands, or the step is full.
    fn free_spins(&mut self, draws: &mut Draws, out: &mut Outcome) {
        for _ in 0..FREE_SPINS_PER_STEP {
            if !self.free_spins.take() {
                break;
            }
            if self.show(u64::from(self.model.multiplier), true, draws, out).bonus {
                self.awaiting = Awaiting::Vials;
                return;
            }
        }
        self.awaiting = self.next();
    }

    /// The bonus round. The vials are the player's pleasure: the prize is drawn without them.
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
                let coins = u64::from(multiple) * self.bet_coins;
                self.win_coins += coins;
                Prize::Coins { multiple, coins }
            }
        });
        self.awaiting = self.next();
    }

    /// A card of the double.
    fn double(&mut self, guess: Card, draws: &mut Draws, out: &mut Outcome) {
        let turn = self.gamble.turn(guess, draws);
        self.win_coins = self.win_coins - turn.risked_coins + turn.coins;
        out.card = Some(turn);
        self.awaiting = if self.gamble.open() { Awaiting::Double } else { Awaiting::Nothing };
    }

    /// What follows once no bonus waits.
    fn next(&mut self) -> Awaiting {
        if self.free_spins.left() > 0 {
            Awaiting::FreeSpins
        } else if self.double_allowed && self.line_win_coins > 0 {
            self.gamble = Gamble::of(self.line_win_coins);
            Awaiting::Double
        } else {
            Awaiting::Nothing
        }
    }

    /// Spins the reels, shows the window and books what it wins.
    fn show(&mut self, multiplier: u64, free: bool, draws: &mut Draws, out: &mut Outcome) -> Shown {
        let stops = self.model.reels.spin(draws);
        let wins_from = out.wins.len();
        let mut line_coins = 0;
        let specials = self.model.evaluate(&stops, self.lines, |line, win| {
            let coins = win.pays * self.coins_per_line * multiplier;
            line_coins += coins;
            out.wins.push(Win { kind: WinKind::Line(line), symbol: win.symbol, count: win.count, coins });
        });
        let scatters = &self.model.scatters;
        let scatter_coins = scatters.pays[usize::from(specials.scatters)] * self.bet_coins;
        if scatter_coins > 0 {
            let (symbol, count) = (scatters.symbol, specials.scatters);
            out.wins.push(Win { kind: WinKind::Scatter, symbol, count, coins: scatter_coins });
        }
        let free_spins_won = scatters.free_spins[usize::from(specials.scatters)];
        let bonus = specials.bonuses >= self.model.bonus_needs;
        let win_coins = line_coins + scatter_coins;
        self.free_spins.award(free_spins_won);
        self.win_coins += win_coins;
        let wins = index(wins_from)..index(out.wins.len());
        out.spins.push(Spin {
            free,
            stops: stops_of(&stops),
            rows: index8(self.model.reels.rows()),
            cells: self.cells(&stops),
            multiplier: u32::try_from(multiplier).unwrap_or(u32::MAX),
            wins,
            win_coins,
            free_spins_won,
            bonus,
        });
        Shown { line_coins, bonus }
    }

    fn cells(&self, stops: &StopsAt) -> [u8; CELLS_MAX] {
        let mut cells = [0; CELLS_MAX];
        let rows = self.model.reels.rows();
        let window = self.model.reels.window(stops);
        // Each column is written whole and the next one covers what it wrote too much.
        for (reel, column) in window.iter().enumerate() {
            cells[reel * rows..][..ROWS_MAX].copy_from_slice(column);
        }
        cells[REELS * rows..].fill(0);
        cells
    }
}

/// What the round needs to know of a window that it has just shown.
struct Shown {
    line_coins: u64,
    bonus: bool,
}

impl Round for BewitchedRound<'_> {
    fn awaiting(&self) -> Awaiting {
        self.awaiting
    }

    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused> {
        out.clear();
        self.check(choice)?;
        match *choice {
            Choice::Spin => self.spin(draws, out),
            Choice::Vials(_) => self.vials(draws, out),
            Choice::StartFreeSpins => self.free_spins(draws, out),
            Choice::Double(guess) => self.double(guess, draws, out),
            Choice::Collect => self.awaiting = Awaiting::Nothing,
        }
        out.awaiting = self.awaiting;
        out.free_spins_left = self.free_spins.left();
        out.double_strip = self.gamble.strip();
        out.round_win_coins = self.win_coins;
        Ok(())
    }

    fn reopen(&mut self) {
        self.awaiting = Awaiting::Spin;
        self.free_spins = FreeSpins::default();
        self.gamble = Gamble::default();
        self.line_win_coins = 0;
        self.win_coins = 0;
    }
}

fn stops_of(stops: &StopsAt) -> Stops {
    let mut all = Stops::default();
    for &stop in stops {
        all.push(u16::try_from(stop).unwrap_or(u16::MAX));
    }
    debug_assert_eq!(all.as_slice().len(), REELS);
    all
}

/// An index into a step's wins: 100 windows of at most 17 wins.
#[allow(clippy::cast_possible_truncation)]
const fn index(of: usize) -> u32 {
    of as u32
}

/// Rows of a window: at most four.
#[allow(clippy::cast_possible_truncation)]
const fn index8(of: usize) -> u8 {
    of as u8
}
