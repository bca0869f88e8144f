//! Authentication and permissions of callers (PL-27).
//!
//! A layer finds the caller's credential by bearer token or client certificate, checks the operator's rate and the
//! credential's roles, and adds a [`Caller`] to the request. Services treat the objects of other operators as
//! nonexistent.
//!
//! Refusals, in the order of the checks: TOKEN_AMBIGUOUS, TOKEN_MISSING, TOKEN_UNKNOWN or CERTIFICATE_UNKNOWN,
//! OPERATOR_NOT_SERVED, TOKEN_EXPIRED or CERTIFICATE_EXPIRED, TOO_MANY_CONNECTIONS, RATE_LIMITED, METHOD_UNKNOWN,
//! ROLE_MISSING. Health, reflection and GetPublicRound need no credential.

mod bucket;
pub(crate) mod caller;
mod calls;
mod expiry;
mod layer;

pub use crate::roles::Roles;
pub use caller::{Caller, digest};
pub use calls::{CALLS, Call};
pub use layer::{Access, OPERATOR};
