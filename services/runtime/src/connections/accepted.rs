use super::{
    handshakes::{HandshakeError, Handshakes},
    peer::Peer,
    stream::Wire,
    table::{Admitted, Bounds, Connection, Table},
    tls::Acceptor,
};
use crate::stop::Stop;
use std::{
    io,
    net::SocketAddr,
    pin::pin,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

const PAUSE: Duration = Duration::from_millis(50);
const WARN_EVERY: Duration = Duration::from_secs(10);

/// Connections and TLS handshakes of a process; all listeners and clones share them.
#[derive(Clone)]
pub struct Admission {
    table: Table,
    handshakes: Arc<OnceLock<Handshakes>>,
    tls_handshakes_max: usize,
}

impl Admission {
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let tls_handshakes_max = bounds.tls_handshakes;
        Self { table: Table::new(bounds), handshakes: Arc::default(), tls_handshakes_max }
    }

    pub fn reweigh(&self) {
        self.table.reweigh();
    }

    #[must_use]
    pub fn connections(&self) -> usize {
        self.table.count()
    }

    fn handshakes(&self) -> &Handshakes {
        self.handshakes.get_or_init(|| Handshakes::new(self.tls_handshakes_max))
    }
}

pub(super) struct Listening {
    pub(super) listener: TcpListener,
    pub(super) acceptor: Option<Acceptor>,
    pub(super) admission: Admission,
    pub(super) refusal: &'static [u8],
    pub(super) stop: Stop,
}

impl Listening {
    pub(super) async fn accept(self, mut begin: impl FnMut(Accepted, &mut JoinSet<()>)) {
        let Self { listener, acceptor, admission, refusal, stop } = self;
        let mut served = JoinSet::new();
        {
            let listener = listener;
            let mut stopped = pin!(stop.clone().requested());
            let mut warned = None;
            loop {
                let accepted = tokio::select! {
                    biased;
                    () = &mut stopped => break,
                    Some(_) = served.join_next() => continue,
                    accepted = listener.accept() => accepted,
                };
                match accepted.and_then(|(stream, peer)| Ok((stream.into_std()?, peer))) {
                    Ok((stream, peer)) => match admission.table.admit(peer.ip()) {
                        None => {
                            let _ = io::Write::write(&mut &stream, refusal);
                            admission.table.say_refused(peer.ip());
                        }
                        Some(admitted) => {
                            let (acceptor, admission, stop) = (acceptor.clone(), admission.clone(), stop.clone());
                            begin(Accepted { stream, peer, admitted, acceptor, admission, stop }, &mut served);
                        }
                    },
                    Err(error) if of_the_peer(&error) => {}
                    Err(error) => {
                        let now = Instant::now();
                        if warned.is_none_or(|warned| now > warned + WARN_EVERY) {
                            warned = Some(now);
                            let connections = admission.table.count();
                            tracing::error!(%error, connections, "cannot accept connections; one open connection is closed to free a file descriptor");
                        }
                        admission.table.make_way();
                        tokio::select! {
                            () = &mut stopped => break,
                            () = sleep(PAUSE) => {}
                        }
                    }
                }
            }
        }
        while served.join_next().await.is_some() {}
    }
}

fn of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, TimedOut};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | BrokenPipe | Interrupted | TimedOut
    )
}

pub(super) struct Accepted {
    stream: std::net::TcpStream,
    peer: SocketAddr,
    admitted: Admitted,
    acceptor: Option<Acceptor>,
    admission: Admission,
    stop: Stop,
}

pub(super) struct Opened {
    pub(super) wire: Wire,
    pub(super) connection: Arc<Connection>,
    pub(super) peer: Arc<Peer>,
    pub(super) by: tokio::time::Instant,
    pub(super) stop: Stop,
}

impl Accepted {
    pub(super) async fn serve<F>(self, run: impl FnOnce(Opened) -> F)
    where
        F: Future<Output = Option<&'static str>>,
    {
        let (connection, peer) = (Arc::clone(&self.admitted.0), self.peer);
        let served = async {
            match self.open().await {
                Ok((opened, _admitted)) => run(opened).await,
                Err(why) => why,
            }
        };
        tokio::select! {
            biased;
            () = connection.shed() => tracing::debug!(%peer, "a connection was closed to make room for a new connection"),
            why = served => if let Some(why) = why {
                tracing::debug!(%peer, why, "a connection was closed");
            },
        }
    }

    async fn open(self) -> Result<(Opened, Admitted), Option<&'static str>> {
        let Self { stream, peer, admitted, acceptor, admission, stop } = self;
        let connection = Arc::clone(&admitted.0);
        let by = tokio::time::Instant::now() + connection.bounds().handshake;
        let stream = TcpStream::from_std(stream)
            .map_err(|_| Some("the process had no free file descriptor for the connection"))?;
        let _ = stream.set_nodelay(true);
        let wire = match acceptor {
            None => Wire::Plain(stream),
            Some(acceptor) => tokio::select! {
                () = stop.clone().requested() => return Err(Some("the service stops")),
                result = admission.handshakes().handshake(acceptor, stream, peer.ip(), by) => match result {
                    Ok(stream) => Wire::Tls(Box::new(stream)),
                    Err(HandshakeError::Failed) => return Err(None),
                    Err(HandshakeError::Late) => return Err(Some("the TLS handshake did not complete in time")),
                    Err(HandshakeError::Displaced) => return Err(Some("this connection's TLS handshake was displaced \
                         by a handshake of another peer")),
                },
            },
        };
        let peer = Arc::new(Peer::new(peer.ip(), &wire, Arc::clone(&connection)));
        Ok((Opened { wire, connection, peer, by, stop }, admitted))
    }
}
