use crate::PROGRAM;
use motherlode_ledger::{Handle, LogApi, Options, Origin, Proposal, join_all, open};
use motherlode_log::SegmentStore;
use motherlode_proto::log::v1::{
    FollowRecordsRequest, FollowRecordsResponse, GetHeadRequest, GetHeadResponse, GetViewCheckpointRequest,
    GetViewCheckpointResponse, ProposeRequest, ProposeResponse, ReadRecordsRequest, ReadRecordsResponse,
    ReadViewFileRequest, ReadViewFileResponse,
    log_service_server::{LogService, LogServiceServer},
};
use motherlode_runtime::{
    connect::Credentials,
    stop::{self, Stopper},
};
use motherlode_state::{Currency, Event, StreamId};
use motherlode_tests::{Client, EUR, Process, bet, reason};
use std::{
    fs,
    path::Path,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{net::TcpListener, task::JoinHandle};
use tonic::{Request, Response, Status, Streaming, transport::Server, transport::server::TcpIncoming};

type Part = Result<Vec<u8>, Status>;
type Change = Arc<dyn Fn(u64, Vec<u8>) -> Part + Send + Sync>;

#[derive(Clone)]
struct Changing {
    inner: LogApi,
    parts: Arc<AtomicU64>,
    change: Change,
}

#[tonic::async_trait]
impl LogService for Changing {
    async fn get_head(&self, request: Request<GetHeadRequest>) -> Result<Response<GetHeadResponse>, Status> {
        self.inner.get_head(request).await
    }

    async fn read_records(
        &self,
        request: Request<ReadRecordsRequest>,
    ) -> Result<Response<ReadRecordsResponse>, Status> {
        self.inner.read_records(request).await
    }

    type FollowRecordsStream = Pin<Box<dyn futures_util::Stream<Item = Result<FollowRecordsResponse, Status>> + Send>>;

    async fn follow_records(
        &self,
        request: Request<FollowRecordsRequest>,
    ) -> Result<Response<Self::FollowRecordsStream>, Status> {
        Ok(Response::new(Box::pin(self.inner.follow_records(request).await?.into_inner())))
    }

    async fn get_view_checkpoint(
        &self,
        request: Request<GetViewCheckpointRequest>,
    ) -> Result<Response<GetViewCheckpointResponse>, Status> {
        self.inner.get_view_checkpoint(request).await
    }

    async fn read_view_file(
        &self,
        request: Request<ReadViewFileRequest>,
    ) -> Result<Response<ReadViewFileResponse>, Status> {
        let ReadViewFileResponse { content, length } = self.inner.read_view_file(request).await?.into_inner();
        let number = self.parts.fetch_add(1, Ordering::Relaxed);
        Ok(Response::new(ReadViewFileResponse { content: (self.change)(number, content)?, length }))
    }

    type ProposeStream = Pin<Box<dyn futures_util::Stream<Item = Result<ProposeResponse, Status>> + Send>>;

    async fn propose(
        &self,
        request: Request<Streaming<ProposeRequest>>,
    ) -> Result<Response<Self::ProposeStream>, Status> {
        Ok(Response::new(Box::pin(self.inner.propose(request).await?.into_inner())))
    }
}

struct Served {
    ledger: Handle,
    api: LogApi,
    parts: Arc<AtomicU64>,
    origin: Origin,
    stopper: Stopper,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Served {
    async fn new(data: &Path, change: Change) -> Self {
        let store = SegmentStore::open(&data.join("log"), 0, motherlode_log::Options::default()).unwrap();
        let ledger = open(Box::new(store), &data.join("0"), Options::default()).unwrap();
        let (stopper, stop) = stop::channel();
        let (api, parts) = (LogApi::new([&ledger], 1, stop.clone()), Arc::<AtomicU64>::default());
        let changing = Changing { inner: api.clone(), parts: Arc::clone(&parts), change };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let targets = vec![format!("http://{}", listener.local_addr().unwrap())];
        let server = Server::builder().add_service(LogServiceServer::new(changing));
        let serving = tokio::spawn(server.serve_with_incoming_shutdown(TcpIncoming::from(listener), stop.requested()));
        let origin = Origin { targets, credentials: Credentials::default(), partitions: 1 };
        Self { ledger, api, parts, origin, stopper, serving }
    }

    async fn join(&self, folder: &Path) -> Handle {
        let joined = join_all(&self.origin, [0], |_| folder.join("0"), &Options::default()).await.unwrap();
        joined.into_iter().next().unwrap()
    }

    async fn end(self) {
        self.stopper.stop();
        self.serving.await.unwrap().unwrap();
        drop(self.api);
        self.ledger.close().await;
    }
}

fn unchanged() -> Change {
    Arc::new(|_, content| Ok(content))
}

fn opened(player: u64) -> Proposal {
    Proposal {
        stream: StreamId::player("acme", format!("p{player}")),
        expected_version: Some(0),
        request_id: format!("open-{player}").into(),
        fingerprint: [7; 16],
        events: vec![Event::AccountOpened { currency: Currency::EUR }],
    }
}

async fn append(data: &Path, players: std::ops::Range<u64>) {
    let served = Served::new(data, unchanged()).await;
    for player in players {
        served.ledger.append(opened(player)).await.unwrap();
    }
    served.end().await;
}

async fn answers(replica: &Handle, players: u64) {
    for player in 0..=players {
        assert_eq!(replica.append(opened(player)).await.unwrap().commit.position, player + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_34_2_a_new_replica_begins_with_the_writers_checkpoint() {
    let data = tempfile::tempdir().unwrap();
    append(data.path(), 0..40).await;
    let served = Served::new(data.path(), unchanged()).await;
    for player in 40..43 {
        served.ledger.append(opened(player)).await.unwrap();
    }
    let replica = served.join(&data.path().join("replica")).await;
    assert_eq!((replica.rests_on().position, replica.durable()), (40, 43));
    let copied = served.parts.swap(0, Ordering::Relaxed);
    assert!(copied > 4, "{copied} parts");
    answers(&replica, 43).await;
    replica.close().await;
    let again = served.join(&data.path().join("replica")).await;
    assert_eq!(
        (again.rests_on().position, served.parts.load(Ordering::Relaxed)),
        (44, 0),
        "the replica has a separate checkpoint"
    );
    again.close().await;
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_34_2_a_replica_folds_the_log_where_the_copy_is_damaged_cut_longer_or_refused() {
    let data = tempfile::tempdir().unwrap();
    append(data.path(), 0..40).await;
    let whole = Served::new(data.path(), unchanged()).await;
    whole.join(&data.path().join("whole")).await.close().await;
    let parts = whole.parts.load(Ordering::Relaxed);
    whole.end().await;
    let changes: [fn(Vec<u8>) -> Part; 5] = [
        |mut content| {
            content.first_mut().into_iter().for_each(|byte| *byte ^= 1);
            Ok(content)
        },
        |mut content| {
            content.last_mut().into_iter().for_each(|byte| *byte ^= 1);
            Ok(content)
        },
        |content| Ok(content[..content.len() / 2].to_vec()),
        |content| Ok([content, vec![0]].concat()),
        |_| Err(Status::internal("refused")),
    ];
    for (kind, change) in changes.into_iter().enumerate() {
        for changed in 0..parts {
            let change: Change =
                Arc::new(move |number, content| if number >= changed { change(content) } else { Ok(content) });
            let served = Served::new(data.path(), change).await;
            let folder = data.path().join(format!("{kind}-{changed}"));
            let replica = served.join(&folder).await;
            let rests_on = replica.rests_on().position;
            assert_eq!(rests_on, 0, "change {kind} of part {changed}");
            answers(&replica, 0).await;
            replica.close().await;
            served.end().await;
            fs::remove_dir_all(folder).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_34_2_files_of_a_checkpoint_stay_while_a_replica_reads_them_and_no_other_files_are_read() {
    let data = tempfile::tempdir().unwrap();
    append(data.path(), 0..40).await;
    let served = Served::new(data.path(), unchanged()).await;
    let pinned = served.api.get_view_checkpoint(Request::new(GetViewCheckpointRequest::default())).await.unwrap();
    let digest = pinned.into_inner().digest;
    let read = |digest: &[u8], offset| {
        let request = ReadViewFileRequest { partition: 0, digest: digest.to_vec(), offset };
        let api = served.api.clone();
        async move { api.read_view_file(Request::new(request)).await.map(|part| part.into_inner().content) }
    };
    let content = read(&digest, 0).await.unwrap();
    assert_eq!(read(&digest, 10).await.unwrap(), content[10..]);
    for end in [content.len() as u64, u64::MAX] {
        assert_eq!(read(&digest, end).await.unwrap(), [] as [u8; 0]);
    }
    assert_eq!(read(&[7; 32], 0).await.unwrap(), [] as [u8; 0], "a digest of no file returns nothing");
    for wrong in [&[][..], b"../../0.views/catalogue/db"] {
        assert_eq!(reason(&read(wrong, 0).await.unwrap_err()), "INVALID_FIELD", "{wrong:?}");
    }
    served.end().await;

    for players in [40..43, 43..46] {
        append(data.path(), players).await;
    }
    let served = Served::new(data.path(), unchanged()).await;
    let request = ReadViewFileRequest { partition: 0, digest, offset: 0 };
    let after = served.api.read_view_file(Request::new(request)).await.unwrap().into_inner().content;
    assert_eq!(after, content, "the file of a pinned checkpoint is readable two checkpoints later");
    let kept = fs::read_dir(data.path().join("0.views/checkpoints")).unwrap().count();
    assert_eq!(kept, 2, "the pinned and the newest checkpoint are kept");
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_34_2_a_new_spin_process_copies_the_checkpoint_of_the_ledger_process() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("ledger");
    let start = || Process::start_as(PROGRAM, &folder, None, &["--role", "ledger"]);
    let process = start();
    let account = Client::connect(process.address).await.fund("alice", EUR, 10_000).await;
    assert_eq!(process.terminate().await, Some(0));
    let ledger = start();
    let target = format!("http://{}", ledger.address);
    for name in ["one", "two"] {
        let arguments = ["--role", "spin", "--ledger", &target];
        let spin = Process::start_as(PROGRAM, &data.path().join(name), None, &arguments);
        let copied = spin.log_lines("the writer's checkpoint was copied");
        assert_eq!(copied.len(), 1, "{copied:?}");
        Client::connect(spin.address).await.spin(bet(name, &account, "0.01"), None).await.unwrap();
        assert_eq!(spin.terminate().await, Some(0));
    }
    assert_eq!(ledger.terminate().await, Some(0));
}
