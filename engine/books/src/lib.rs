//! The books: an event-sourced ledger as pure folds.
//!
//! A [`Commit`] is one record of the log. Folding commits in log order gives the state of everything, [`Books`]: accounts
//! and their balances, rounds, collections, jackpot pools, exchange rates. The fold is also the judge: a commit that
//! breaks an invariant is [`Refused`] and changes nothing, whoever wrote it.
//!
//! Promises: no I/O, no clock, no randomness, no floating point; the same commits give the same state everywhere.
//! Money is exact ([`Minor`], [`Nano`]) and every movement is a set of postings that sum to zero ([`Posting`]).
//!
//! The floors, each of which uses only those before it: `values`, `events`, `state`, `fold`. `play` stands beside them, on
//! `values` alone.

mod events;
mod fold;
mod play;
mod state;
mod values;

pub use values::account::{Account, Posting};
pub use values::actor::ANYONE;
pub use values::ceiling::Ceiling;
pub use values::currency::Currency;
pub use values::error::MoneyError;
pub use values::head::{End, Head};
pub use values::money::{CoinValue, Minor, Nano, cash};
pub use values::name::{is_id, is_name, is_text, is_visible, number};
pub use values::per_currency::PerCurrency;
pub use values::rate::{FxRate, Rates, contribution};
pub use values::stream::{HOME, NotAStream, StreamId};
pub use values::switch::Switch;

pub use events::campaign::{Campaign, CampaignOver};
pub use events::commit::Commit;
pub use events::event::{ChangeProposed, Event};
pub use events::partition::{MirroredAward, PartitionReported, PoolMirrored, StretchEnd};
pub use events::pool::{Award, CollisionShare, Decision, Hit, PoolStatus, PoolTerms, TakeBack};
pub use events::refused::Refused;
pub use events::round::{Automatic, Contribution, RoundStarted, StepResolved};
pub use events::session::{DayLimits, SessionName, SessionOpened};

pub use state::books::Books;
pub use state::campaign::CampaignState;
pub use state::changes::PendingChange;
pub use state::day::{BREAK_MS, Day};
pub use state::pending::UnpaidAward;
pub use state::player::{Collection, PlayerState};
pub use state::pool::PoolState;
pub use state::round::{OpenRound, SettledRound, Step};
pub use state::seat::Seat;
pub use state::switches::SwitchedOff;

pub use fold::price::{figure, price};
pub use fold::stage::Stage;

pub use play::autospin::{Autospin, AutospinLimits, AutospinStop, FinishedRound, LossStop, WinStop};
pub use play::profile::Profile;
pub use play::quota::Quota;
pub use play::sessions::{SessionId, SessionLimits, SessionOf, SessionRefused, Sessions};
