//! State of a log.

mod age;
mod books;
mod campaign;
mod changes;
mod day;
mod draw;
mod generation;
mod liability;
mod operator;
mod pending;
mod player;
mod players;
mod pool;
mod round;
mod seat;
mod switches;
mod void;
mod void_sums;
mod wallet;
mod watch;

pub use books::Books;
pub use campaign::CampaignState;
pub use changes::PendingChange;
pub use day::{BREAK_MS, Day};
pub use draw::NextDraw;
pub use generation::{Generation, Generations};
pub use pending::UnpaidAward;
pub use player::{Collection, PlayerState};
pub use pool::PoolState;
pub use round::{Drawn, OpenRound, Step};
pub use seat::Seat;
pub use switches::SwitchedOff;
pub use void::{VOID_HOLD_MS, VoidProposal};
pub use void_sums::VoidSum;
pub use wallet::{Debit, Due, Wallet};
pub use watch::{Frozen, Hand};

pub(crate) use books::{AwardKey, CurrentRates, System};
pub(crate) use changes::Changes;
pub(crate) use operator::{Operator, OperatorTotals};
pub(crate) use pending::{Pending, PendingTotals};
pub(crate) use players::Name;
pub(crate) use void_sums::{BetPlace, PendingVoid, RETURN_MINUTES, VoidKey};
