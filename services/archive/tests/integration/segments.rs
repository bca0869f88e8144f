use crate::archive::{PARTITION, log, upload};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{future::pending, stream::BoxStream};
use motherlode_archive::{Archive, ArchiveError, Limits, Segments};
use motherlode_log::Position;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
};
use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Object store that never answers reads of some objects.
#[derive(Debug, Default)]
struct Stalling {
    objects: InMemory,
    stalled: Mutex<Vec<String>>,
    waiting: AtomicU64,
    segments_read: AtomicU64,
}

impl fmt::Display for Stalling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stalling")
    }
}

#[async_trait]
impl ObjectStore for Stalling {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.objects.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(&self, at: &Path, options: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(at, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let name = location.as_ref();
        if self.stalled.lock().expect("no test panics with this lock").iter().any(|stalled| name.ends_with(stalled)) {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            return pending().await;
        }
        self.segments_read.fetch_add(u64::from(name.contains("segments")), Ordering::SeqCst);
        self.objects.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

struct Archived {
    store: Arc<Stalling>,
    log: Vec<Bytes>,
    firsts: Vec<Position>,
}

impl Archived {
    async fn new() -> Self {
        let (store, log) = (Arc::new(Stalling::default()), log(400));
        upload(&Self::archive(&store), &log, None).await.expect("the log is archived");
        let mut firsts = vec![];
        for first in 1..=log.len() as Position {
            let manifest = Path::from(format!("{PARTITION}/manifests/{first:020}"));
            firsts.extend(store.objects.head(&manifest).await.is_ok().then_some(first));
        }
        assert!(firsts.len() > 10, "{firsts:?}");
        store.segments_read.store(0, Ordering::SeqCst);
        Self { store, log, firsts }
    }

    fn archive(store: &Arc<Stalling>) -> Archive {
        Archive::with_store(Arc::clone(store) as Arc<dyn ObjectStore>, "memory")
    }

    fn segments(&self, limits: Limits) -> Segments {
        Segments::of_archive(Self::archive(&self.store), limits)
    }

    async fn read(&self, segments: &Segments, position: Position) {
        let segment = segments.segment(PARTITION, position, "acme").await.expect("the segment is archived");
        let record = segment.record(position).expect("the segment has the record");
        assert_eq!(record, &self.log[usize::try_from(position).expect("positions are small") - 1]);
    }

    fn last(&self) -> Position {
        self.firsts[self.firsts.len() - 1] - 1
    }
}

#[tokio::test]
async fn pl_37_a_segment_is_read_once_while_it_fits_the_memory() {
    let archived = Archived::new().await;
    let all = archived.firsts.len() as u64 - 1;
    for (bytes_max, more) in [(1 << 20, 0), (16 << 10, all)] {
        archived.store.segments_read.store(0, Ordering::SeqCst);
        let segments = archived.segments(Limits::with_bytes(bytes_max));
        for _ in 0..2 {
            for position in 1..=archived.last() {
                archived.read(&segments, position).await;
            }
        }
        assert_eq!(archived.store.segments_read.load(Ordering::SeqCst), all + more, "{bytes_max} bytes");
    }
    let segments = archived.segments(Limits::with_bytes(2 << 10));
    let refused = segments.segment(PARTITION, 1, "acme").await.unwrap_err();
    assert!(matches!(refused, ArchiveError::Memory { .. }), "{refused}");
    let segments = archived.segments(Limits::with_bytes(1 << 20));
    let refused = segments.segment(PARTITION, 401, "acme").await.unwrap_err();
    assert!(matches!(refused, ArchiveError::Missing { .. }), "{refused}");
    let refused = segments.segment(PARTITION + 1, 1, "acme").await.unwrap_err();
    assert!(matches!(refused, ArchiveError::Missing { .. }), "{refused}");
}

#[tokio::test]
async fn pl_37_no_byte_of_a_changed_segment_or_manifest_is_returned() {
    let archived = Archived::new().await;
    for (at, first) in archived.firsts.iter().enumerate().skip(1).take(3) {
        let folder = Path::from(PARTITION.to_string());
        let listed = archived.store.objects.list_with_delimiter(Some(&folder.clone().join("segments"))).await.unwrap();
        let mut segments = listed.objects.into_iter().map(|object| object.location);
        let segment = segments.find(|path| path.as_ref().contains(&format!("{first:020}"))).unwrap();
        let manifests = [first, &archived.firsts[at - 1]]
            .map(|first| folder.clone().join("manifests").join(format!("{first:020}")));
        for path in [segment].into_iter().chain(manifests) {
            let bytes = archived.store.objects.get(&path).await.unwrap().bytes().await.unwrap();
            for changed in (0..bytes.len()).step_by(97) {
                let mut damaged = bytes.to_vec();
                damaged[changed] ^= 1;
                archived.store.objects.put(&path, damaged.into()).await.unwrap();
                let segments = archived.segments(Limits::with_bytes(1 << 20));
                let refused = segments.segment(PARTITION, *first, "acme").await.unwrap_err();
                assert!(refused.is_damage(), "{path}, byte {changed}: {refused}");
            }
            archived.store.objects.put(&path, bytes.into()).await.unwrap();
        }
        archived.read(&archived.segments(Limits::with_bytes(1 << 20)), *first).await;
    }
}

#[tokio::test]
async fn pl_37_an_operator_that_waits_for_a_slow_archive_leaves_slots_to_others() {
    let archived = Arc::new(Archived::new().await);
    let segments = archived.segments(Limits::with_bytes(1 << 20));
    archived.read(&segments, 1).await;
    let slow: Vec<_> = archived.firsts[2..8].to_vec();
    *archived.store.stalled.lock().unwrap() = slow.iter().map(|first| format!("manifests/{first:020}")).collect();
    let waiting = || archived.store.waiting.load(Ordering::SeqCst);
    let mut reads = vec![];
    for first in slow {
        let segments = segments.clone();
        reads.push(tokio::spawn(async move { segments.segment(PARTITION, first, "beta").await.map(drop) }));
    }
    while waiting() < 2 {
        tokio::task::yield_now().await;
    }
    for position in [archived.firsts[1], archived.firsts[9], archived.last()] {
        archived.read(&segments, position).await;
    }
    assert_eq!(waiting(), 2, "other reads of the operator wait");
    reads.iter().for_each(|read| read.abort());

    let limits = Limits { wait_max: Duration::from_millis(20), ..Limits::with_bytes(1 << 20) };
    let refused = archived.segments(limits).segment(PARTITION, archived.firsts[2], "acme").await.unwrap_err();
    assert!(matches!(refused, ArchiveError::Slow { .. }), "{refused}");
}
