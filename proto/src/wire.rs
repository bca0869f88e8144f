//! Messages of calls, read and written by code that is compiled here. A generic function that decodes a message has prost's code for
//! it, and for all messages within, compiled again in every crate that calls it.

use bytes::Bytes;
use prost::{DecodeError, Message};

/// A message that a call takes or gives.
pub trait Wire: Message + Default + 'static {
    /// Reads a message.
    ///
    /// # Errors
    /// The bytes are none of this type.
    fn read(bytes: &[u8]) -> Result<Self, DecodeError>;

    /// The message's bytes.
    fn written(&self) -> Bytes;
}

/// Implements [`Wire`] for messages.
macro_rules! wire {
    ($($message:path)+) => {$(
        impl Wire for $message {
            #[inline(never)]
            fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
                Self::decode(bytes)
            }

            #[inline(never)]
            fn written(&self) -> Bytes {
                self.encode_to_vec().into()
            }
        }
    )+};
}

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
