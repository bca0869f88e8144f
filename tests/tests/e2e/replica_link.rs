use futures_util::{StreamExt, stream};
use motherlode_ledger::{ChainHead, Handle, LogApi, Options, Origin, Proposal, join_all, open};
use motherlode_log::MemoryStore;
use motherlode_proto::log::v1::{
    FollowRecordsRequest, GetHeadRequest, GetHeadResponse, GetViewCheckpointRequest, GetViewCheckpointResponse,
    ProposeRequest, ReadRecordsRequest, ReadRecordsResponse, ReadViewFileRequest, ReadViewFileResponse,
    log_service_server::{LogService, LogServiceServer},
};
use motherlode_runtime::{connect::Credentials, stop};
use motherlode_state::{Currency, Event, StreamId};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{net::TcpListener, sync::watch};
use tonic::{Request, Response, Status, Streaming, transport::Server, transport::server::TcpIncoming};

/// Writer whose first connection sends a replica the verdict on a proposal, and breaks before it sends the proposal's
/// log record. Later connections send the record before the verdict.
struct Breaking {
    inner: LogApi,
    first: Arc<AtomicBool>,
    replica: watch::Receiver<Option<watch::Receiver<ChainHead>>>,
}

type Answers<T> = Pin<Box<dyn futures_util::Stream<Item = Result<T, Status>> + Send>>;
type Verdict = motherlode_proto::log::v1::ProposeResponse;
type Records = motherlode_proto::log::v1::FollowRecordsResponse;

#[tonic::async_trait]
impl LogService for Breaking {
    async fn get_head(&self, request: Request<GetHeadRequest>) -> Result<Response<GetHeadResponse>, Status> {
        self.inner.get_head(request).await
    }

    async fn read_records(
        &self,
        request: Request<ReadRecordsRequest>,
    ) -> Result<Response<ReadRecordsResponse>, Status> {
        self.inner.read_records(request).await
    }

    type FollowRecordsStream = Answers<Records>;

    async fn follow_records(
        &self,
        request: Request<FollowRecordsRequest>,
    ) -> Result<Response<Self::FollowRecordsStream>, Status> {
        match self.first.load(Ordering::Acquire) {
            true => Ok(Response::new(Box::pin(stream::pending()))),
            false => Ok(Response::new(Box::pin(self.inner.follow_records(request).await?.into_inner()))),
        }
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
        self.inner.read_view_file(request).await
    }

    type ProposeStream = Answers<Verdict>;

    async fn propose(
        &self,
        request: Request<Streaming<ProposeRequest>>,
    ) -> Result<Response<Self::ProposeStream>, Status> {
        if self.first.load(Ordering::Acquire) {
            let (verdicts, first) = (self.inner.propose(request).await?.into_inner(), Arc::clone(&self.first));
            let verdict = verdicts.take(1).inspect(move |_| first.store(false, Ordering::Release));
            return Ok(Response::new(Box::pin(verdict)));
        }
        let replica = self.replica.clone().wait_for(Option::is_some).await.unwrap().clone();
        replica.unwrap().wait_for(|held| held.position == 1).await.unwrap();
        Ok(Response::new(Box::pin(self.inner.propose(request).await?.into_inner())))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pl_11_a_verdict_whose_record_came_while_there_was_no_link_is_handed_on() {
    let data = tempfile::tempdir().unwrap();
    let ledger = open(Box::new(MemoryStore::new(0)), &data.path().join("a"), Options::default()).unwrap();
    let (stopper, stop) = stop::channel();
    let (heads, replica) = watch::channel(None);
    let breaking =
        Breaking { inner: LogApi::new([&ledger], 1, stop.clone()), first: Arc::new(AtomicBool::new(true)), replica };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let targets = vec![format!("http://{}", listener.local_addr().unwrap())];
    let server = Server::builder().add_service(LogServiceServer::new(breaking));
    let serving = tokio::spawn(server.serve_with_incoming_shutdown(TcpIncoming::from(listener), stop.requested()));

    let origin = Origin { targets, credentials: Credentials::default(), partitions: 1 };
    let options = Options { answer_wait_max: None, ..Options::default() };
    let joined = join_all(&origin, [0], |_| data.path().join("b"), &options).await.unwrap();
    let [replica]: [Handle; 1] = joined.try_into().ok().unwrap();
    heads.send_replace(Some(replica.head()));
    let opened = Proposal {
        stream: StreamId::player("acme", "alice"),
        expected_version: Some(0),
        request_id: "open".into(),
        fingerprint: [7; 16],
        events: vec![Event::AccountOpened { currency: Currency::EUR }],
    };
    let made = tokio::time::timeout(Duration::from_secs(60), replica.append(opened)).await;
    assert_eq!(made.expect("the caller receives the verdict").unwrap().commit.position, 1);
    replica.close().await;
    stopper.stop();
    serving.await.unwrap().unwrap();
    ledger.close().await;
}
