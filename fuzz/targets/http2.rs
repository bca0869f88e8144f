//! Sends arbitrary bytes on a connection, with or without the HTTP/2 preface. The service must not panic, and must accept
//! the next connection.
#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_fuzz::service::SERVICE;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const BEGINNING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const LISTEN: Duration = Duration::from_millis(3);

async fn send(bytes: &[u8]) {
    let mut stream = TcpStream::connect(SERVICE.address()).await.expect("the service accepts connections");
    let _ = stream.set_nodelay(true);
    let (raw, bytes) = bytes.split_first().map_or((false, bytes), |(first, rest)| (first % 8 == 7, rest));
    if !raw && stream.write_all(BEGINNING).await.is_err() {
        return;
    }
    let _ = stream.write_all(bytes).await;
    let mut answer = [0; 4096];
    while let Ok(Ok(1..)) = tokio::time::timeout(LISTEN, stream.read(&mut answer)).await {}
    let _ = stream.set_zero_linger();
}

fuzz_target!(|bytes: &[u8]| {
    SERVICE.runtime.block_on(send(bytes));
    SERVICE.check();
});
