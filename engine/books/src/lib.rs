//! The books: what can happen (events), and what follows from it (pure folds).
//!
//! A [`Commit`] is one record of the log. Folding commits in log order gives the state of everything, [`Books`]: accounts
//! and their balances, rounds, collections, jackpot pools, exchange rates. The fold is also the judge: a commit that
//! breaks an invariant is [`Refused`] and changes nothing, whoever wrote it.
//!
//! Promises: no I/O, no clock, no randomness, no floating point; the same commits give the same state everywhere.
//! Money is exact ([`Minor`], [`Nano`]) and every movement is a set of postings that sum to zero ([`Posting`]).

mod account;
mod apply;
mod autospin;
mod books;
mod campaign;
mod ceiling;
mod change;
mod commit;
mod currency;
mod day;
mod decimal;
mod event;
mod money;
mod name;
mod partition;
mod per_currency;
mod player;
mod players;
mod pool;
mod price;
mod profile;
mod quota;
mod rate;
mod refused;
mod seat;
mod session;
mod stage;
mod steward;
mod stream;
mod switch;

pub use account::{Account, Posting};
pub use autospin::{Autospin, AutospinLimits, AutospinStop, FinishedRound, LossStop, WinStop};
pub use books::{Books, End, Head};
pub use campaign::{Campaign, CampaignOver, CampaignState};
pub use ceiling::Ceiling;
pub use change::{ChangeProposed, PendingChange};
pub use commit::Commit;
pub use currency::Currency;
pub use day::{BREAK_MS, Day, DayLimits, Rates};
pub use event::{ANYONE, Automatic, Award, CollisionShare, Contribution, Event, PoolTerms, RoundStarted, StepResolved};
pub use money::{CoinValue, Minor, MoneyError, Nano, cash};
pub use name::{is_id, is_name, is_text, is_visible, number};
pub use partition::{MirroredAward, PartitionReported, PoolMirrored, StretchEnd};
pub use per_currency::PerCurrency;
pub use player::{Collection, OpenRound, PlayerState, SettledRound, Step};
pub use pool::{Decision, Hit, PoolState, PoolStatus, TakeBack, UnpaidAward};
pub use price::{TakenBack, figure, price, take_back};
pub use profile::Profile;
pub use quota::Quota;
pub use rate::{FxRate, contribution};
pub use refused::Refused;
pub use seat::{Seat, SessionOpened};
pub use session::{SessionId, SessionLimits, SessionName, SessionOf, SessionRefused, Sessions};
pub use stage::Stage;
pub use stream::{HOME, NotAStream, StreamId};
pub use switch::{Switch, SwitchedOff};
