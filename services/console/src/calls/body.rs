use super::{gzip, refusal};
use crate::json::CANONICAL;
use axum::body::Body as Asked;
use bytes::{Buf, BufMut, Bytes as Octets, BytesMut};
use http_body::Frame;
use http_body_util::{BodyExt, Limited};
use motherlode_runtime::{Reason, Refusal};
use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio_stream::Stream;
use tonic::{
    Status, Streaming,
    codec::{DecodeBuf, Decoder},
};

type Arriving = Pin<Box<dyn Future<Output = Result<Octets, Status>> + Send>>;

pub(super) struct Message(Option<Arriving>);

impl Message {
    pub(super) fn new(body: Asked, packed: bool, of: MessageDescriptor, bytes_max: usize) -> Self {
        Self(Some(Box::pin(async move {
            let whole = Limited::new(body, bytes_max).collect().await.map_err(|error| unread(&*error, bytes_max))?;
            let whole = whole.to_bytes();
            let text = if packed { gzip::unpacked(&whole, bytes_max)? } else { whole };
            framed(&parsed(&text, of)?)
        })))
    }
}

impl http_body::Body for Message {
    type Data = Octets;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Octets>, Status>>> {
        let Some(message) = &mut self.0 else { return Poll::Ready(None) };
        let message = ready!(message.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(Some(message.map(Frame::data)))
    }
}

fn unread(error: &(dyn std::error::Error + Send + Sync + 'static), bytes_max: usize) -> Status {
    if error.is::<http_body_util::LengthLimitError>() {
        return gzip::too_long(bytes_max).into();
    }
    Refusal::new(Reason::MessageMalformed, "the message is incomplete").into()
}

fn parsed(text: &[u8], of: MessageDescriptor) -> Result<DynamicMessage, Status> {
    let malformed = |error: serde_json::Error| {
        let message = format!("invalid JSON message: {error}");
        Status::from(Refusal::new(Reason::MessageMalformed, message))
    };
    motherlode_runtime::json::check_members(text).map_err(malformed)?;
    let mut text = serde_json::Deserializer::from_slice(text);
    let message = DynamicMessage::deserialize(of, &mut text).map_err(malformed)?;
    text.end().map_err(malformed)?;
    Ok(message)
}

fn framed(message: &DynamicMessage) -> Result<Octets, Status> {
    let length = u32::try_from(message.encoded_len()).map_err(|_| Status::out_of_range("too long"))?;
    let mut framed = BytesMut::with_capacity(5 + message.encoded_len());
    framed.put_u8(0);
    framed.put_u32(length);
    message.encode(&mut framed).map_err(|_| Status::internal("failed to encode the message"))?;
    Ok(framed.freeze())
}

#[derive(Debug, Default)]
pub(super) struct Bytes;

impl Decoder for Bytes {
    type Item = Octets;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Octets>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

fn read(message: MessageDescriptor, bytes: &Octets) -> Result<DynamicMessage, Status> {
    DynamicMessage::decode(message, bytes.clone())
        .map_err(|_| Status::internal("the service's answer does not match the method's message type"))
}

pub(super) fn json(message: MessageDescriptor, bytes: &Octets) -> Result<Vec<u8>, Status> {
    let mut text = vec![];
    let mut serializer = serde_json::Serializer::new(&mut text);
    read(message, bytes)?.serialize_with_options(&mut serializer, &CANONICAL).map_err(unwritten)?;
    Ok(text)
}

fn value(message: MessageDescriptor, bytes: &Octets) -> Result<serde_json::Value, Status> {
    read(message, bytes)?.serialize_with_options(serde_json::value::Serializer, &CANONICAL).map_err(unwritten)
}

fn unwritten(_: serde_json::Error) -> Status {
    Status::internal("failed to convert the answer to JSON")
}

pub(super) struct Lines {
    first: Option<Octets>,
    answers: Option<Streaming<Octets>>,
    of: MessageDescriptor,
}

impl Lines {
    pub(super) fn new(first: Option<Octets>, answers: Streaming<Octets>, of: MessageDescriptor) -> Self {
        Self { first, answers: Some(answers), of }
    }

    fn line(&mut self, answer: Result<Octets, Status>) -> Octets {
        let said = answer.and_then(|bytes| value(self.of.clone(), &bytes));
        let line = match said {
            Ok(message) => serde_json::json!({ "result": message }),
            Err(status) => {
                self.answers = None;
                serde_json::json!({ "error": refusal::json(&status) })
            }
        };
        format!("{line}\n").into()
    }
}

impl http_body::Body for Lines {
    type Data = Octets;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Octets>, Status>>> {
        let answer = match (self.first.take(), &mut self.answers) {
            (Some(first), _) => Some(Ok(first)),
            (None, Some(answers)) => ready!(Pin::new(answers).poll_next(context)),
            (None, None) => None,
        };
        Poll::Ready(answer.map(|answer| Ok(Frame::data(self.line(answer)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::MESSAGES;

    #[test]
    fn pl_12_a_message_in_json_is_read_whole_or_not_at_all() {
        let of = || MESSAGES.get_message_by_name("motherlode.ledger.v1.GetRoundRequest").unwrap();
        let bytes = framed(&parsed(br#"{"roundId": "a/b/1"}"#, of()).unwrap()).unwrap();
        assert_eq!(bytes, b"\0\0\0\0\x07\x0a\x05a/b/1".as_slice());
        assert_eq!(framed(&parsed(br#"{"round_id": "a/b/1"}"#, of()).unwrap()).unwrap(), bytes);
        for bad in ["", "[]", "{", "{} {}", r#"{"roundID": ""}"#, r#"{"roundId": 1}"#] {
            let status = parsed(bad.as_bytes(), of()).unwrap_err();
            assert_eq!(status.code(), tonic::Code::InvalidArgument, "{bad}");
        }
    }

    #[test]
    fn mf_c5_a_field_that_is_there_twice_is_refused_with_its_name() {
        for (message, bad, name) in [
            ("ledger.v1.DepositRequest", r#"{"amountMinor": "1", "amount_minor": "2"}"#, "amount_minor"),
            ("ledger.v1.DepositRequest", r#"{"requestId": "a", "requestId": "a"}"#, "requestId"),
            ("ledger.v1.DepositRequest", r#"{"account": {"player": "a", "player": "b"}}"#, "player"),
            ("ledger.v1.DepositRequest", r#"{"amount": "1"}"#, "amount"),
            ("spin.v1.ChooseRequest", r#"{"choice": {"spin": {}, "startFreeSpins": {}}}"#, "kind"),
            (
                "spin.v1.ChooseRequest",
                r#"{"choice": {"startFreeSpins": {}, "start_free_spins": {}}}"#,
                "start_free_spins",
            ),
        ] {
            let of = MESSAGES.get_message_by_name(&format!("motherlode.{message}")).unwrap();
            let status = parsed(bad.as_bytes(), of).unwrap_err();
            assert_eq!(status.code(), tonic::Code::InvalidArgument, "{bad}");
            assert!(status.message().contains(name), "{}", status.message());
        }
    }
}
