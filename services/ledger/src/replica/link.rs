//! The link to the process that writes the log: found among those that may, and found again when it's lost.
//!
//! All candidates are queried at the same time, so a frozen process delays nothing. The link keeps the time of the writer's last
//! answer, and whether a standby has reported a takeover.

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

/// Between two tries to find the writer.
const PAUSE: Duration = Duration::from_millis(200);
/// A process that has not said by then where its log ends is asked again, or another one is.
const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Records come in messages of 4 MiB, but for a longer one.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

pub(super) type Client = LogServiceClient<Connection>;

/// The processes that have the log, of which one writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Their addresses, `https://ledger-0:50051`; one at least.
    pub targets: Vec<String>,
    /// Credentials with a node role of the platform.
    pub credentials: Credentials,
    /// How many partitions their log has.
    pub partitions: u32,
}

/// The state of a log as its writing process reports it.
pub(super) struct Head {
    /// Where it ends.
    pub(super) held: Held,
    /// How many partitions there are.
    pub(super) partitions: u32,
}

/// The link, shared by all who use it.
pub(super) struct Link {
    origin: Origin,
    pub(super) partition: u32,
    /// Locked while it's being made: who needs it waits for the same one.
    current: Mutex<Current>,
    contact: Lock<Contact>,
    /// The number of the last link that was lost.
    lost: watch::Sender<u64>,
}

#[derive(Default)]
struct Current {
    client: Option<Client>,
    /// Counts the links, so that one is lost once however many find out.
    number: u64,
}

/// The latest answers of the processes that may write the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contact {
    /// When the writer was asked that answered last.
    pub(super) answered: Instant,
    /// When a standby last said that it takes the log over.
    pub(super) takeover: Option<Instant>,
    /// Whether the writer has said since that it does not know whether it still is the writer.
    pub(super) is_unconfirmed: bool,
}

impl Link {
    pub(super) fn new(origin: Origin, partition: u32) -> Self {
        let contact = Lock::new(Contact { answered: Instant::now(), takeover: None, is_unconfirmed: false });
        Self { origin, partition, current: Mutex::default(), contact, lost: watch::Sender::new(0) }
    }

    /// The latest answers.
    pub(super) fn contact(&self) -> Contact {
        *self.contact.lock()
    }

    /// The link, and its number; waits until there is one.
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

    /// Asks a process until it answers as the writer.
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

    /// Lets go of a link that does not answer any more, or whose process does not write the log any more.
    pub(super) async fn lost(&self, number: u64, why: &str) {
        let mut current = self.current.lock().await;
        if current.number == number && current.client.take().is_some() {
            tracing::warn!(why, "the link to the ledger is lost");
            self.lost.send_replace(number);
        }
    }

    /// Waits until a link is lost, whoever finds out.
    pub(super) async fn gone(&self, number: u64) {
        // The sender is this link's own.
        let _ = self.lost.subscribe().wait_for(|lost| *lost >= number).await;
    }

    /// Where the log ends; waits until the process that writes it says so.
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
    /// Takes up why a process does not answer as the writer.
    fn refused(&self, status: &Status) {
        let Some(info) = status.get_details_error_info() else { return };
        let mut contact = self.contact.lock();
        if is_taking_over(&info.reason, &info.metadata) {
            contact.takeover = Some(Instant::now());
        }
        contact.is_unconfirmed |= info.reason == Reason::NotCurrent.name();
    }
}

/// First kept position, from an ARCHIVED refusal.
pub(super) fn archived(status: &Status) -> Option<Position> {
    let info = status.get_details_error_info().filter(|info| info.reason == Reason::Archived.name())?;
    info.metadata.get(FIRST_POSITION)?.parse().ok()
}

/// A status as text for people.
pub(super) fn status_text(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}
