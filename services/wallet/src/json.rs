//! JSON protocol of a wallet: `POST <url>/v1/WalletService/<call>` with Protobuf's JSON mapping. Each request is signed
//! (see [`crate::sign`]). Only a valid message with status 200 is an answer; otherwise the outcome is unknown and the
//! call is retried.

use crate::{
    link::{Connector, connector},
    sign::{Signed, Signer},
};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::{Request, StatusCode, Uri, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use motherlode_proto::FILE_DESCRIPTOR_SET;
use motherlode_runtime::roots;
use prost::Message;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, MethodDescriptor, ServiceDescriptor};
use std::{
    error::Error,
    sync::LazyLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio_rustls::rustls::RootCertStore;
use tonic::Status;

const HEAD_BYTES_MAX: usize = 32 << 10;

const HEADERS_MAX: usize = 64;

const IDLE: (usize, Duration) = (64, Duration::from_secs(4));

static SERVICE: LazyLock<Option<ServiceDescriptor>> = LazyLock::new(|| {
    let contract = DescriptorPool::decode(FILE_DESCRIPTOR_SET).ok()?;
    contract.get_service_by_name("motherlode.wallet.v1.WalletService")
});

#[derive(Debug, Clone)]
pub(crate) struct Json {
    http: legacy::Client<Connector, Full<Bytes>>,
    url: String,
    base: String,
    signer: Signer,
    answer_bytes_max: usize,
}

impl Json {
    /// Connects on first use.
    pub(crate) fn new(url: &str, ca: Option<&[u8]>, key: &[u8], answer_bytes_max: usize) -> Result<Self, String> {
        let signer = Signer::new(key).ok_or("the key in signing_key_file must have at least 32 characters")?;
        let uri: Uri = url.parse().map_err(|error| format!("url {url}: {error}"))?;
        let unusable = |why: &str| Err(format!("url {url}: {why}"));
        if uri.query().is_some() || uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return unusable("must be a URL such as https://wallet.example:443/path");
        }
        let roots = match (uri.scheme_str(), ca) {
            (Some("http"), None) => Ok(RootCertStore::empty()),
            (Some("http"), Some(_)) => return unusable("ca requires an https url"),
            (Some("https"), ca) => ca.map_or_else(roots::of_system, roots::named),
            _ => return unusable("must begin with https://, or with http:// for a wallet on this machine"),
        };
        let connector = roots.and_then(connector).map_err(|error| format!("ca: {error}"))?;
        let mut http = legacy::Client::builder(TokioExecutor::new());
        http.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE.1).pool_max_idle_per_host(IDLE.0);
        http.http1_max_buf_size(HEAD_BYTES_MAX).http1_max_headers(HEADERS_MAX);
        Ok(Self {
            http: http.build(connector),
            url: url.trim_end_matches('/').to_owned(),
            base: uri.path().trim_end_matches('/').to_owned(),
            signer,
            answer_bytes_max,
        })
    }

    pub(crate) async fn call<A: Message + Default>(&self, name: &str, message: &impl Message) -> Result<A, Status> {
        let call = method(name)?;
        let body = to_json(&call, message)?;
        let answer = self.http.request(self.request(name, body)?).await;
        let answer = answer.map_err(|error| Status::unavailable(causes(&error)))?;
        let lacks_call = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED];
        if lacks_call.contains(&answer.status()) {
            return Err(Status::unimplemented(format!("HTTP {}", answer.status().as_u16())));
        }
        if answer.status() != StatusCode::OK {
            return Err(Status::unavailable(format!("HTTP {}", answer.status().as_u16())));
        }
        let body = Limited::new(answer.into_body(), self.answer_bytes_max).collect().await;
        let body = body.map_err(|error| Status::unavailable(causes(&*error)))?.to_bytes();
        read(&call, &body)
    }

    pub(crate) async fn status(&self, request: Request<Full<Bytes>>) -> Result<StatusCode, Status> {
        let answer = self.http.request(request).await.map_err(|error| Status::unavailable(causes(&error)))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), self.answer_bytes_max).collect().await;
        body.map(|_| status).map_err(|error| Status::unavailable(causes(&*error)))
    }

    fn request(&self, name: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Status> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(|error| Status::unavailable(error.to_string()))?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time_ms = u64::try_from(since.as_millis()).unwrap_or_default();
        self.signed(name, body, (time_ms, HEXLOWER.encode(&nonce)))
    }

    pub(crate) fn signed(
        &self,
        name: &str,
        body: Bytes,
        (time_ms, nonce): (u64, String),
    ) -> Result<Request<Full<Bytes>>, Status> {
        let call = format!("/v1/WalletService/{name}");
        let path = format!("{}{call}", self.base);
        let signature = self.signer.sign(Signed { method: "POST", path: &path, time_ms, nonce: &nonce }, &body);
        Request::post(format!("{}{call}", self.url))
            .header(CONTENT_TYPE, "application/json")
            .header("motherlode-timestamp", time_ms)
            .header("motherlode-nonce", nonce)
            .header("motherlode-signature", signature)
            .body(Full::new(body))
            .map_err(|error| Status::internal(error.to_string()))
    }
}

