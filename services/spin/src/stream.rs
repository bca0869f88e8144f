//! PlayStream: many calls over one connection, each with the same semantics as its unary call.
//!
//! Calls of one stream run at the same time, up to [`IN_FLIGHT_MAX`]; past that the stream is not read, which HTTP/2's
//! flow control passes on to the caller. Answers come as they are ready, each with its request's tag.

use crate::service::SpinApi;
use futures_util::{Stream, StreamExt};
use motherlode_proto::spin::v1::{
    PlayStreamRequest, PlayStreamResponse, play_stream_request::Call, play_stream_response::Answer,
};
use motherlode_runtime::Refusal;
use prost::Message;
use tonic::{Status, Streaming};
use tonic_types::pb;

/// Calls of one stream that run at the same time.
const IN_FLIGHT_MAX: usize = 1024;

impl SpinApi {
    pub(crate) fn play_all(
        self,
        calls: Streaming<PlayStreamRequest>,
    ) -> impl Stream<Item = Result<PlayStreamResponse, Status>> {
        calls
            .take_until(self.stop.clone().requested())
            .map(move |call| {
                let api = self.clone();
                async move { Ok(api.answer(call?).await) }
            })
            .buffer_unordered(IN_FLIGHT_MAX)
    }

    async fn answer(&self, request: PlayStreamRequest) -> PlayStreamResponse {
        let played = match &request.call {
            Some(Call::Spin(spin)) => self.spin(spin, &mut self.fair()).await,
            Some(Call::Choose(choose)) => self.choose(choose, &mut self.fair()).await,
            None => Err(Refusal::field("call", "is required")),
        };
        let answer = match played {
            Ok(played) => Answer::Played(played),
            Err(refusal) => Answer::Error(status_message(&refusal.into())),
        };
        PlayStreamResponse { tag: request.tag, answer: Some(answer) }
    }
}

/// A status as the message that gRPC itself carries in its trailers.
pub(crate) fn status_message(status: &Status) -> pb::Status {
    pb::Status::decode(status.details()).unwrap_or_else(|_| pb::Status {
        code: status.code().into(),
        message: status.message().to_owned(),
        details: vec![],
    })
}
