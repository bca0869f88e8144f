//! The bytes of a connection, in the clear or through TLS.

use super::table::Connection;
use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};
use tokio_rustls::server::TlsStream;

/// A connection's bytes.
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The length of a client's first bytes: HTTP/2's magic and the head of its settings (RFC 9113, 3.4).
const GREETING: usize = 24 + 9;

/// How long the peer's end is awaited after the service's own. A socket that is closed while the peer still sends resets
/// the connection, and the peer may lose the answers that it has not read yet (RFC 9112, 9.6, says so of HTTP/1.1).
const LINGER: Duration = Duration::from_secs(2);
/// Bytes that are read at once, and dropped, meanwhile.
const LINGER_BYTES: usize = 4 << 10;

/// A connection that is known to be HTTP/2 once the length of the preface was read; HTTP/2 itself checks the preface.
pub(super) struct Greeted {
    wire: Wire,
    connection: Arc<Connection>,
    /// Bytes of the preface that were read.
    read: usize,
    /// The time left for the peer to end, once the service has ended its half.
    lingering: Option<Pin<Box<Sleep>>>,
}

impl Greeted {
    pub(super) fn new(wire: Wire, connection: Arc<Connection>) -> Self {
        Self { wire, connection, read: 0, lingering: None }
    }
}

/// Calls a method of either variant.
macro_rules! of {
    ($wire:expr, $stream:ident => $call:expr) => {
        match $wire {
            Wire::Plain($stream) => $call,
            Wire::Tls($stream) => $call,
        }
    };
}

impl Wire {
    /// Reads and drops what the peer sends until it ends.
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            // Records need not be opened any more.
            Self::Tls(tls) => tls.get_mut().0,
        };
        let mut space = [0; LINGER_BYTES];
        loop {
            let mut dropped = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut *tcp).poll_read(context, &mut dropped))?;
            if dropped.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl AsyncRead for Greeted {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(of!(&mut self.wire, stream => Pin::new(stream).poll_read(context, into)))?;
        if self.read < GREETING {
            self.read += into.filled().len() - before;
            if self.read >= GREETING {
                self.connection.greet();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        of!(&mut self.wire, stream => Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of!(&mut self.wire, stream => Pin::new(stream).poll_flush(context))
    }

    /// Ends the service's half, and waits for the peer's end, but not for long.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { wire, lingering, .. } = &mut *self;
        if lingering.is_none() {
            ready!(of!(wire, stream => Pin::new(stream).poll_shutdown(context)))?;
        }
        let lingering = lingering.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        match wire.poll_drain(context) {
            Poll::Ready(ended) => Poll::Ready(ended),
            Poll::Pending => lingering.as_mut().poll(context).map(Ok),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of!(&mut self.wire, stream => Pin::new(stream).poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        of!(&self.wire, stream => stream.is_write_vectored())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::table::{Bounds, Table},
        *,
    };
    use crate::config::Limits;
    use std::io::{Read, Write};
    use tokio::io::AsyncWriteExt;

    /// A connection that was accepted, and its peer.
    async fn connected() -> (Greeted, std::net::TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, address) = listener.accept().await.unwrap();
        let admitted = Table::new(Bounds::of(&Limits::default(), 1 << 20)).admit(address.ip()).unwrap();
        (Greeted::new(Wire::Plain(stream), Arc::clone(&admitted.0)), peer)
    }

    #[tokio::test(start_paused = true)]
    async fn pl_30_a_peer_that_still_sends_when_the_service_ends_reads_all_and_finds_no_reset() {
        let (mut service, mut peer) = connected().await;
        service.write_all(b"the last answer").await.unwrap();
        let mut ending = Box::pin(service.shutdown());
        assert!(futures_util::poll!(&mut ending).is_pending());
        for _ in 0..100 {
            peer.write_all(&[0; 1_000]).expect("nobody has reset the connection");
            assert!(futures_util::poll!(&mut ending).is_pending(), "the peer has not ended");
        }
        let mut read = vec![];
        peer.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"the last answer");
        let before = tokio::time::Instant::now();
        drop(peer);
        ending.await.unwrap();
        assert!(before.elapsed() < LINGER, "it ends with the peer");
    }

    #[tokio::test(start_paused = true)]
    async fn uf_02_a_peer_that_never_ends_is_not_waited_for_without_end() {
        let (mut service, peer) = connected().await;
        let before = tokio::time::Instant::now();
        service.shutdown().await.unwrap();
        assert!(before.elapsed() >= LINGER);
        drop(peer);
    }
}
