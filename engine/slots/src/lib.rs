//! The game mathematics: what a spin shows, what it wins, and what it returns in the long run.
//!
//! Four floors, each standing only on those below it:
//!
//! - [`contract`]: what a game promises, and plain types;
//! - [`parts`]: what games are made of: reels, lines, ways, scatters, features, the sections of a data file;
//! - [`math`]: exact sums over all that the parts can show, proven bounds, and simulation;
//! - [`games`](mod@games): a folder a game, and above them all the list of games.
//!
//! A game is one data file a rules version (`games/*/*.toml`: symbols, strips, paytable, lines, wheel) and one folder
//! that composes shared parts. [`contract::par`] is what a game says of its exact return, derived from the same data;
//! [`math::scan`] enumerates its full cycle through the evaluator that serves players, and [`mod@math::simulate`]
//! plays whole rounds through the code that serves players.
//!
//! Promises: pure and deterministic. A step's outcome is a function of the model, the stake, the
//! terms, the steps before it, its seed and its choice, and of nothing else. Wins are whole coins;
//! cash and currencies are somebody else's. Playing allocates nothing in the steady state.

pub mod contract;
pub mod games;
pub mod math;
pub mod parts;

pub use contract::par;
pub use math::simulate;

pub use contract::carried::{Carried, CarriedScope, Carries};
pub use contract::draws::{Draws, Seed};
pub use contract::game::Game;
pub use contract::highest_win::{CollectedTop, GambleTop, HighestWin, TopWindows};
pub use contract::info::{
    AutoplayLoss, Fact, FeatureCombination, GameInfo, PayRow, PrizeInfo, SpecialInfo, SymbolInfo, SymbolRole, ValueSet,
};
pub use contract::most_expected::MostExpected;
pub use contract::nature::{FEATURES_MAX, Feature, Nature, Sign, Source};
pub use contract::outcome::{
    Awaiting, Card, Mark, MarkKind, MeanCoin, Outcome, PickOffer, Prize, Spin, SpinKind, Win, WinKind,
};
pub use contract::par::{Par, PartName};
pub use contract::pool::{JackpotReturn, OutOfSpan, PoolTerms};
pub use contract::round::{Choice, ChoiceRefused, Picked, Round, Terms};
pub use contract::rounding::CoinFraction;
pub use contract::stake::{Stake, StakeRefused};
pub use games::ladders::{LadderRefused, Ladders};
pub use games::list::{add_games, game, games, latest, latest_games, standard, standard_pool};
pub use games::win_up_to::{OfCurrency, WinUpTo, bought, by_lines, win_up_to};
pub use math::cash::{CashReturn, cash_return};
pub use math::highest_paid::{HighestPaid, Reach, chance_of_gambled};
pub use math::simulate::{Tally, simulate, warm_up};
pub use parts::ladder::{Ladder, LadderData};
pub use parts::worth::CoinWorth;
