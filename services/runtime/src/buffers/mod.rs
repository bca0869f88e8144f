//! Limits the memory of unsent answers and incomplete messages, so that a caller that does not read affects only its
//! own operator.
//!
//! Half of the budget is divided evenly between operators; the other half is shared, up to a limit per operator. If too few
//! bytes are free, a call is refused, an answer is not sent, or a stream ends, each with BUFFERS_FULL. A call reserves
//! [`CALL_BYTES`] and the bytes of its headers. This suffices for a short answer, so a call that had an effect is always
//! answered.

mod budget;
mod inward;
mod layer;
mod outward;

pub use budget::{Budget, CALL_BYTES};
pub use layer::{Buffers, CallBytes};
