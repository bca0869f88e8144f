//! The memory of calls: bytes that wait to be sent, and bytes of messages that have not arrived whole.
//!
//! There is one budget, and each operator has a share of it. Half of the budget is divided evenly between the operators
//! and is theirs alone; the other half goes to whoever needs it, up to the most that one operator may have. When
//! nothing is left, a call is refused before it begins, an answer is not sent, and a stream ends: RESOURCE_EXHAUSTED,
//! BUFFERS_FULL. So a caller who reads nothing is paid for by its own operator.
//!
//! A call takes [`CALL_BYTES`] and the length of its headers for as long as it lasts. An answer that is no longer fits
//! in there whatever else waits, so a call that had an effect is answered. Bytes are given back when the transport has
//! written them.
//!
//! Cost: a lock of the budget at a call's begin, its end and each part of its answer.

mod budget;
mod inward;
mod layer;
mod outward;

pub use budget::{Budget, CALL_BYTES};
pub use layer::{Buffered, Buffers, CallBytes};
