//! Mathematics of the games: spins, wins and exact returns.
//!
//! - [`contract`]: traits and plain data types of a game
//! - [`parts`]: reels, lines, ways, features, sections of a data file
//! - [`math`]: exact sums over all outcomes, proven bounds, simulation
//! - [`games`](mod@games): one folder per game, with a data file per rules version
//!
//! Each module depends only on modules named earlier in this list.

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
pub use games::computed::{usual_par, usual_stake};
pub use games::ladders::{LadderRefused, Ladders};
pub use games::list::{add_games, game, games, latest, latest_games, standard, standard_pool};
pub use games::win_up_to::{OfCurrency, WinUpTo, bought, by_lines, win_up_to};
pub use math::cash::{CashReturn, cash_return};
pub use math::highest_paid::{HighestPaid, Reach, chance_of_gambled};
pub use math::simulate::{Tally, simulate, warm_up};
pub use parts::ladder::{Ladder, LadderData};
pub use parts::worth::CoinWorth;
