//! Event-sourced state of accounts, rounds and pools: pure functions without I/O, clock, randomness or floating point.
//!
//! Folding [`Commit`]s in log order gives [`Books`]. A commit that breaks an invariant is [`Refused`]. Amounts are
//! exact ([`Minor`], [`Nano`]), and postings sum to zero ([`Posting`]).
//! Each module uses only modules before it: `values`, `events`, `statement`, `play`, `state`, `fold`.

mod events;
mod fold;
mod play;
mod state;
mod statement;
mod values;

pub use events::{
    Automatic, Award, BaseConfirmed, BaseTaken, Campaign, CampaignOver, ChangeProposed, CollisionShare, Commit,
    ConfigurationReloaded, Contribution, DayLimits, DebitAsked, DebitFacts, Decision, Draw, DrawSealed, Event,
    GenerationBegun, Hit, Incident, InternalRequest, LiabilityReserved, LogRestored, LoggedTerms, MirroredAward,
    PartitionReported, PoolMirrored, PoolStatus, PoolTerms, Refused, ReportedVoids, Reversal, RoundJackpot,
    RoundStarted, RoundTerms, SealReason, SessionName, SessionOpened, SettledRound, StartEvidence, StepResolved,
    StretchEnd, TakeBack, VoidReturn, VoidedJackpot, WalletAnswer,
};
pub use fold::{CommonState, Left, Share, Stage, Subject, Totals, figure, price};
pub use play::{
    Autospin, AutospinLimits, AutospinStop, FinishedRound, LossStop, Profile, Quota, SessionId, SessionLimits,
    SessionOf, SessionRefused, Sessions, WinStop,
};
pub use smol_str::SmolStr;
pub use state::{
    BREAK_MS, Books, CampaignState, Collection, Day, Debit, Drawn, DueKind, Frozen, Generation, Generations, Hand,
    NextDraw, NotCanonical, OpenRound, PendingChange, PlayerState, PoolState, ReportedBalance, Restores, Seat,
    StateDigest, Step, SwitchedOff, UnpaidAward, UnpaidCredit, VOID_HOLD_MS, VoidProposal, VoidSum, Wallet,
};
pub use statement::{
    Bet, Dues, Revenue, RevenueKey, RevenueSums, RoundKey, Statement, Transaction, TransactionKind, UnknownBet,
    add_due, due_change, rounds_named,
};
pub use values::{
    ANYONE, Account, Ceiling, CoinValue, Currency, Dealt, DrawName, End, Epoch, FxRate, HOME, Head, Minor, MoneyError,
    Nano, NotAStream, PerCurrency, Posting, Rates, RecordHash, SIGNAL, Salt, Seal, StreamId, Switch, cash,
    contribution, date, digits, draw, is_id, is_name, is_opaque_id, is_text, is_visible, number,
};
