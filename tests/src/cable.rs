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

pub struct Cable {
    pub address: SocketAddr,
    to: Arc<Mutex<SocketAddr>>,
    whole: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Cable {
    pub async fn to(address: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let at = listener.local_addr().expect("the listener has an address");
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

    pub fn lead_to(&self, address: SocketAddr) {
        *self.to.lock().expect("no panic") = address;
    }

    pub fn cut(&self) {
        self.whole.send_replace(false);
    }

    pub fn mend(&self) {
        self.whole.send_replace(true);
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

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

async fn turns(mut whole: watch::Receiver<bool>, wanted: bool) {
    let _ = whole.wait_for(|whole| *whole == wanted).await;
}
