//! Limits the memory of unsent answers and incomplete messages, so that a caller that does not read affects only its
//! own operator.
//!
//! Half of the budget is divided evenly between operators; the other half is shared, up to a limit per operator.
//! Without free bytes a call is refused, an answer is not sent, or a stream ends with BUFFERS_FULL. A call takes
//! [`CALL_BYTES`] and its headers, which cover a short answer: a call with an effect is answered.

mod budget;
mod inward;
mod layer;
mod outward;

pub use budget::{Budget, CALL_BYTES};
pub use layer::{Buffers, CallBytes};
