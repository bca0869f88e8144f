use motherlode_proto::spin::v1::{AutospinResponse, PlayStreamResponse, play_stream_response::Answer};
use motherlode_runtime::{access::OPERATOR, connect::Connection};
use prost::{
    Message,
    bytes::{Buf, BufMut},
};
use std::{error::Error, net::SocketAddr};
use tokio::net::TcpStream;
use tonic::{
    Code, Request, Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};
use tonic_types::{StatusExt, pb};

#[derive(Debug, Default)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining()).to_vec()))
    }
}

pub type Answered = Result<Vec<u8>, Status>;

pub async fn call(connection: &Connection, path: &str, operator: Option<&str>, message: Vec<u8>) -> Answered {
    let mut client = Grpc::new(connection.clone());
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let mut request = Request::new(tokio_stream::iter([message]));
    if let Some(operator) = operator {
        request.metadata_mut().insert(OPERATOR, operator.parse().expect("a header"));
    }
    let mut answers = client.streaming(request, path.parse().expect("a path"), Bytes).await?.into_inner();
    let first = answers.message().await?.ok_or_else(|| Status::unknown("the stream ended without an answer"))?;
    within(path, first)
}

/// Uses HTTP/2 directly, since tonic's client would enforce the deadline.
pub async fn expired(address: SocketAddr, token: &str, path: &str, message: &[u8]) -> Result<Answered, Box<dyn Error>> {
    let (client, connection) = h2::client::handshake(TcpStream::connect(address).await?).await?;
    let connection = tokio::spawn(connection);
    let request = http::Request::post(format!("http://{address}{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("authorization", format!("Bearer {token}"))
        .header("grpc-timeout", "1n")
        .body(())?;
    let (answer, mut body) = client.ready().await?.send_request(request, false)?;
    let length = u32::try_from(message.len())?.to_be_bytes();
    let _ = body.send_data([&[0], &length[..], message].concat().into(), true);
    let answer = answer.await?;
    connection.abort();
    Ok(match Status::from_header_map(answer.headers()) {
        Some(status) => Err(status),
        None => Ok(vec![]),
    })
}

pub(super) fn within(path: &str, message: Vec<u8>) -> Answered {
    let refused = match path.rsplit('/').next() {
        Some("PlayStream") => match PlayStreamResponse::decode(&*message).expect("a PlayStreamResponse").answer {
            Some(Answer::Error(error)) => Some(error),
            _ => None,
        },
        Some("Autospin") => AutospinResponse::decode(&*message).expect("an AutospinResponse").refusal,
        _ => None,
    };
    refused.map_or(Ok(message), |status| Err(from_message(&status)))
}

fn from_message(status: &pb::Status) -> Status {
    Status::with_details(Code::from(status.code), status.message.clone(), status.encode_to_vec().into())
}

pub fn refusal(answered: &Answered) -> (Code, String) {
    match answered {
        Ok(_) => (Code::Ok, String::new()),
        Err(status) => (status.code(), motherlode_tests::reason(status)),
    }
}

pub fn normalized(answered: &Answered, names: &[&str]) -> String {
    let text = match answered {
        Ok(message) => format!("{:?}", String::from_utf8_lossy(message)),
        Err(status) => {
            let details = status.get_error_details();
            let mut metadata: Vec<_> =
                details.error_info().into_iter().flat_map(|info| info.metadata.clone()).collect();
            metadata.sort();
            let fields = details.bad_request().map(|request| request.field_violations.clone());
            let (code, reason) = (status.code(), motherlode_tests::reason(status));
            format!("{code:?} {reason} {} {metadata:?} {fields:?} {:?}", status.message(), details.retry_info())
        }
    };
    names.iter().fold(text, |text, name| text.replace(name, "<name>"))
}
