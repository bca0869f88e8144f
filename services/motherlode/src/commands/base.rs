use super::{Failure, NO_LOG, say};
use crate::{
    client::{self, Client, insist},
    target::Target,
};
use motherlode_ledger::base;
use motherlode_proto::{
    convert::play::hex,
    ledger::v1::{ConfirmBaseRequest, TakeBaseRequest},
};
use motherlode_server::{index_folder, log_folder};
use motherlode_state::{BaseTaken, HOME};
use std::{fmt::Write as _, path::PathBuf};

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum What {
    /// Print the digest of each partition's newest snapshot. The service may be running.
    Show(Show),
    /// Record the digests of the newest snapshots as bases in the log of a running service.
    Take(Take),
    /// Confirm the latest base (logged digest of the state) after an audit of a copy of the log computed this digest.
    Confirm(Confirm),
}

#[derive(Debug, Clone, clap::Args)]
struct Show {
    /// Data folder of `serve`.
    #[arg(value_name = "FOLDER")]
    data: PathBuf,
}

#[derive(Debug, Clone, clap::Args)]
struct Take {
    #[command(flatten)]
    of: Show,
    /// Person who records the digests; named in the log.
    #[arg(long, value_name = "NAME")]
    actor: String,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Clone, clap::Args)]
struct Confirm {
    /// Partition of the digest.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    partition: u32,
    /// Log position of the digest.
    #[arg(value_name = "POSITION")]
    position: u64,
    /// Digest that `motherlode audit --base POSITION` printed.
    #[arg(value_name = "DIGEST")]
    digest: String,
    /// Person who audited a copy of the log; named in the log.
    #[arg(long, value_name = "NAME")]
    actor: String,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    match &args.what {
        What::Show(args) => say(&bases(args)?.iter().map(text).collect::<String>()),
        What::Take(args) => runtime.block_on(take(args)),
        What::Confirm(args) => runtime.block_on(confirm(args)),
    }
}

fn bases(args: &Show) -> Result<Vec<(u32, BaseTaken)>, Failure> {
    // If the log is on JetStream, a partition has an index folder but no log folder.
    let is_there = |partition: &u32| {
        let index = index_folder(&args.data, *partition);
        index.with_extension("views").is_dir() || log_folder(&args.data, *partition).is_dir()
    };
    let of = |partition| {
        let found = base(&index_folder(&args.data, partition), partition).map_err(Failure::unusable)?;
        let none = || {
            let message = format!("partition {partition} has no snapshot made by this version of motherlode");
            Failure::unusable(message).with_step("Start and stop the service once, to write a snapshot")
        };
        Ok((partition, found.ok_or_else(none)?))
    };
    let all: Result<Vec<_>, Failure> = (HOME..).take_while(is_there).map(of).collect();
    match all {
        Ok(none) if none.is_empty() => Err(Failure::unusable("the folder has no log").with_step(NO_LOG)),
        all => all,
    }
}

fn text((partition, base): &(u32, BaseTaken)) -> String {
    let BaseTaken { position, record_hash, form, digest, .. } = base;
    let mut text = format!(
        "partition {partition}: state at position {position}, digest format {form} (compare only equal formats)\n"
    );
    let _ = writeln!(text, "  digest  {}\n  record hash  {}", hex(digest), hex(record_hash));
    text
}

async fn take(args: &Take) -> Result<(), Failure> {
    let client = Client::connect(&args.target).await?;
    for (partition, base) in bases(&args.of)? {
        let request = TakeBaseRequest {
            request_id: client::request_id()?,
            partition,
            position: base.position,
            record_hash: base.record_hash.to_vec(),
            form: base.form,
            digest: base.digest.to_vec(),
            actor: args.actor.clone(),
        };
        let taken = insist(&request, |request| {
            let mut ledger = client.ledger.clone();
            async move { ledger.take_base(request).await }
        });
        let position = taken.await.map_err(|status| client::explain(&status))?.position;
        say(&format!("{}  logged as a base by the record at position {position}\n", text(&(partition, base))))?;
    }
    Ok(())
}

async fn confirm(args: &Confirm) -> Result<(), Failure> {
    let digest = bytes(&args.digest).ok_or_else(|| Failure::unusable("the digest must have 64 hexadecimal digits"))?;
    let client = Client::connect(&args.target).await?;
    let request = ConfirmBaseRequest {
        request_id: client::request_id()?,
        partition: args.partition,
        position: args.position,
        digest,
        actor: args.actor.clone(),
    };
    let confirmed = insist(&request, |request| {
        let mut ledger = client.ledger.clone();
        async move { ledger.confirm_base(request).await }
    });
    let position = confirmed.await.map_err(|status| client::explain(&status))?.position;
    let Confirm { partition, position: base, .. } = args;
    say(&format!("partition {partition}: base at position {base} confirmed by the record at position {position}\n"))
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect::<Option<Vec<_>>>().filter(|bytes| bytes.len() == 32 && digits.len() == 64)
}
