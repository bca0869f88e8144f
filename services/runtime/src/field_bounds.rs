//! Limits of request fields, for the checks in the services and for the OpenAPI document.

pub const REASON_MAX: usize = 256;
/// Maximum length of a remark or reference in characters.
pub const REFERENCE_MAX: usize = 64;
pub const SOURCE_MAX: usize = 64;
pub const OPERATOR_SESSION_MAX: usize = 255;
/// Maximum length of the request id of an Autospin in characters. Each spin appends up to five characters to this id,
/// such as `.1000`.
pub const SERIES_ID_MAX: usize = 59;
pub const PAUSE_MS_MAX: u32 = 60_000;
pub const GRANTED_PLAYERS_MAX: usize = 500;
pub const SIMULATED_ROUNDS_MAX: u64 = 100_000_000;
pub const PAGE_TOKEN_MAX: usize = 64;
