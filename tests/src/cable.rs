//! A link between two processes that a test can cut: a TCP proxy. What is cut says nothing more, and neither end is told.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// A link; it ends when this is dropped.
pub struct Cable {
    /// Where it's plugged in.
    pub address: SocketAddr,
    to: Arc<Mutex<SocketAddr>>,
    whole: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Cable {
    /// Leads to an address.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn to(address: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let at = listener.local_addr().expect("it is bound");
        let (to, whole) = (Arc::new(Mutex::new(address)), watch::Sender::new(true));
        let (target, cut) = (Arc::clone(&to), whole.subscribe());
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (target, cut) = (*target.lock().expect("no panic"), cut.clone());
                tokio::spawn(carry(near, target, cut));
            }
        });
        Self { address: at, to, whole, accepting }
    }

    /// Leads new connections elsewhere: the process at the end was started again.
    ///
    /// # Panics
    /// Never.
    pub fn lead_to(&self, address: SocketAddr) {
        *self.to.lock().expect("no panic") = address;
    }

    /// Cuts it: what is on its way is lost, and what is sent later.
    pub fn cut(&self) {
        self.whole.send_replace(false);
    }

    /// Mends it. Connections that were cut are broken for good.
    pub fn mend(&self) {
        self.whole.send_replace(true);
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Carries a connection's bytes until it ends or is cut; then it's held, silent, until the cable is mended.
async fn carry(mut near: TcpStream, target: SocketAddr, whole: watch::Receiver<bool>) {
    turns(whole.clone(), true).await;
    let Ok(mut far) = TcpStream::connect(target).await else { return };
    for end in [&near, &far] {
        let _: io::Result<()> = end.set_nodelay(true);
    }
    let ended = tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => true,
        () = turns(whole.clone(), false) => false,
    };
    if !ended {
        turns(whole, true).await;
        let _ = near.shutdown().await;
    }
}

/// Waits until a cable is whole, or cut.
async fn turns(mut whole: watch::Receiver<bool>, wanted: bool) {
    // Without its sender the cable is gone.
    let _ = whole.wait_for(|whole| *whole == wanted).await;
}
