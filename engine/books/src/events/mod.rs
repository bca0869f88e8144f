//! The contents of a log: commits, their events with all parts, and the reasons why the books refuse a commit.

mod campaign;
mod commit;
mod draw;
mod event;
mod internal;
mod partition;
mod pool;
mod refused;
mod round;
mod session;
mod void;
mod wallet;

pub use campaign::{Campaign, CampaignOver, LiabilityReserved};
pub use commit::Commit;
pub use draw::{Draw, DrawSealed, GenerationBegun, SealReason, StartEvidence};
pub use event::{ChangeProposed, Event};
pub use internal::InternalRequest;
pub use partition::{MirroredAward, PartitionReported, PoolMirrored, StretchEnd};
pub use pool::{Award, CollisionShare, Decision, Hit, PoolStatus, PoolTerms, TakeBack};
pub use refused::Refused;
pub use round::{Automatic, Contribution, LoggedTerms, RoundStarted, RoundTerms, StepResolved};
pub use session::{DayLimits, SessionName, SessionOpened};
pub use void::{Incident, ReportedVoids, Reversal, RoundJackpot, SettledRound, VoidReturn, VoidedJackpot};
pub use wallet::{DebitAsked, DebitFacts, WalletAnswer};
