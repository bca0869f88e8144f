//! In-memory object store. A chosen operation and all later ones fail, as if the process were killed at that operation.

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream::BoxStream};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

#[derive(Debug, Clone)]
pub struct Faulty {
    pub objects: Arc<InMemory>,
    left: Arc<AtomicU64>,
    /// Whether the first failing operation takes effect although it returns an error.
    late: bool,
}

impl Faulty {
    pub fn new(objects: &Arc<InMemory>, operations: u64, late: bool) -> Self {
        Self { objects: Arc::clone(objects), left: Arc::new(AtomicU64::new(operations)), late }
    }

    /// Returns whether the next operation takes effect, and whether it returns its result instead of an error.
    fn next(&self) -> (bool, bool) {
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(1) => (self.late, false),
            Ok(_) => (true, true),
            Err(_) => (false, false),
        }
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "faulty")
    }
}

fn stopped() -> Error {
    Error::Generic { store: "faulty", source: "stopped".into() }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let (runs, answers) = self.next();
        let done = if runs { self.objects.put_opts(location, payload, options).await } else { Err(stopped()) };
        if answers { done } else { Err(stopped()) }
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(stopped())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match self.next() {
            (_, true) => self.objects.get_opts(location, options).await,
            _ => Err(stopped()),
        }
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (runs, answers) = self.next();
        let done = if runs { self.objects.delete_stream(locations) } else { futures_util::stream::empty().boxed() };
        done.map(move |done| if answers { done } else { Err(stopped()) }).chain(ended(answers)).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (_, answers) = self.next();
        if answers { self.objects.list(prefix) } else { futures_util::stream::iter([Err(stopped())]).boxed() }
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(stopped())
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(stopped())
    }
}

fn ended(answers: bool) -> BoxStream<'static, Result<Path>> {
    let error = (!answers).then(|| Err(stopped()));
    futures_util::stream::iter(error).boxed()
}
