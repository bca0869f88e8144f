use crate::round::v1::Account;
use bytes::{Buf as _, Bytes};
use prost::{
    DecodeError, Message,
    encoding::{self, DecodeContext, WireType, decode_key, skip_field},
};
use std::sync::{Arc, OnceLock};

pub trait Wire: Message + Default + 'static {
    const NAMES: NameFields;

    fn read(bytes: &[u8]) -> Result<Self, DecodeError>;

    fn written(&self) -> Bytes;
}

/// Field numbers by which the ids are read from an encoded request; 0 if the message type has no such field.
#[derive(Debug, Clone, Copy)]
pub struct NameFields {
    request_id: u32,
    account: u32,
    player_id: u32,
    round_id: u32,
}

macro_rules! wire {
    ($($message:path = $request_id:literal $account:literal $player_id:literal $round_id:literal),+) => {$(
        impl Wire for $message {
            const NAMES: NameFields =
                NameFields { request_id: $request_id, account: $account, player_id: $player_id, round_id: $round_id };

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

/// Request message of a call, logged if the call is refused. It is unset if the call has a stream of requests.
#[derive(Debug, Clone, Default)]
pub struct RequestOf(Arc<OnceLock<(Bytes, NameFields)>>);

impl RequestOf {
    #[must_use]
    pub fn message<M: Wire>(bytes: Bytes) -> Self {
        let request = Self::default();
        request.set::<M>(bytes);
        request
    }

    pub(crate) fn set<M: Wire>(&self, bytes: Bytes) {
        let _ = self.0.set((bytes, M::NAMES));
    }

    #[must_use]
    pub fn id(&self) -> Option<String> {
        let (bytes, names) = self.0.get()?;
        text(bytes, names.request_id)
    }

    #[must_use]
    pub fn player(&self) -> Option<String> {
        let (bytes, names) = self.0.get()?;
        if names.account > 0 {
            return Some(Account::decode(field(bytes, names.account)?).ok()?.player_id);
        }
        let round_id = || Some(text(bytes, names.round_id)?.split('/').nth(1)?.to_owned());
        text(bytes, names.player_id).or_else(round_id)
    }
}

fn text(bytes: &Bytes, number: u32) -> Option<String> {
    String::from_utf8(field(bytes, number)?.into()).ok()
}

fn field(bytes: &Bytes, number: u32) -> Option<Bytes> {
    let (mut rest, mut found) = (bytes.clone(), None);
    while number > 0 && rest.has_remaining() {
        let (field, wire_type) = decode_key(&mut rest).ok()?;
        let context = DecodeContext::default();
        if field == number && wire_type == WireType::LengthDelimited {
            let mut value = Bytes::new();
            encoding::bytes::merge(wire_type, &mut value, &mut rest, context).ok()?;
            found = Some(value);
        } else {
            skip_field(wire_type, field, &mut rest, context).ok()?;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ledger::v1::{GetAccountRequest, GetRoundRequest},
        spin::v1::{ListOpenRoundsRequest, SpinRequest},
    };

    #[test]
    fn at_c1_the_request_id_is_read_from_the_message() {
        let spin = SpinRequest { request_id: "r-1".into(), game: "bewitched".into(), ..SpinRequest::default() };
        assert_eq!(RequestOf::message::<SpinRequest>(spin.written()).id().as_deref(), Some("r-1"));
        assert_eq!(RequestOf::message::<SpinRequest>(Bytes::from_static(&[0xff])).id(), None);
        assert_eq!(RequestOf::message::<GetAccountRequest>(GetAccountRequest::default().written()).id(), None);
        assert_eq!(RequestOf::default().id(), None);
    }
    #[test]
    fn pl_12_the_player_is_read_from_the_message() {
        let account = Some(Account { player_id: "alice".into(), ..Account::default() });
        let spin = SpinRequest { request_id: "r-1".into(), account, ..SpinRequest::default() };
        assert_eq!(RequestOf::message::<SpinRequest>(spin.written()).player().as_deref(), Some("alice"));
        let round = GetRoundRequest { round_id: "acme/bob/7".into() };
        assert_eq!(RequestOf::message::<GetRoundRequest>(round.written()).player().as_deref(), Some("bob"));
        let open = ListOpenRoundsRequest { player_id: "carol".into(), ..ListOpenRoundsRequest::default() };
        assert_eq!(RequestOf::message::<ListOpenRoundsRequest>(open.written()).player().as_deref(), Some("carol"));
        assert_eq!(RequestOf::message::<SpinRequest>(Bytes::from_static(&[0xff])).player(), None);
        assert_eq!(RequestOf::default().player(), None);
    }
}
