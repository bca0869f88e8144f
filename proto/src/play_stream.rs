use crate::{codec::FnCodec, convert::asked::read_call, spin::v1::PlayStreamRequest};
use bytes::{Buf as _, BufMut};
use prost::encoding::{WireType, encode_key, encode_varint, message, uint64};
use tonic::{Request, Response, Status, Streaming, codegen::BoxStream};
use tonic_types::pb;

#[derive(Debug, Clone, PartialEq)]
pub struct StreamAnswer {
    pub tag: u64,
    /// Encoded `Played`, or the refusal of the step.
    pub answer: Result<Vec<u8>, pb::Status>,
}

impl StreamAnswer {
    fn write(&self, out: &mut impl BufMut) {
        if self.tag != 0 {
            uint64::encode(1, &self.tag, out);
        }
        match &self.answer {
            Ok(played) => {
                encode_key(2, WireType::LengthDelimited, out);
                encode_varint(played.len() as u64, out);
                out.put_slice(played);
            }
            Err(status) => message::encode(3, status, out),
        }
    }
}

pub type StreamAnswers = BoxStream<StreamAnswer>;

#[tonic::async_trait]
pub trait PlayStream: Send + Sync + 'static {
    async fn play_stream(
        &self,
        request: Request<Streaming<PlayStreamRequest>>,
    ) -> Result<Response<StreamAnswers>, Status>;
}

pub(crate) fn codec() -> FnCodec<StreamAnswer, PlayStreamRequest> {
    FnCodec::new(
        |answer, buffer| answer.write(buffer),
        |buffer| {
            let message = buffer.chunk();
            let (read, length) = (read_call(message), message.len());
            buffer.advance(length);
            read
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spin::v1::{PlayStreamResponse, Played, play_stream_response::Answer};
    use prost::Message;

    #[test]
    fn what_is_written_is_the_message() {
        let played = Played { round_id: "acme/alice/7".into(), position: 9, ..Played::default() };
        let status = pb::Status { code: 9, message: "no".into(), details: vec![] };
        for tag in [0, 1, u64::MAX] {
            for (answer, wanted) in [
                (Ok(played.encode_to_vec()), Answer::Played(Box::new(played.clone()))),
                (Ok(vec![]), Answer::Played(Box::default())),
                (Err(status.clone()), Answer::Error(status.clone())),
            ] {
                let mut written = vec![];
                StreamAnswer { tag, answer }.write(&mut written);
                assert_eq!(written, PlayStreamResponse { tag, answer: Some(wanted) }.encode_to_vec());
            }
        }
    }
}
