//! The bytes of a connection, in the clear or through TLS.

use super::table::Connection;
use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

/// A connection's bytes.
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The length of a client's first bytes: HTTP/2's magic and the head of its settings (RFC 9113, 3.4).
const GREETING: usize = 24 + 9;

/// A connection that is known to be HTTP/2 once the length of the preface was read; HTTP/2 itself checks the preface.
pub(super) struct Greeted {
    wire: Wire,
    connection: Arc<Connection>,
    /// Bytes of the preface that were read.
    read: usize,
}

impl Greeted {
    pub(super) fn new(wire: Wire, connection: Arc<Connection>) -> Self {
        Self { wire, connection, read: 0 }
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

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of!(&mut self.wire, stream => Pin::new(stream).poll_shutdown(context))
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
