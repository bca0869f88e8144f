use crate::roots;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, Response, header::AUTHORIZATION};
use std::{
    fmt,
    task::{Context, Poll},
    time::Duration,
};
use tonic::{
    body::Body,
    transport::{
        Certificate, Channel, ClientTlsConfig, Endpoint, Error as TransportError, Identity, channel::ResponseFuture,
    },
};
use tower::Service;

const CONNECT_MAX: Duration = Duration::from_secs(3);
/// Time without data from the server after which a ping is sent; also the maximum time to wait for the ping's answer.
const PING_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    pub token: Option<String>,
    pub ca: Option<Vec<u8>>,
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Name that the server's certificate must contain; default: the target's host.
    pub server_name: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, ca, identity, server_name } = self;
        let (token, ca, identity) = (token.is_some(), ca.is_some(), identity.is_some());
        write!(f, "Credentials(token: {token}, ca: {ca}, identity: {identity}, server_name: {server_name:?})")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{0}")]
    Unusable(String),
    #[error("no service answers at {target}: {reason}")]
    Nobody { target: String, reason: String },
}

#[derive(Debug, Clone)]
pub struct Connection {
    channel: Channel,
    authorization: Option<HeaderValue>,
}

/// `answer_max` limits the time of calls without a deadline.
pub fn connect<'a>(
    target: &'a str,
    credentials: &'a Credentials,
    answer_max: Option<Duration>,
) -> BoxFuture<'a, Result<Connection, ConnectError>> {
    Box::pin(async move {
        open(target, credentials, |endpoint| match answer_max {
            Some(answer_max) => endpoint.timeout(answer_max),
            None => endpoint,
        })
        .await
    })
}

/// Connects to a process of the same installation; pings detect a lost connection.
pub fn connect_lasting<'a>(
    target: &'a str,
    credentials: &'a Credentials,
) -> BoxFuture<'a, Result<Connection, ConnectError>> {
    Box::pin(async move {
        open(target, credentials, |endpoint| {
            endpoint.http2_keep_alive_interval(PING_EVERY).keep_alive_timeout(PING_EVERY).keep_alive_while_idle(true)
        })
        .await
    })
}

/// Creates a connection that is established on first use and again after each loss.
pub fn connect_lazily(target: &str, credentials: &Credentials) -> Result<Connection, ConnectError> {
    let (endpoint, authorization) = prepare(target, credentials)?;
    let endpoint = endpoint.connect_timeout(CONNECT_MAX).tcp_nodelay(true);
    let endpoint = endpoint.http2_keep_alive_interval(PING_EVERY * 10).keep_alive_timeout(PING_EVERY * 10);
    Ok(Connection { channel: endpoint.connect_lazy(), authorization })
}

pub fn check(target: &str, credentials: &Credentials) -> Result<(), ConnectError> {
    prepare(target, credentials).map(drop).map_err(|error| match error {
        // The target comes from the configuration, so the message must not name `--target`.
        ConnectError::Unusable(fault) => ConnectError::Unusable(fault.trim_start_matches("--target ").to_owned()),
        other => other,
    })
}

/// If `ca` (PEM) is `None`, the settings trust the system's root certificates.
pub(crate) fn tls(ca: Option<&[u8]>) -> Result<ClientTlsConfig, String> {
    let tls = ClientTlsConfig::new();
    match ca {
        Some(ca) => roots::named(ca).map(|_| tls.ca_certificate(Certificate::from_pem(ca))),
        None => roots::of_system().map(|roots| tls.trust_anchors(roots.roots)),
    }
}

async fn open(
    target: &str,
    credentials: &Credentials,
    with: impl FnOnce(Endpoint) -> Endpoint,
) -> Result<Connection, ConnectError> {
    let (endpoint, authorization) = prepare(target, credentials)?;
    let connected = with(endpoint).connect_timeout(CONNECT_MAX).tcp_nodelay(true).connect().await;
    let nobody = |error| ConnectError::Nobody { target: target.to_owned(), reason: cause(&error) };
    Ok(Connection { channel: connected.map_err(nobody)?, authorization })
}

