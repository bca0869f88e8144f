//! Limits the memory for unsent answers and incomplete messages, so that a caller that does not read its answers
//! affects only its own operator.
//!
//! Half of the budget is divided evenly between operators; the other half is shared, up to a limit per operator. If too few
//! bytes are free, the call, the answer or the stream is refused with BUFFERS_FULL. A call reserves [`CALL_BYTES`] and the
//! bytes of its headers. These bytes suffice for a short answer, so a call that had an effect is always answered.

mod budget;
mod inward;
mod layer;
mod outward;

pub use budget::{Budget, CALL_BYTES};
pub use layer::{Buffers, CallBytes};
