//! Limits of request fields. The services check requests against these limits, and the OpenAPI document states them.

pub const REASON_MAX: usize = 256;
/// Maximum characters of a remark or of a reference.
pub const REFERENCE_MAX: usize = 64;
pub const SOURCE_MAX: usize = 64;
pub const OPERATOR_SESSION_MAX: usize = 255;
/// Maximum characters of the request id of an Autospin. Each spin of the Autospin appends up to five characters, such as
/// `.1000`, to this id.
pub const SERIES_ID_MAX: usize = 59;
pub const PAUSE_MS_MAX: u32 = 60_000;
/// Players per GrantCampaigns.
pub const GRANTED_PLAYERS_MAX: usize = 500;
pub const SIMULATED_ROUNDS_MAX: u64 = 100_000_000;
pub const PAGE_TOKEN_MAX: usize = 64;
