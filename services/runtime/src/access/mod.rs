//! Who calls, and what they may do (PL-27).
//!
//! One layer around all services answers for it: it finds the operator by the call's bearer token or the connection's
//! certificate, holds it to its rate and its roles, and puts a [`Caller`] into the request. The services ask the caller
//! one question, whether an operator's things are its own; what is not is answered like what is unknown.
//!
//! A call is refused for the first of: no credential (UNAUTHENTICATED, TOKEN_MISSING), an unknown one (TOKEN_UNKNOWN,
//! CERTIFICATE_UNKNOWN), one that has expired (TOKEN_EXPIRED, CERTIFICATE_EXPIRED), too many connections
//! (RESOURCE_EXHAUSTED, TOO_MANY_CONNECTIONS) or calls (RESOURCE_EXHAUSTED, RATE_LIMITED; both with RetryInfo), no such method
//! (UNIMPLEMENTED, METHOD_UNKNOWN), a role that the credential lacks (PERMISSION_DENIED, ROLE_MISSING). Only then is the message
//! read. Health and reflection are open.
//!
//! A call's caller is fixed at its start. When its credential expires under way, as in a stream, the call ends with
//! TOKEN_EXPIRED or CERTIFICATE_EXPIRED; what was not answered is asked again with another, under the same request id.
//!
//! Cost: without operators the layer is one comparison a call, and no caller is put anywhere; with them a digest of the
//! token and a comparison with each credential's, in a time that says nothing about how much of it is right.

mod bucket;
pub(crate) mod caller;
mod calls;
mod expiry;
mod layer;

pub use crate::roles::Roles;
pub use caller::{Caller, Denied, digest};
pub use calls::{CALLS, Call};
pub use layer::{Access, Guarded};
