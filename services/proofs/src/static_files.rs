//! Serves the tree's files over HTTP. The files contain only hashes, so they are public.

use crate::{
    http1::{answer, plain, serve},
    proofs::{Partition, Proofs, Signed},
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;
use motherlode_runtime::{Stop, connections::Admission};
use motherlode_tiles::Tile;
use std::sync::Arc;
use tokio::net::TcpListener;

pub fn serve_tiles(listener: TcpListener, admission: Admission, proofs: Proofs, stop: Stop) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        serve(listener, admission, stop, move |method, path, _| {
            match method == Method::GET || method == Method::HEAD {
                true => found(&proofs, &path)
                    .unwrap_or_else(|| plain(StatusCode::NOT_FOUND, "there is no file at this path")),
                false => plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed"),
            }
        })
        .await;
    })
}

fn found(proofs: &Proofs, path: &str) -> Option<Response<Full<Bytes>>> {
    let (partition, file) = path.strip_prefix("/log/")?.split_once('/')?;
    let partition = proofs.partition(partition.parse().ok().filter(|number: &u32| number.to_string() == partition)?)?;
    let last = newest(partition)?;
    if file == "checkpoint" {
        let mut answer = answer(StatusCode::OK, "text/plain; charset=utf-8", last.note.to_string());
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        return Some(answer);
    }
    let tile = file.parse::<Tile>().ok().filter(|tile| tile.is_within(last.checkpoint.size))?;
    match partition.files.tile(tile) {
        Ok(content) => {
            let mut answer = answer(StatusCode::OK, "application/octet-stream", content);
            let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
            answer.headers_mut().insert(header::CACHE_CONTROL, forever);
            Some(answer)
        }
        Err(error) => {
            tracing::error!(%error, path, "failed to read a tile of the Merkle tree: a restart rebuilds damaged files");
            Some(plain(StatusCode::SERVICE_UNAVAILABLE, "the file cannot be read: retry later"))
        }
    }
}

fn newest(partition: &Partition) -> Option<Arc<Signed>> {
    let published = partition.published();
    let published = published.borrow();
    let last = published.last.as_ref()?;
    let cosigned = published.cosigned.as_ref().filter(|cosigned| cosigned.checkpoint == last.checkpoint);
    Some(Arc::clone(cosigned.unwrap_or(last)))
}
