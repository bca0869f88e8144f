//! Authentication and permissions of callers (PL-27).
//!
//! One layer finds the operator by bearer token or client certificate, enforces its rate and roles, and adds a
//! [`Caller`] to the request. Services treat another operator's objects as unknown.
//!
//! Checks in order: no credential (UNAUTHENTICATED, TOKEN_MISSING), unknown credential (TOKEN_UNKNOWN,
//! CERTIFICATE_UNKNOWN), expired credential (TOKEN_EXPIRED, CERTIFICATE_EXPIRED), too many connections
//! (RESOURCE_EXHAUSTED, TOO_MANY_CONNECTIONS), too many calls (RESOURCE_EXHAUSTED, RATE_LIMITED), unknown method
//! (UNIMPLEMENTED, METHOD_UNKNOWN), missing role (PERMISSION_DENIED, ROLE_MISSING). The message is read afterwards.
//! Health and reflection are open.
//!
//! A call whose credential expires in progress ends with TOKEN_EXPIRED or CERTIFICATE_EXPIRED; the caller retries with
//! another credential and the same request id.
//!
//! Cost with operators: a digest of the token and a constant-time comparison with each credential.

mod bucket;
pub(crate) mod caller;
mod calls;
mod expiry;
mod layer;

pub use crate::roles::Roles;
pub use caller::{Caller, Denied, digest};
pub use calls::{CALLS, Call};
pub use layer::{Access, Guarded};
