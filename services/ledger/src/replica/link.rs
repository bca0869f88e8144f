//! Link to the process with the writer, found among several candidates and renewed when it is lost.
//!
//! All candidates are queried concurrently, so one that hangs causes no delay. The link records when the writer last
//! answered, and whether a standby has reported a takeover.

use crate::{error::FIRST_POSITION, handle::is_taking_over, index::Held};
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

/// Pause between attempts to find the writer.
const PAUSE: Duration = Duration::from_millis(200);
/// Timeout of a query for the log's end.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Maximum message size. Messages of records have 4 MiB, except with a single longer record.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

pub(super) type Client = LogServiceClient<Connection>;

/// Processes that have the log; one of them writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Addresses such as `https://ledger-0:50051`, at least one.
    pub targets: Vec<String>,
    /// Credentials with a node role of the platform.
    pub credentials: Credentials,
    /// Number of partitions of the log.
    pub partitions: u32,
}

/// End of a log as reported by its writer.
pub(super) struct Head {
    /// Last durable record.
    pub(super) held: Held,
    /// Number of partitions.
    pub(super) partitions: u32,
}

/// Link shared by its users.
pub(super) struct Link {
    origin: Origin,
    pub(super) partition: u32,
    /// Locked during a search, so that all users wait for the same link.
    current: Mutex<Current>,
    contact: Lock<Contact>,
    /// Number of the last lost link.
    lost: watch::Sender<u64>,
}

#[derive(Default)]
struct Current {
    client: Option<Client>,
    /// Number of the link, so that it is reported lost only once.
    number: u64,
}

/// Latest answers of the candidates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contact {
    /// Time of the last query that the writer answered.
    pub(super) answered: Instant,
    /// Time of a standby's last report that it takes over.
    pub(super) takeover: Option<Instant>,
    /// Whether the writer has reported since then that it may not be the writer any more.
    pub(super) is_unconfirmed: bool,
}

impl Link {
    pub(super) fn new(origin: Origin, partition: u32) -> Self {
        let contact = Lock::new(Contact { answered: Instant::now(), takeover: None, is_unconfirmed: false });
        Self { origin, partition, current: Mutex::default(), contact, lost: watch::Sender::new(0) }
    }

    /// Returns the latest answers.
    pub(super) fn contact(&self) -> Contact {
        *self.contact.lock()
    }

    /// Returns the link and its number; waits until there is one.
    pub(super) async fn client(&self) -> (u64, Client) {
        let mut current = self.current.lock().await;
        if let Some(client) = &current.client {
            return (current.number, client.clone());
        }
        let searching = self.origin.targets.iter().map(|target| Box::pin(self.search(target)));
        let ((target, client), ..) = select_all(searching).await;
        tracing::info!(target, "linked to the ledger");
        current.client = Some(client.clone());
        current.number += 1;
        (current.number, client)
    }

    /// Queries a process until it answers as the writer.
    async fn search<'a>(&self, target: &'a str) -> (&'a str, Client) {
        let mut warned = false;
        loop {
            let reached = timeout(ANSWER_MAX, self.reach(target)).await;
            match reached.unwrap_or_else(|_| Err("no answer".to_owned())) {
                Ok(client) => return (target, client),
                Err(why) if !warned => {
                    tracing::warn!(target, why, "no link to the ledger");
                    warned = true;
                }
                Err(_) => {}
            }
            sleep(PAUSE).await;
        }
    }

    /// Drops a link that does not answer or whose process is no longer the writer.
    pub(super) async fn lost(&self, number: u64, why: &str) {
        let mut current = self.current.lock().await;
        if current.number == number && current.client.take().is_some() {
            tracing::warn!(why, "the link to the ledger is lost");
            self.lost.send_replace(number);
        }
    }

    /// Waits until any user reports the link as lost.
    pub(super) async fn gone(&self, number: u64) {
        // Cannot fail: this link has the sender.
        let _ = self.lost.subscribe().wait_for(|lost| *lost >= number).await;
    }

    /// Returns the end of the log; waits until the writer answers.
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
        let hash = hash.try_into().map_err(|_| "a head without its hash".to_owned())?;
        Ok(Head { held: Held { position, hash }, partitions })
    }
}

impl Link {
    /// Records why a process does not answer as the writer.
    fn refused(&self, status: &Status) {
        let Some(info) = status.get_details_error_info() else { return };
        let mut contact = self.contact.lock();
        if is_taking_over(&info.reason, &info.metadata) {
            contact.takeover = Some(Instant::now());
        }
        contact.is_unconfirmed |= info.reason == Reason::NotCurrent.name();
    }
}

/// Returns the first retained position from an ARCHIVED refusal.
pub(super) fn archived(status: &Status) -> Option<Position> {
    let info = status.get_details_error_info().filter(|info| info.reason == Reason::Archived.name())?;
    info.metadata.get(FIRST_POSITION)?.parse().ok()
}

/// Formats a status for messages.
pub(super) fn status_text(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}
