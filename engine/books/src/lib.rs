//! The books: what can happen (events), and what follows from it (pure folds).
//!
//! A [`Commit`] is one record of the log. Folding commits in log order gives the state of everything, [`Books`]: accounts
//! and their balances, rounds, collections, jackpot pools, exchange rates. The fold is also the judge: a commit that
//! breaks an invariant is [`Refused`] and changes nothing, whoever wrote it.
//!
//! Promises: no I/O, no clock, no randomness, no floating point; the same commits give the same state everywhere.
//! Money is exact ([`Minor`], [`Nano`]) and every movement is a set of postings that sum to zero ([`Posting`]).

mod events;
mod fold;
mod play;
mod state;
mod values;

pub use events::commit::Commit;
pub use events::event::{
    ANYONE, Automatic, Award, CollisionShare, Contribution, Event, PoolTerms, RoundStarted, StepResolved,
};
pub use events::partition::{MirroredAward, PartitionReported, PoolMirrored, StretchEnd};
pub use events::refused::Refused;
pub use fold::admission::Ceiling;
pub use fold::price::{TakenBack, figure, price, take_back};
pub use fold::stage::Stage;
pub use play::autospin::{Autospin, AutospinLimits, AutospinStop, FinishedRound, LossStop, WinStop};
pub use play::profile::Profile;
pub use play::quota::Quota;
pub use play::sessions::{SessionId, SessionLimits, SessionName, SessionOf, SessionRefused, Sessions};
pub use state::books::{Books, End, Head};
pub use state::campaign::{Campaign, CampaignOver, CampaignState};
pub use state::changes::{ChangeProposed, PendingChange};
pub use state::day::{BREAK_MS, Day, DayLimits, Rates};
pub use state::player::{Collection, OpenRound, PlayerState, SettledRound, Step};
pub use state::pool::{Decision, Hit, PoolState, PoolStatus, TakeBack, UnpaidAward};
pub use state::seat::{Seat, SessionOpened};
pub use state::switches::{Switch, SwitchedOff};
pub use values::account::{Account, Posting};
pub use values::currency::Currency;
pub use values::money::{CoinValue, Minor, MoneyError, Nano, cash};
pub use values::name::{is_id, is_name, is_text, is_visible, number};
pub use values::per_currency::PerCurrency;
pub use values::rate::{FxRate, contribution};
pub use values::stream::{HOME, NotAStream, StreamId};
