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
//! `values` alone, and `statement`, on `values` and `events`.

mod events;
mod fold;
mod play;
mod state;
mod statement;
mod values;

pub use events::{
    Automatic, Award, Campaign, CampaignOver, ChangeProposed, CollisionShare, Commit, Contribution, DayLimits,
    DebitAsked, DebitFacts, Decision, Draw, DrawSealed, Event, GenerationBegun, Hit, Incident, InternalRequest,
    LiabilityReserved, LoggedTerms, MirroredAward, PartitionReported, PoolMirrored, PoolStatus, PoolTerms, Refused,
    ReportedVoids, Reversal, RoundJackpot, RoundStarted, RoundTerms, SealReason, SessionName, SessionOpened,
    SettledRound, StartEvidence, StepResolved, StretchEnd, TakeBack, VoidReturn, VoidedJackpot, WalletAnswer,
};
pub use fold::{Left, Share, Shared, Stage, Subject, Totals, figure, price};
pub use play::{
    Autospin, AutospinLimits, AutospinStop, FinishedRound, LossStop, Profile, Quota, SessionId, SessionLimits,
    SessionOf, SessionRefused, Sessions, WinStop,
};
/// Names in events and states: one of up to 23 bytes takes no memory of its own, a longer one is shared by its clones.
pub use smol_str::SmolStr;
pub use state::{
    BREAK_MS, Books, CampaignState, Collection, Day, Debit, Drawn, Due, Frozen, Generation, Generations, Hand,
    NextDraw, OpenRound, PendingChange, PlayerState, PoolState, Seat, Step, SwitchedOff, UnpaidAward, VOID_HOLD_MS,
    VoidProposal, VoidSum, Wallet,
};
pub use statement::{
    Bet, Dues, Revenue, RevenueKey, RevenueSums, RoundKey, Statement, Transaction, TransactionKind, UnknownBet,
    add_due, due_change, rounds_named,
};
pub use values::{
    ANYONE, Account, Ceiling, CoinValue, Currency, Dealt, DrawName, End, Epoch, FxRate, HOME, Head, Minor, MoneyError,
    Nano, NotAStream, PerCurrency, Posting, Rates, RecordHash, Salt, Seal, StreamId, Switch, cash, contribution, date,
    digits, draw, is_id, is_name, is_text, is_visible, number,
};
