//! Client of S3-compatible servers, with the process's HTTP client and TLS provider. Address, region and credentials come
//! from the AWS_* variables of the environment.

use async_trait::async_trait;
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioTimer},
};
use motherlode_runtime::{https, roots};
use object_store::{
    ClientOptions, ObjectStore,
    aws::AmazonS3Builder,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
        HttpResponseBody, HttpService,
    },
};
use std::{sync::Arc, time::Duration};
use tokio_rustls::rustls::RootCertStore;

const CONNECT_MAX: Duration = Duration::from_secs(10);
const IDLE_MAX: Duration = Duration::from_secs(30);

pub(crate) fn open(bucket: &str) -> Result<Arc<dyn ObjectStore>, String> {
    let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_http_connector(Connector);
    builder.build().map(|store| Arc::new(store) as Arc<dyn ObjectStore>).map_err(|error| error.to_string())
}

#[derive(Debug)]
struct Connector;

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        // If the system has no root certificates, servers without TLS still work.
        let roots = roots::of_system().unwrap_or_else(|_| RootCertStore::empty());
        let client = Client::new(roots).map_err(|source| object_store::Error::Generic { store: "S3", source })?;
        Ok(HttpClient::new(client))
    }
}

#[derive(Debug)]
struct Client(legacy::Client<https::Connector, HttpRequestBody>);

impl Client {
    fn new(roots: RootCertStore) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let connector = https::connector(roots, CONNECT_MAX)?;
        let mut client = legacy::Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_MAX);
        Ok(Self(client.build(connector)))
    }
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = self.0.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Request };
            HttpError::new(kind, error)
        })?;
        let (head, body) = answer.into_parts();
        let body = http_body_util::BodyExt::map_err(body, |error| HttpError::new(HttpErrorKind::Interrupted, error));
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}
