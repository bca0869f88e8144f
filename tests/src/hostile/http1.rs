use super::{Target, Wire};
use std::io::{self, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HEAD_MAX: usize = 16 << 10;

impl Target {
    #[must_use]
    pub fn json(&self, method: &str, message: &str) -> String {
        let authorization = self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n"));
        format!(
            "POST /v1/{method} HTTP/1.1\r\nhost: {}\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n{message}",
            self.address,
            authorization.unwrap_or_default(),
            message.len()
        )
    }
}

pub async fn ask(wire: &mut Wire, call: &str) -> io::Result<(u16, String)> {
    wire.write_all(call.as_bytes()).await?;
    wire.flush().await?;
    let (head, mut body) = head(wire).await?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
    let length = length.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "an answer without a length"))?;
    while body.len() < length {
        if wire.read_buf(&mut body).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok((status(&head), String::from_utf8_lossy(&body).into_owned()))
}

pub async fn begin(wire: &mut Wire, call: &str) -> io::Result<u16> {
    wire.write_all(call.as_bytes()).await?;
    wire.flush().await?;
    Ok(status(&head(wire).await?.0))
}

async fn head(wire: &mut Wire) -> io::Result<(String, Vec<u8>)> {
    let mut read = vec![];
    loop {
        if let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let body = read.split_off(end + 4);
            return Ok((String::from_utf8_lossy(&read).into_owned(), body));
        }
        if read.len() > HEAD_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "an answer's head has no end"));
        }
        if wire.read_buf(&mut read).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}
