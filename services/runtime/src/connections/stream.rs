use super::{
    frames::Frames,
    table::{Bounds, Connection},
};
use rustix::net::sockopt;
use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};
use tokio_rustls::server::TlsStream;

pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Time for the client to close a connection before the service closes it. If the service closed the connection at once,
/// the client could lose unread answers (RFC 9112, 9.6).
const LINGER: Duration = Duration::from_secs(2);
const PROBES: u32 = 4;
const LINGER_BYTES: usize = 4 << 10;

pub(super) struct Greeted {
    wire: Wire,
    connection: Arc<Connection>,
    frames: Option<Frames>,
    exceeded: bool,
    lingering: Option<Pin<Box<Sleep>>>,
}

impl Greeted {
    pub(super) fn http2(wire: Wire, connection: Arc<Connection>) -> Self {
        let frames = Frames::new(connection.bounds().control_frames, Instant::now());
        Self { wire, connection, frames: Some(frames), exceeded: false, lingering: None }
    }

    pub(super) fn http1(wire: Wire, connection: Arc<Connection>) -> Self {
        Self { wire, connection, frames: None, exceeded: false, lingering: None }
    }
}

impl Greeted {
    fn sent(&mut self, bytes: usize) -> usize {
        if let Some(frames) = &mut self.frames {
            frames.sent(bytes);
        }
        bytes
    }
}

macro_rules! of {
    ($wire:expr, $stream:ident => $call:expr) => {
        match $wire {
            Wire::Plain($stream) => $call,
            Wire::Tls($stream) => $call,
        }
    };
}

impl Wire {
    pub(super) fn probe(&self, bounds: &Bounds) {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        };
        let _ = sockopt::set_socket_keepalive(tcp, true);
        let _ = sockopt::set_tcp_keepidle(tcp, bounds.keep_alive.max(Duration::from_secs(1)));
        let _ = sockopt::set_tcp_keepintvl(tcp, (bounds.keep_alive_answer / PROBES).max(Duration::from_secs(1)));
        let _ = sockopt::set_tcp_keepcnt(tcp, PROBES);
    }

    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
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
        let Self { wire, connection, frames, exceeded, .. } = &mut *self;
        if *exceeded {
            return Poll::Pending;
        }
        ready!(of!(wire, stream => Pin::new(stream).poll_read(context, into)))?;
        let Some(frames) = frames else { return Poll::Ready(Ok(())) };
        let within = frames.take(&into.filled()[before..], Instant::now);
        if frames.have_begun() {
            connection.greet();
        }
        if !within {
            into.set_filled(before);
            *exceeded = true;
            connection.exceed();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(of!(&mut self.wire, stream => Pin::new(stream).poll_write(context, bytes)))?;
        Poll::Ready(Ok(self.sent(written)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of!(&mut self.wire, stream => Pin::new(stream).poll_flush(context))
    }

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
        let written = ready!(of!(&mut self.wire, stream => Pin::new(stream).poll_write_vectored(context, parts)))?;
        Poll::Ready(Ok(self.sent(written)))
    }

    fn is_write_vectored(&self) -> bool {
        of!(&self.wire, stream => stream.is_write_vectored())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::table::Table, *};
    use crate::config::Limits;
    use std::io::{Read, Write};
    use tokio::io::AsyncWriteExt;

    async fn connected() -> (Greeted, std::net::TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, address) = listener.accept().await.unwrap();
        let admitted = Table::new(Bounds::for_limits(&Limits::default(), 1 << 20)).admit(address.ip()).unwrap();
        (Greeted::http2(Wire::Plain(stream), Arc::clone(&admitted.0)), peer)
    }

    #[tokio::test(start_paused = true)]
    async fn pl_30_a_peer_that_still_sends_when_the_service_ends_reads_all_and_finds_no_reset() {
        let (mut service, mut peer) = connected().await;
        service.write_all(b"the last answer").await.unwrap();
        let mut ending = Box::pin(service.shutdown());
        assert!(futures_util::poll!(&mut ending).is_pending());
        for _ in 0..100 {
            peer.write_all(&[0; 1_000]).expect("the connection was not reset");
            assert!(futures_util::poll!(&mut ending).is_pending(), "the peer has not ended");
        }
        let mut read = vec![];
        peer.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"the last answer");
        let before = tokio::time::Instant::now();
        drop(peer);
        ending.await.unwrap();
        assert!(before.elapsed() < LINGER, "the connection ends when the peer does");
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
