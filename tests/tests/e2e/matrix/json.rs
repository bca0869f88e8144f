use super::raw::{Answered, within};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use motherlode_proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde_json::Value;
use std::{net::SocketAddr, sync::LazyLock};
use tonic::{Code, Status};

static CONTRACT: LazyLock<DescriptorPool> = LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap());

pub fn refused_by_name(path: &str) -> Option<&'static str> {
    match path.rsplit('/').next() {
        Some("PlayStream") => Some("METHOD_NEEDS_GRPC"),
        _ if path.starts_with("/motherlode.log.") => Some("METHOD_UNKNOWN"),
        _ => None,
    }
}

pub fn method(path: &str) -> MethodDescriptor {
    let (service, name) = path[1..].split_once('/').unwrap();
    let service = CONTRACT.get_service_by_name(service).unwrap();
    service.methods().find(|method| method.name() == name).unwrap()
}

pub fn body(path: &str, message: &[u8]) -> Vec<u8> {
    serde_json::to_vec(&DynamicMessage::decode(method(path).input(), message).unwrap()).unwrap()
}

pub async fn raw(address: SocketAddr, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> (u16, Value) {
    let method = method(path);
    let url = format!("http://{address}/v1/{}/{}", method.parent_service().name(), method.name());
    let mut request = http::Request::post(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut answer = client.request(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    let lines = answer.headers()["content-type"] == "application/jsonl";
    assert!(lines || answer.headers()["content-type"] == "application/json", "{path}: {:?}", answer.headers());
    let mut bytes = vec![];
    while !(lines && bytes.ends_with(b"\n")) {
        let Some(frame) = answer.frame().await else { break };
        bytes.extend_from_slice(frame.unwrap().data_ref().unwrap());
    }
    let mut value: Value = serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{path}: {error}: {bytes:?}"));
    if lines {
        assert_eq!(value.as_object().unwrap().len(), 1, "{path}: {value}");
        value = value["result"].take();
    }
    (code, value)
}

pub async fn call(address: SocketAddr, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answered {
    match raw(address, path, headers, body).await {
        (200, value) => within(path, read(method(path).output(), value)),
        (code, value) => Err(refused(path, code, value)),
    }
}

fn read(of: MessageDescriptor, told: Value) -> Vec<u8> {
    DynamicMessage::deserialize(of, told).expect("canonical JSON").encode_to_vec()
}

fn refused(path: &str, code: u16, told: Value) -> Status {
    let status = CONTRACT.get_message_by_name("google.rpc.Status").unwrap();
    let bytes = read(status, told);
    let status = tonic_types::pb::Status::decode(&*bytes).unwrap();
    let wanted = match Code::from(status.code) {
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => 400,
        Code::Unauthenticated => 401,
        Code::PermissionDenied => 403,
        Code::NotFound => 404,
        Code::AlreadyExists | Code::Aborted => 409,
        Code::ResourceExhausted => 429,
        Code::Unimplemented => 501,
        Code::Unavailable => 503,
        Code::DeadlineExceeded => 504,
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!(code, wanted, "{path}: {status:?}");
    Status::with_details(Code::from(status.code), status.message, bytes.into())
}
