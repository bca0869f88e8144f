//! A small witness, which serves `POST /add-checkpoint` of c2sp.org/tlog-witness.
//!
//! The last cosigned checkpoint of each log is in a file whose name is the SHA-256 of the log's origin. The file is synced
//! before the witness answers. Requests about one log are handled one after another.

use crate::{
    files::FilesError,
    http1::{answer, plain, serve},
};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use motherlode_runtime::{
    Stop,
    config::Limits,
    connections::{Admission, Bounds, descriptors},
};
use motherlode_tiles::{AddCheckpoint, Checkpoint, Note, Seen, SignerKey, Unwitnessed, VerifierKey, judge};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::net::TcpListener;

#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    #[error("cannot use the witness's folder {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    Kept(#[from] FilesError),
    #[error("the log {0} is listed twice: list each log with one key")]
    Twice(String),
}

pub struct Witness {
    key: SignerKey,
    logs: Vec<Log>,
    folder: PathBuf,
}

struct Log {
    key: VerifierKey,
    seen: Mutex<Option<(Seen, Note)>>,
}

impl Witness {
    pub fn open(key: SignerKey, logs: Vec<VerifierKey>, folder: PathBuf) -> Result<Self, WitnessError> {
        fs::create_dir_all(&folder).map_err(|source| WitnessError::Folder { folder: folder.clone(), source })?;
        let witness = Self { key, logs: vec![], folder };
        let mut known: Vec<Log> = vec![];
        for key in logs {
            if known.iter().any(|log| log.key.name() == key.name()) {
                return Err(WitnessError::Twice(key.name().to_owned()));
            }
            let seen = Mutex::new(witness.latest(&key)?);
            known.push(Log { key, seen });
        }
        Ok(Self { logs: known, ..witness })
    }

    fn file(&self, origin: &str) -> PathBuf {
        let name: String = Sha256::digest(origin).iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name)
    }

    fn latest(&self, key: &VerifierKey) -> Result<Option<(Seen, Note)>, FilesError> {
        let path = self.file(key.name());
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(FilesError::Io { path, source }),
        };
        let note: Note = text.parse().map_err(|source| FilesError::Malformed { path: path.clone(), source })?;
        let checkpoint = Checkpoint::open(&note, key).map_err(|source| FilesError::Unsigned { path, source })?;
        Ok(Some((Seen { size: checkpoint.size, root: checkpoint.root }, note)))
    }

    fn keep(&self, origin: &str, note: &Note) -> io::Result<()> {
        let (path, next) = (self.file(origin), self.file(&format!("{origin} next")));
        let mut file = File::create(&next)?;
        file.write_all(note.to_string().as_bytes())?;
        file.sync_all()?;
        fs::rename(next, path)?;
        File::open(&self.folder)?.sync_all()
    }

    pub fn serve(self, listener: TcpListener, stop: Stop) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let admission = Admission::new(Bounds::for_limits(&Limits::default(), descriptors()));
            serve(listener, admission, stop, move |method, path, body| match (method, &*path) {
                (Method::POST, "/add-checkpoint") => self.add_checkpoint(&body),
                (Method::GET, path) => self
                    .seen(path)
                    .unwrap_or_else(|| plain(StatusCode::NOT_FOUND, "there is no checkpoint at this path")),
                _ => plain(StatusCode::METHOD_NOT_ALLOWED, "POST /add-checkpoint"),
            })
            .await;
        })
    }

    fn seen(&self, path: &str) -> Option<Response<Full<Bytes>>> {
        let name = path.strip_prefix('/')?.strip_suffix("/checkpoint")?;
        let log = self.logs.iter().find(|log| self.file(log.key.name()).file_name().is_some_and(|of| of == name))?;
        let note = log.seen.lock().as_ref().map(|(_, note)| note.to_string())?;
        Some(answer(StatusCode::OK, "text/plain; charset=utf-8", note))
    }

    fn add_checkpoint(&self, body: &[u8]) -> Response<Full<Bytes>> {
        let read = std::str::from_utf8(body).ok().and_then(|body| body.parse::<AddCheckpoint>().ok());
        let Some(request) = read else {
            return plain(
                StatusCode::BAD_REQUEST,
                "the body is not an add-checkpoint request of c2sp.org/tlog-witness",
            );
        };
        let Ok(claimed) = request.checkpoint.text().parse::<Checkpoint>() else {
            return plain(StatusCode::BAD_REQUEST, "the request has no valid checkpoint");
        };
        let Some(log) = self.logs.iter().find(|log| log.key.name() == claimed.origin) else {
            return plain(StatusCode::NOT_FOUND, "this witness has no key for the log that the checkpoint names");
        };
        let mut seen = log.seen.lock();
        let checkpoint = match judge(&request, &log.key, seen.as_ref().map(|(seen, _)| *seen)) {
            Ok(checkpoint) => checkpoint,
            Err(why) => return refused(why, &claimed),
        };
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs().max(1));
        let cosignature = self.key.cosign(request.checkpoint.text(), time);
        let own = request.checkpoint.signatures.iter().filter(|line| line.name == log.key.name());
        let signatures = own.cloned().chain([cosignature.clone()]).collect();
        let note = request.checkpoint.clone().with(signatures);
        if let Err(error) = self.keep(&checkpoint.origin, &note) {
            tracing::error!(%error, "failed to store a checkpoint, so it was not cosigned");
            return plain(StatusCode::SERVICE_UNAVAILABLE, "the witness could not store the checkpoint: retry later");
        }
        *seen = Some((Seen { size: checkpoint.size, root: checkpoint.root }, note));
        answer(StatusCode::OK, "text/plain; charset=utf-8", cosignature.to_string())
    }
}

fn refused(why: Unwitnessed, claimed: &Checkpoint) -> Response<Full<Bytes>> {
    let status = match why {
        Unwitnessed::Conflict(size) => return answer(StatusCode::CONFLICT, "text/x.tlog.size", format!("{size}\n")),
        Unwitnessed::Forbidden(_) => StatusCode::FORBIDDEN,
        Unwitnessed::Backwards => StatusCode::BAD_REQUEST,
        Unwitnessed::Inconsistent => {
            let Checkpoint { origin, size, .. } = claimed;
            tracing::error!(
                origin,
                size,
                "refused a checkpoint that is not consistent with the last cosigned checkpoint of its log"
            );
            StatusCode::UNPROCESSABLE_ENTITY
        }
    };
    plain(status, &why.to_string())
}
