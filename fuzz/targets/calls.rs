//! Sends well-formed messages to every call. No answer may report an internal error, and the accounts must balance.
#![cfg_attr(feature = "libfuzzer", no_main)]

use arbitrary::Unstructured;
use bytes::Bytes;
use motherlode_fuzz::fuzz_target;
use motherlode_fuzz::{
    message::{self, METHODS},
    service::SERVICE,
};
use motherlode_proto::codec::encoded;
use std::{sync::OnceLock, time::Duration};
use tokio_stream::StreamExt;
use tonic::{
    Code, Request, Status,
    client::Grpc,
    transport::{Channel, Endpoint},
};

/// Time limit of a call. The first query about a game takes seconds, because it computes the game's mathematics.
const ANSWER_MAX: Duration = Duration::from_secs(120);
const LISTEN: Duration = Duration::from_millis(5);

static CHANNEL: OnceLock<Channel> = OnceLock::new();

async fn call(method: usize, messages: Vec<Bytes>) -> Result<(), Status> {
    let method = &METHODS[method];
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name()).parse().expect("a path");
    let mut client = Grpc::new(CHANNEL.get().expect("it was set").clone());
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let request = Request::new(tokio_stream::iter(messages));
    let answers = client.streaming(request, path, encoded());
    let Ok(answers) = tokio::time::timeout(ANSWER_MAX, answers).await else {
        panic!("{} does not answer", method.full_name())
    };
    let mut answers = answers?.into_inner();
    while let Ok(Some(answer)) = tokio::time::timeout(LISTEN, answers.next()).await {
        answer?;
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    CHANNEL.get_or_init(|| {
        let endpoint = Endpoint::from_shared(format!("http://{}", SERVICE.address())).expect("an address");
        SERVICE.runtime.block_on(endpoint.connect()).expect("a connection")
    });
    let mut choose = Unstructured::new(bytes);
    for _ in 0..4 {
        if choose.is_empty() {
            break;
        }
        let Ok(method) = choose.choose_index(METHODS.len()) else { break };
        let many = if METHODS[method].is_client_streaming() { 3 } else { 1 };
        let mut messages = vec![];
        for _ in 0..many {
            let form = if choose.ratio(1, 16).unwrap_or(false) {
                choose.bytes(choose.len().min(300)).map(<[u8]>::to_vec)
            } else {
                message::bytes(&METHODS[method].input(), &mut choose)
            };
            messages.push(Bytes::from(form.unwrap_or_default()));
        }
        if let Err(status) = SERVICE.runtime.block_on(call(method, messages)) {
            let fault = matches!(status.code(), Code::Internal | Code::Unknown | Code::DataLoss);
            assert!(!fault, "{}: {status:?}", METHODS[method].full_name());
        }
    }
    SERVICE.check();
});
