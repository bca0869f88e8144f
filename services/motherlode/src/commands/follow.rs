//! `follow`: keeps an independent copy of a service's log current, by subscription (PL-30).
//!
//! Records are synced before they count, so the command can be killed at any moment and resumes where it was.
//! When the stream breaks it's opened again, after waits that grow to a bound, for as long as it takes.

use super::{Failure, say};
use crate::{client, target::Target};
use futures_util::future::try_join_all;
use motherlode_books::HOME;
use motherlode_proto::ledger::v1::{FollowLogRequest, GetLogStatusRequest, ledger_service_client::LedgerServiceClient};
use motherlode_runtime::{connect::Connection, stop};
use motherlode_server::Backup;
use std::{path::PathBuf, time::Duration};
use tonic::Status;

/// The arguments of `follow`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Folder of the copy: `audit` takes it as it is.
    #[arg(long = "to", value_name = "DIR")]
    to: PathBuf,
    /// End when everything is held that the log had at the start.
    #[arg(long)]
    once: bool,
}

/// Bytes of the largest message: as much as an append of the log can be.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// With --once, streams that end without anything new before the service is taken to be gone.
const FAILURES_MAX: u32 = 10;
/// The first wait before the stream is opened again; it doubles up to the last.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LAST_WAIT: Duration = Duration::from_secs(8);

type Ledger = LedgerServiceClient<Connection>;

/// Follows until told to stop.
///
/// # Errors
/// The copy is unusable, the service cannot be reached or refuses, or what it sends does not continue the copy.
pub fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    runtime.block_on(async {
        let signalled = stop::signalled().map_err(Failure::found)?;
        // What is held already is said, however it goes on.
        let mut copies = vec![Backup::open(&args.to, HOME)?];
        let followed = tokio::select! {
            followed = follow_all(args, &mut copies) => followed,
            _ = signalled => Ok(()),
        };
        followed?;
        copies.iter().try_for_each(held)
    })
}

fn held(copy: &Backup) -> Result<(), Failure> {
    let of = match copy.partition() {
        HOME => String::new(),
        partition => format!(" of partition {partition}"),
    };
    say(&format!("Held up to log position {}{of}: {} records.\n", copy.held(), copy.records()))
}

/// Follows all partitions; opens the copies of those that are not in `copies` yet.
async fn follow_all(args: &Args, copies: &mut Vec<Backup>) -> Result<(), Failure> {
    let connection = args.target.connect().await?;
    let mut ledger = LedgerServiceClient::new(connection).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let status = ledger.get_log_status(GetLogStatusRequest {}).await.map_err(|status| client::explain(&status))?;
    let partitions = status.into_inner().partitions;
    for partition in partitions.iter().skip(copies.len()) {
        copies.push(Backup::open(&args.to, partition.partition)?);
    }
    let followed = copies.iter_mut().zip(&partitions);
    let followed = followed.map(|(copy, status)| follow(args, ledger.clone(), copy, status.position));
    try_join_all(followed).await.map(|_| ())
}

/// Follows a partition, and opens the stream again when it breaks.
async fn follow(args: &Args, mut ledger: Ledger, copy: &mut Backup, goal: u64) -> Result<(), Failure> {
    let mut goal = Some(goal);
    let (mut failures, mut wait) = (0, FIRST_WAIT);
    loop {
        let before = copy.held();
        let Some(broken) = stream(&mut ledger, copy, &mut goal, args.once).await? else { return Ok(()) };
        if copy.held() > before {
            (failures, wait) = (0, FIRST_WAIT);
        }
        failures += 1;
        if !client::may_pass(&broken) || (args.once && failures == FAILURES_MAX) {
            return Err(client::explain(&broken));
        }
        eprintln!("The stream has ended ({}); again in {} ms.", broken.message(), wait.as_millis());
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LAST_WAIT);
    }
}

/// Takes up one stream until it breaks: why, or none where the goal was reached and is all that's wanted.
async fn stream(
    ledger: &mut Ledger,
    copy: &mut Backup,
    goal: &mut Option<u64>,
    once: bool,
) -> Result<Option<Status>, Failure> {
    let request = FollowLogRequest { after_position: copy.held(), partition: copy.partition() };
    let mut messages = match ledger.follow_log(request).await {
        Ok(response) => response.into_inner(),
        Err(status) => return Ok(Some(status)),
    };
    loop {
        let message = match messages.message().await {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(Some(Status::unavailable("the service ended it"))),
            Err(status) => return Ok(Some(status)),
        };
        let sent = message.sent_position;
        copy.take(message)?;
        if goal.take_if(|goal| *goal <= sent).is_some() {
            if once {
                return Ok(None);
            }
            held(copy)?;
        }
    }
}
