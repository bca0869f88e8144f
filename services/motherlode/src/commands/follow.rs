//! Copies of a service's log (PL-30), and change feeds (PL-34).
//!
//! A record is counted as copied only after its sync, and a feed resumes after the reader's last position, so no record
//! is missed or repeated. A broken stream is reopened with exponential backoff.

use super::{
    Failure, config_file,
    feed::Feed,
    published::Published,
    sink::{FAILURES_MAX, FIRST_WAIT, LAST_WAIT, Sink},
};
use crate::{client, target::Target};
use futures_util::future::try_join_all;
use motherlode_jetstream::Last;
use motherlode_proto::ledger::v1::{FollowLogRequest, ledger_service_client::LedgerServiceClient};
use motherlode_runtime::{connect::Connection, stop};
use motherlode_server::Backup;
use motherlode_state::HOME;
use std::{collections::BTreeMap, path::PathBuf, rc::Rc};
use tonic::Status;

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Folder for the copy, which `audit` can read; or nats://host:port,.../SUBJECT, to publish the change feed on a
    /// subject that a JetStream stream captures.
    #[arg(long = "to", value_name = "PLACE", required_unless_present = "format", conflicts_with = "format")]
    to: Option<PathBuf>,
    /// Write one line per record to standard output instead of making a copy.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Resume a feed after the last complete line received for each partition: PARTITION:POSITION,... By default, the
    /// feed starts with the first record. With PARTITION:POSITION:SHA256 (the hash in that line), the command fails if
    /// the log has another record at the position. On NATS, partitions with messages in the stream ignore --after and
    /// resume after their last message.
    #[arg(long, value_name = "POSITIONS", value_parser = positions)]
    after: Option<BTreeMap<u32, Last>>,
    /// Configuration file (TOML) of `serve`, whose [store] section has the settings for nats://.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Stop after the last record that the log had when the command started.
    #[arg(long)]
    once: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// JSON Lines.
    Jsonl,
}

fn positions(text: &str) -> Result<BTreeMap<u32, Last>, String> {
    let one = |part: &str| {
        let mut words = part.split(':');
        let (partition, position) = (words.next()?, words.next()?);
        let (partition, position) = (motherlode_state::number(partition)?, motherlode_state::number(position)?);
        let sha256 = words.next();
        let is_hash =
            |word: &str| word.len() == 64 && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_well = words.next().is_none() && sha256.is_none_or(is_hash);
        is_well.then(|| (partition, Last { position, sha256: sha256.map(str::to_owned) }))
    };
    let mut found = BTreeMap::new();
    for part in text.split(',') {
        let malformed = "must be a list, separated by commas, of PARTITION:POSITION or PARTITION:POSITION:SHA256";
        let (partition, last) = one(part).ok_or(malformed)?;
        if found.insert(partition, last).is_some() {
            return Err("must not name a partition twice".to_owned());
        }
    }
    Ok(found)
}

const MESSAGE_BYTES_MAX: usize = 64 << 20;

type Ledger = LedgerServiceClient<Connection>;

pub fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    let begin = || Last { position: 0, sha256: None };
    let after = |partition| args.after.as_ref().and_then(|after| after.get(&partition)).cloned().unwrap_or_else(begin);
    runtime.block_on(async {
        match &args.to {
            Some(to) if to.to_str().is_some_and(|to| to.starts_with("nats://")) => {
                let config = config_file::read(args.config.as_deref())?;
                let to = to.to_str().unwrap_or_default();
                let (feed, after) = Published::feed(&config.store, to, args.after.clone()).await?;
                let open = |partition| {
                    let after = after.get(&partition).cloned().unwrap_or_else(begin);
                    Ok(Published::new(partition, after, Rc::clone(&feed), args.once))
                };
                follow_all(args, &mut vec![], open).await
            }
            Some(_) if args.after.is_some() => {
                Err(Failure::unusable("--after is for feeds only: a copy resumes after its last record")
                    .with_step("Leave --after out"))
            }
            Some(to) => {
                // The address is parsed first, because a mistyped address must not create a folder.
                config_file::location(&to.to_string_lossy(), &config_file::read(args.config.as_deref())?)?;
                let mut copies = vec![Backup::open(to, HOME)?];
                follow_all(args, &mut copies, |partition| Ok(Backup::open(to, partition)?)).await?;
                copies.iter().try_for_each(Sink::report)
            }
            None => follow_all(args, &mut vec![], |partition| Ok(Feed::new(partition, after(partition)))).await,
        }
    })
}

async fn follow_all<S: Sink>(
    args: &Args,
    sinks: &mut Vec<S>,
    open: impl Fn(u32) -> Result<S, Failure>,
) -> Result<(), Failure> {
    let signalled = stop::signalled().map_err(Failure::found)?;
    let followed = async {
        let connection = args.target.connect().await?;
        let mut ledger = LedgerServiceClient::new(connection).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let partitions = client::whole_log(&mut ledger).await?;
        let named = args.after.as_ref().and_then(|after| after.last_key_value()).map(|(partition, _)| *partition);
        if let Some(named) = named.filter(|named| partitions.iter().all(|status| status.partition != *named)) {
            let last = partitions.len().saturating_sub(1);
            return Err(Failure::unusable(format!("--after names partition {named}, which the log does not have"))
                .with_step(&format!("Use partitions from 0 to {last}")));
        }
        for partition in partitions.iter().skip(sinks.len()) {
            sinks.push(open(partition.partition)?);
        }
        let followed = sinks.iter_mut().zip(&partitions);
        let followed = followed.map(|(sink, status)| follow(args, ledger.clone(), sink, status.position));
        try_join_all(followed).await.map(|_| ())
    };
    tokio::select! {
        followed = followed => followed,
        _ = signalled => Ok(()),
    }
}

async fn follow(args: &Args, mut ledger: Ledger, sink: &mut impl Sink, goal: u64) -> Result<(), Failure> {
    let mut goal = Some(goal);
    let (mut failures, mut wait) = (0, FIRST_WAIT);
    loop {
        let before = sink.position();
        let Some(broken) = stream(&mut ledger, sink, &mut goal, args.once).await? else { return Ok(()) };
        if sink.position() > before {
            (failures, wait) = (0, FIRST_WAIT);
        }
        failures += 1;
        if !client::may_pass(&broken) || (args.once && failures == FAILURES_MAX) {
            return Err(client::explain(&broken));
        }
        eprintln!("The stream of records ended ({}); retrying in {} ms.", broken.message(), wait.as_millis());
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LAST_WAIT);
    }
}

/// Follows one stream of records until it breaks, and returns its status. With `once`, stops after the last requested
/// record and returns `None`.
async fn stream(
    ledger: &mut Ledger,
    sink: &mut impl Sink,
    goal: &mut Option<u64>,
    once: bool,
) -> Result<Option<Status>, Failure> {
    let request = FollowLogRequest { after_position: sink.position(), partition: sink.partition() };
    let mut messages = match ledger.follow_log(request).await {
        Ok(response) => response.into_inner(),
        Err(status) => return Ok(Some(status)),
    };
    loop {
        let message = match messages.message().await {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(Some(Status::unavailable("the service ended the stream of records"))),
            Err(status) => return Ok(Some(status)),
        };
        let sent = message.sent_position;
        sink.take(message).await?;
        if goal.take_if(|goal| *goal <= sent).is_some() {
            if once {
                return Ok(None);
            }
            sink.report()?;
        }
    }
}
