mod autospin;
mod profile;
mod quota;
mod sessions;

pub use autospin::{Autospin, AutospinLimits, AutospinStop, FinishedRound, LossStop, WinStop};
pub use profile::Profile;
pub use quota::Quota;
pub use sessions::{SessionId, SessionLimits, SessionOf, SessionRefused, Sessions};
