//! Serves the newest checkpoint of a partition's views (state files) to replicas.

use crate::{error::FetchError, handle::Handle};
use motherlode_log::{Hash, ReadError};
use motherlode_runtime::Refusal;
use motherlode_views::ViewError;
use std::{io, net::SocketAddr};

const PART_BYTES_MAX: usize = 1 << 20;
const PINNED_FOR_MS: u64 = 3_600_000;

/// Keeps the newest checkpoint's files until a replica has read them. Returns the checkpoint's digest, or `None` if
/// there is no checkpoint or too many checkpoints are being kept.
pub(crate) async fn pin(
    ledger: &Handle,
    credential: &str,
    address: Option<SocketAddr>,
) -> Result<Option<Hash>, FetchError> {
    let host = address.map(|address| address.ip().to_string()).unwrap_or_default();
    let (name, store, now) = (format!("{credential} {host}"), ledger.views(), ledger.now_ms());
    let now = u64::try_from(now).unwrap_or_default();
    blocking(move || {
        store.expire_pins(now)?;
        store.pin(&name, now + PINNED_FOR_MS)
    })
    .await
}

pub(crate) async fn read_part(ledger: &Handle, digest: Vec<u8>, offset: u64) -> Result<(Vec<u8>, u64), Refusal> {
    let id = Hash::try_from(digest).map_err(|_| Refusal::field("digest", "must have 32 bytes"))?;
    let store = ledger.views();
    Ok(blocking(move || store.read_part(&id, offset, PART_BYTES_MAX)).await?)
}

async fn blocking<T: Send + 'static>(
    body: impl FnOnce() -> Result<T, ViewError> + Send + 'static,
) -> Result<T, FetchError> {
    let done = tokio::task::spawn_blocking(body).await;
    Ok(done.map_err(|error| ReadError::Io(io::Error::other(error)))??)
}
