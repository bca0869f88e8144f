//! The contract between games and those who play, describe or audit them.

use crate::contract::carried::{Carried, Carries};
use crate::contract::highest_win::HighestWin;
use crate::contract::info::GameInfo;
use crate::contract::par::{Par, PartName};
use crate::contract::round::{Round, Terms};
use crate::contract::rounding::{CoinFraction, Rounding};
use crate::contract::stake::{Stake, StakeRefused};

/// One version of one game.
pub trait Game: Sync + Send {
    /// The game's name in requests and in the log, such as `bewitched`.
    fn name(&self) -> &'static str;
    /// The version of its rules, such as `1.6`.
    fn rules_version(&self) -> &'static str;
    /// The date of those rules, ISO 8601.
    fn rules_date(&self) -> &'static str;
    /// SHA-256 of the bytes of its data file.
    fn model_hash(&self) -> [u8; 32];
    /// The description for players and operators (PL-13).
    fn info(&self) -> &GameInfo;
    /// The coins that the stake costs in all.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused>;
    /// Opens a round, which awaits [`Choice::Spin`].
    ///
    /// # Errors
    /// The first fault of the stake.
    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused>;
    /// The exact mathematics of the game at a stake. Costs tens of milliseconds: cache it.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn par(&self, stake: &Stake) -> Result<Par, StakeRefused>;
    /// The highest win of a round at a stake (WF-04). Costs up to seconds: cache it.
    ///
    /// # Errors
    /// The first fault of the stake.
    fn highest_win(&self, stake: &Stake) -> Result<HighestWin, StakeRefused>;
    /// The parts of the return that the game itself pays, in the order of [`Outcome::part_coins`]; at most
    /// [`crate::contract::outcome::PARTS_MAX`]. [`Par::parts`] starts with the same.
    fn parts(&self) -> &'static [PartName];
    /// What rounding does to the return in cash at a coin value, where the game's rules say how wins are rounded (DM-17).
    fn rounding(&self, _coin: CoinFraction) -> Option<Rounding> {
        None
    }
    /// What the player carries from round to round.
    fn carries(&self) -> Carries {
        Carries::NOTHING
    }
    /// The name of a special win of so many total bets, such as GRAND (ME-05); `None` where the game has no such.
    fn special_win(&self, _bets: u32) -> Option<&str> {
        None
    }
    /// Hours after a round's latest step in which its player can see it again, go on with it or skip to its result; then
    /// it's resolved by [`Round::automatic`] (PL-03). `None` where the rules name no time: it waits for the player.
    fn interruption_hours(&self) -> Option<u32> {
        None
    }
    /// What the player carries once a settled round is void (PL-04) that brought them from `before` to `after`, where
    /// later rounds have brought them to `now`, which is not `after`: what the round gave is taken back and what it took
    /// is given back, within what the game lets a player carry. What later rounds have used up stays used up.
    fn without(&self, now: &Carried, before: &Carried, after: &Carried) -> Carried {
        now.without(before, after)
    }
}
