//! Bounds of requests' fields, used by the checks and by the OpenAPI document.

/// Maximum characters of a reason.
pub const REASON_MAX: usize = 256;
/// Maximum characters of an actor's remark, or of a reference.
pub const REFERENCE_MAX: usize = 64;
/// Maximum characters of the source of an exchange rate.
pub const SOURCE_MAX: usize = 64;
pub const OPERATOR_SESSION_MAX: usize = 255;
/// Maximum characters of an Autospin's request id; each spin's id appends up to five characters, such as `.1000`.
pub const SERIES_ID_MAX: usize = 59;
pub const PAUSE_MS_MAX: u32 = 60_000;
/// Players per GrantCampaigns.
pub const GRANTED_PLAYERS_MAX: usize = 500;
pub const SIMULATED_ROUNDS_MAX: u64 = 100_000_000;
/// Maximum characters of a page token.
pub const PAGE_TOKEN_MAX: usize = 64;
