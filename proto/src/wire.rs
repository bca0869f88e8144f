//! Encodes and decodes messages of calls.

use bytes::{Buf as _, Bytes};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType, decode_key, skip_field, string},
};
use std::sync::{Arc, OnceLock};

pub trait Wire: Message + Default + 'static {
    const REQUEST_ID: u32;

    fn read(bytes: &[u8]) -> Result<Self, DecodeError>;

    fn written(&self) -> Bytes;
}

macro_rules! wire {
    ($($message:path = $request_id:literal),+) => {$(
        impl Wire for $message {
            const REQUEST_ID: u32 = $request_id;

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

/// Request message of a call, which is logged if the call is refused; unset if the call has a stream of requests.
#[derive(Debug, Clone, Default)]
pub struct RequestOf(Arc<OnceLock<(Bytes, u32)>>);

impl RequestOf {
    #[must_use]
    pub fn message<M: Wire>(bytes: Bytes) -> Self {
        let request = Self::default();
        request.set::<M>(bytes);
        request
    }

    pub(crate) fn set<M: Wire>(&self, bytes: Bytes) {
        let _ = self.0.set((bytes, M::REQUEST_ID));
    }

    #[must_use]
    pub fn id(&self) -> Option<String> {
        let (bytes, number) = self.0.get()?;
        let (mut rest, mut id) = (bytes.clone(), None);
        while *number > 0 && rest.has_remaining() {
            let (field, wire_type) = decode_key(&mut rest).ok()?;
            let context = DecodeContext::default();
            if field == *number && wire_type == WireType::LengthDelimited {
                let mut text = String::new();
                string::merge(wire_type, &mut text, &mut rest, context).ok()?;
                id = Some(text);
            } else {
                skip_field(wire_type, field, &mut rest, context).ok()?;
            }
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ledger::v1::GetAccountRequest, spin::v1::SpinRequest};

    #[test]
    fn at_c1_the_request_id_is_read_from_the_message() {
        let spin = SpinRequest { request_id: "r-1".into(), game: "bewitched".into(), ..SpinRequest::default() };
        assert_eq!(RequestOf::message::<SpinRequest>(spin.written()).id().as_deref(), Some("r-1"));
        assert_eq!(RequestOf::message::<SpinRequest>(Bytes::from_static(&[0xff])).id(), None);
        assert_eq!(RequestOf::message::<GetAccountRequest>(GetAccountRequest::default().written()).id(), None);
        assert_eq!(RequestOf::default().id(), None);
    }
}
