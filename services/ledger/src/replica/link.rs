//! Connection to the writer. All configured addresses are queried concurrently, so that a dead address causes no delay.

use crate::{chain::ChainHead, error::FIRST_POSITION, handle::is_taking_over};
use futures_util::future::select_all;
use motherlode_log::Position;
use motherlode_proto::log::v1::{GetHeadRequest, GetHeadResponse, log_service_client::LogServiceClient};
use motherlode_runtime::{
    Reason,
    connect::{Connection, Credentials, connect_lasting},
};
use parking_lot::Mutex as Lock;
use std::time::Duration;
use tokio::{
    sync::{Mutex, watch},
    time::{Instant, sleep, timeout},
};
use tonic::{Request, Status};
use tonic_types::StatusExt;

const PAUSE: Duration = Duration::from_millis(200);
const ANSWER_MAX: Duration = Duration::from_secs(2);
const MESSAGE_BYTES_MAX: usize = 64 << 20;

pub(super) type Client = LogServiceClient<Connection>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub targets: Vec<String>,
    pub credentials: Credentials,
    pub partitions: u32,
}

pub(super) struct Head {
    pub(super) chain: ChainHead,
    pub(super) partitions: u32,
}

pub(super) struct Link {
    origin: Origin,
    pub(super) partition: u32,
    /// The lock is held during the search for the writer, so that all callers share one connection.
    current: Mutex<Current>,
    contact: Lock<Contact>,
    lost: watch::Sender<u64>,
}

#[derive(Default)]
struct Current {
    client: Option<Client>,
    number: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Contact {
    pub(super) answered: Instant,
    pub(super) takeover: Option<Instant>,
    pub(super) is_unconfirmed: bool,
}

impl Link {
    pub(super) fn new(origin: Origin, partition: u32) -> Self {
        let contact = Lock::new(Contact { answered: Instant::now(), takeover: None, is_unconfirmed: false });
        Self { origin, partition, current: Mutex::default(), contact, lost: watch::Sender::new(0) }
    }

    pub(super) fn contact(&self) -> Contact {
        *self.contact.lock()
    }

    pub(super) async fn client(&self) -> (u64, Client) {
        let mut current = self.current.lock().await;
        if let Some(client) = &current.client {
            return (current.number, client.clone());
        }
        let searching = self.origin.targets.iter().map(|target| Box::pin(self.search(target)));
        let ((target, client), ..) = select_all(searching).await;
        tracing::info!(target, "connected to the writer of the log");
        current.client = Some(client.clone());
        current.number += 1;
        (current.number, client)
    }

    async fn search<'a>(&self, target: &'a str) -> (&'a str, Client) {
        let mut warned = false;
        loop {
            let reached = timeout(ANSWER_MAX, self.reach(target)).await;
            match reached.unwrap_or_else(|_| Err("no answer".to_owned())) {
                Ok(client) => return (target, client),
                Err(why) if !warned => {
                    tracing::warn!(target, why, "cannot connect to the writer of the log; retrying");
                    warned = true;
                }
                Err(_) => {}
            }
            sleep(PAUSE).await;
        }
    }

    pub(super) async fn lost(&self, number: u64, why: &str) {
        let mut current = self.current.lock().await;
        if current.number == number && current.client.take().is_some() {
            tracing::warn!(why, "lost the connection to the writer of the log; reconnecting");
            self.lost.send_replace(number);
        }
    }

    pub(super) async fn gone(&self, number: u64) {
        let _ = self.lost.subscribe().wait_for(|lost| *lost >= number).await;
    }

    pub(super) async fn head(&self) -> Head {
        loop {
            let (number, client) = self.client().await;
            match self.ask(client).await {
                Ok(head) => return head,
                Err(why) => self.lost(number, &why).await,
            }
            sleep(PAUSE).await;
        }
    }

    async fn reach(&self, target: &str) -> Result<Client, String> {
        let connected = connect_lasting(target, &self.origin.credentials).await;
        let client = LogServiceClient::new(connected.map_err(|error| error.to_string())?)
            .max_decoding_message_size(MESSAGE_BYTES_MAX);
        self.ask(client.clone()).await?;
        Ok(client)
    }

    async fn ask(&self, mut client: Client) -> Result<Head, String> {
        let mut request = Request::new(GetHeadRequest { partition: self.partition });
        request.set_timeout(ANSWER_MAX);
        let asked = Instant::now();
        let answer = timeout(ANSWER_MAX, client.get_head(request)).await.map_err(|_| "no answer".to_owned())?;
        let answer = answer.inspect_err(|status| self.refused(status)).map_err(|status| status_text(&status))?;
        *self.contact.lock() = Contact { answered: asked, takeover: None, is_unconfirmed: false };
        let GetHeadResponse { position, hash, partitions } = answer.into_inner();
        let hash = hash.try_into().map_err(|_| "the writer's answer has no valid hash of the log's end".to_owned())?;
        Ok(Head { chain: ChainHead { position, hash }, partitions })
    }
}

impl Link {
    fn refused(&self, status: &Status) {
        let Some(info) = status.get_details_error_info() else { return };
        let mut contact = self.contact.lock();
        if is_taking_over(&info.reason, &info.metadata) {
            contact.takeover = Some(Instant::now());
        }
        contact.is_unconfirmed |= info.reason == Reason::NotCurrent.name();
    }
}

pub(super) fn archived(status: &Status) -> Option<Position> {
    let info = status.get_details_error_info().filter(|info| info.reason == Reason::Archived.name())?;
    info.metadata.get(FIRST_POSITION)?.parse().ok()
}

pub(super) fn status_text(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}
