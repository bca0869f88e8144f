//! The game mathematics: what a spin shows, what it wins, and what it returns in the long run.
//!
//! A game is one data file a rules version (`games/*/*.toml`: symbols, strips, paytable, lines, wheel) and one short
//! module that composes shared parts: [`draws`], [`reels`], [`lines`], [`scatters`], [`wheel`],
//! [`free_spins`], [`gamble`], [`stake`]. [`par`] derives a game's exact return from the same data,
//! [`scan`] enumerates its full cycle through the evaluator that serves players, and [`mod@simulate`]
//! plays whole rounds through the code that serves players.
//!
//! Promises: pure and deterministic. A step's outcome is a function of the model, the stake, the
//! terms, the steps before it, its seed and its choice, and of nothing else. Wins are whole coins;
//! cash and currencies are somebody else's. Playing allocates nothing in the steady state.

pub mod bewitched;
pub mod carried;
pub mod cash;
pub mod collection;
pub mod data;
pub mod draws;
pub mod dwarf_mine;
pub mod expansion;
pub mod free_spins;
pub mod gamble;
pub mod game;
pub mod highest;
pub mod hold_and_win;
pub mod ladders;
pub mod lines;
pub mod moments;
pub mod mystery_elves;
pub mod neptune;
pub mod outcome;
pub mod par;
pub mod picks;
pub mod placed;
pub mod reels;
pub mod scan;
pub mod scatters;
pub mod simulate;
pub mod stake;
pub mod ways;
pub mod ways_moments;
pub mod ways_residues;
pub mod weights;
pub mod wheel;
pub mod windows;
pub mod witch_feature;
pub mod worth;

pub use carried::{Carried, CarriedScope, Carries};
pub use cash::{CashReturn, CoinRefused, cash_return};
pub use draws::{Draws, Seed};
pub use game::{
    Autoplay, AutoplayLoss, Awaiting, Choice, ChoiceRefused, Fact, Game, GameInfo, PartName, Picked, Round,
    SpecialInfo, Terms, game, games, latest, latest_games,
};
pub use highest::HighestWin;
pub use ladders::{Ladder, LadderData, LadderRefused, Ladders, LaddersData};
pub use outcome::{
    Card, CardTurn, Mark, MarkKind, MeanCoin, Outcome, PickOffer, Prize, Reveal, Spin, SpinKind, Stops, Strip, Win,
    WinKind,
};
pub use par::Par;
pub use simulate::{Tally, simulate, warm_up};
pub use stake::{Stake, StakeRefused};
pub use worth::CoinWorth;