fn prepare(target: &str, credentials: &Credentials) -> Result<(Endpoint, Option<HeaderValue>), ConnectError> {
    let unusable = |what: &str| ConnectError::Unusable(format!("--target {target}: {what}"));
    let malformed = || unusable("must be a URL such as http://127.0.0.1:50051 or https://localhost:50051");
    let mut endpoint = Endpoint::from_shared(target.to_owned()).map_err(|_| malformed())?;
    if endpoint.uri().host().is_none_or(str::is_empty) {
        return Err(malformed());
    }
    let has_port = endpoint
        .uri()
        .authority()
        .is_some_and(|authority| authority.as_str().rsplit(']').next().is_some_and(|end| end.contains(':')));
    if has_port && endpoint.uri().port_u16().is_none_or(|port| port == 0) {
        return Err(unusable("the port must be 1 to 65535"));
    }
    match (endpoint.uri().scheme_str(), &credentials.ca) {
        (Some("http"), None) if credentials.identity.is_none() => {}
        (Some("http"), _) => return Err(unusable("--ca, --cert and --key are for https targets only")),
        (Some("https"), ca) => {
            let named = if ca.is_some() { "cannot use the root certificate (--ca): " } else { "" };
            let mut tls = tls(ca.as_deref()).map_err(|fault| unusable(&format!("{named}{fault}")))?;
            if let Some((certificate, key)) = &credentials.identity {
                tls = tls.identity(Identity::from_pem(certificate, key));
            }
            if let Some(name) = &credentials.server_name {
                tls = tls.domain_name(name);
            }
            endpoint = endpoint.tls_config(tls).map_err(|error| {
                let named = match (&credentials.identity, &credentials.server_name) {
                    (Some(_), _) => "the certificate and its key (--cert, --key) must be PEM and match: ",
                    (None, Some(_)) => "the name of the certificate (--server-name) is not valid: ",
                    (None, None) => "",
                };
                unusable(&format!("{named}{}", cause(&error)))
            })?;
        }
        _ => return Err(malformed()),
    }
    let authorization = credentials.token.as_ref().map(|token| {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))?;
        value.set_sensitive(true);
        Ok::<_, http::header::InvalidHeaderValue>(value)
    });
    let authorization = authorization.transpose();
    let authorization = authorization.map_err(|_| {
        ConnectError::Unusable("the token contains characters that are not allowed in a header".to_owned())
    })?;
    Ok((endpoint, authorization))
}

fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

impl From<Channel> for Connection {
    fn from(channel: Channel) -> Self {
        Self { channel, authorization: None }
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Body>;
    type Error = TransportError;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        self.channel.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> ResponseFuture {
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        self.channel.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refused(target: &str, credentials: &Credentials) -> ConnectError {
        connect(target, credentials, None).await.unwrap_err()
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_said_with_the_target() {
        let plain = Credentials::default();
        let rooted = Credentials { ca: Some(vec![]), ..plain.clone() };
        for (target, credentials) in [
            ("127.0.0.1:50051", &plain),
            ("ftp://localhost:1", &plain),
            ("http://", &plain),
            ("http://a b", &plain),
            ("http://localhost:1", &rooted),
        ] {
            let error = refused(target, credentials).await;
            assert!(matches!(&error, ConnectError::Unusable(said) if said.contains(target)), "{error}");
        }
        let odd = Credentials { token: Some("a\nb".to_owned()), ..plain };
        assert!(matches!(refused("http://127.0.0.1:1", &odd).await, ConnectError::Unusable(_)));
    }

    #[tokio::test]
    async fn nobody_at_the_target_is_said_with_the_systems_reason() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let error = refused(&target, &Credentials::default()).await;
        assert!(
            matches!(&error, ConnectError::Nobody { reason, .. } if reason.contains("Connection refused")),
            "{error}"
        );
    }

    #[test]
    fn a_token_is_never_shown() {
        let credentials = Credentials { token: Some("secret".to_owned()), ..Credentials::default() };
        assert_eq!(
            format!("{credentials:?}"),
            "Credentials(token: true, ca: false, identity: false, server_name: None)"
        );
    }
}
