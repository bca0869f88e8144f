//! HTTP/1.1 connections to a wallet: plain on this machine, else TLS.

use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use motherlode_runtime::roots;
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, crypto::ring::default_provider, pki_types::ServerName},
};
use tower::Service;

/// Maximum time with the handshake.
const CONNECT_MAX: Duration = Duration::from_secs(3);

#[derive(Clone)]
pub(crate) struct Connector(Option<TlsConnector>);

impl Connector {
    pub(crate) fn plain() -> Self {
        Self(None)
    }

    /// Creates TLS connections that trust a root certificate (PEM), by default the system's. Fails with an unusable
    /// root.
    pub(crate) fn trusting(root: Option<&[u8]>) -> Result<Self, String> {
        let roots = root.map_or_else(roots::of_system, roots::named)?;
        // All connections of the process use the same provider, independent of crate features.
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols.push(b"http/1.1".to_vec());
        Ok(Self(Some(TlsConnector::from(Arc::new(config)))))
    }

    async fn connect(self, to: Uri) -> io::Result<Link> {
        let host = to.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = to.port_u16().unwrap_or(if self.0.is_some() { 443 } else { 80 });
        let stream = TcpStream::connect((host.as_str(), port)).await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Duplex> = match self.0 {
            None => Box::new(stream),
            Some(tls) => {
                let name = ServerName::try_from(host).map_err(io::Error::other)?;
                Box::new(tls.connect(name, stream).await?)
            }
        };
        Ok(Link(TokioIo::new(stream)))
    }
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Link>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connected = timeout(CONNECT_MAX, self.clone().connect(to));
        Box::pin(async move { connected.await.unwrap_or_else(|late| Err(late.into())) })
    }
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

pub(crate) struct Link(TokioIo<Box<dyn Duplex>>);

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Link {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl Write for Link {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