pub(crate) fn method(name: &str) -> Result<MethodDescriptor, Status> {
    let call = SERVICE.iter().flat_map(ServiceDescriptor::methods).find(|call| call.name() == name);
    call.ok_or_else(|| Status::unimplemented("the wallet contract has no such call"))
}

pub(crate) fn to_json(call: &MethodDescriptor, message: &impl Message) -> Result<Bytes, Status> {
    let malformed = |error: &dyn Error| Status::internal(error.to_string());
    let message = DynamicMessage::decode(call.input(), &*message.encode_to_vec()).map_err(|error| malformed(&error))?;
    serde_json::to_vec(&message).map(Bytes::from).map_err(|error| malformed(&error))
}

fn read<A: Message + Default>(call: &MethodDescriptor, text: &[u8]) -> Result<A, Status> {
    let malformed = |error: &dyn Error| Status::unavailable(format!("the answer does not match the contract: {error}"));
    motherlode_runtime::json::check_members(text).map_err(|error| malformed(&error))?;
    let mut text = serde_json::Deserializer::from_slice(text);
    let lenient = DeserializeOptions::new().deny_unknown_fields(false);
    let message = DynamicMessage::deserialize_with_options(call.output(), &mut text, &lenient);
    let message = message.map_err(|error| malformed(&error))?;
    text.end().map_err(|error| malformed(&error))?;
    A::decode(&*message.encode_to_vec()).map_err(|error| malformed(&error))
}

fn causes(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::wallet::v1::{DebitResponse, Outcome};

    const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn debit() -> MethodDescriptor {
        SERVICE.as_ref().unwrap().methods().find(|call| call.name() == "Debit").unwrap()
    }

    #[test]
    fn pl_31_mf_c5_an_answer_is_of_the_contract_or_none() {
        let good =
            br#" {"result": {"outcome": "OUTCOME_DONE", "balanceMinor": "900", "trace": 7}, "of": "the operator"} "#;
        let result = read::<DebitResponse>(&debit(), good).unwrap().result.unwrap();
        assert_eq!((result.outcome(), result.balance_minor), (Outcome::Done, Some(900)));
        let odd = read::<DebitResponse>(&debit(), br#"{"result": {"outcome": "DONE"}}"#).unwrap();
        assert_eq!(odd.result.unwrap().outcome(), Outcome::Unspecified);
        for bad in [
            "",
            "{",
            "[]",
            "null",
            "<html>",
            "{} {}",
            r#"{"result": {"balanceMinor": "9223372036854775808"}}"#,
            r#"{"result": {"balanceMinor": 0.5}}"#,
            r#"{"result": "OUTCOME_DONE"}"#,
            r#"{"result": {"outcome": "OUTCOME_REFUSED", "outcome": "OUTCOME_DONE"}}"#,
            r#"{"result": {"outcome": "OUTCOME_DONE", "balanceMinor": "1", "balance_minor": "2"}}"#,
        ] {
            assert!(read::<DebitResponse>(&debit(), bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(
            read::<DebitResponse>(&debit(), "[".repeat(100_000).as_bytes()).is_err(),
            "deeply nested JSON must be refused"
        );
    }

    #[test]
    fn pl_31_what_cannot_be_used_is_said_before_anything_is_asked() {
        let refused = |url: &str, ca, key: &[u8]| Json::new(url, ca, key, 1).err().unwrap_or_default();
        assert_eq!(refused("http://127.0.0.1:1/wallet/", None, KEY), "");
        for (url, ca, key, said) in [
            ("http://127.0.0.1:1", Some(&b"x"[..]), KEY, "ca requires an https url"),
            ("https://a:1", Some(b"x"), KEY, "no certificate"),
            ("ftp://a:1", None, KEY, "must begin with https"),
            ("http://u:p@127.0.0.1:1", None, KEY, "must be a URL"),
            ("http://127.0.0.1:1/?a=b", None, KEY, "must be a URL"),
            ("/path", None, KEY, "must be a URL"),
            ("http://127.0.0.1:1", None, &KEY[1..], "32 characters"),
        ] {
            assert!(refused(url, ca, key).contains(said), "{url}: {}", refused(url, ca, key));
        }
    }

    #[test]
    fn pl_31_no_two_requests_have_the_same_nonce_and_the_whole_path_is_signed() {
        let json = Json::new("http://127.0.0.1:1/base/", None, KEY, 1).unwrap();
        let make = || json.request("Debit", Bytes::from_static(b"{}")).unwrap();
        let (one, other) = (make(), make());
        assert_eq!(one.uri(), "http://127.0.0.1:1/base/v1/WalletService/Debit");
        assert_ne!(one.headers()["motherlode-nonce"], other.headers()["motherlode-nonce"]);
        let text = |name: &str| one.headers()[name].to_str().unwrap();
        let (time_ms, nonce) = (text("motherlode-timestamp").parse().unwrap(), text("motherlode-nonce"));
        let signed = Signed { method: "POST", path: "/base/v1/WalletService/Debit", time_ms, nonce };
        assert_eq!(text("motherlode-signature"), Signer::new(KEY).unwrap().sign(signed, b"{}"));
    }
}
