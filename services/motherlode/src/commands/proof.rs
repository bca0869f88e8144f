//! Writes proofs in the format of c2sp.org/tlog-proof.

use super::{
    Failure, config_file,
    replay::{RoundName, no_round},
    say,
};
use crate::{
    client::{self, insist},
    target::Target,
};
use motherlode_ledger::rounds::is_for;
use motherlode_log::Record;
use motherlode_proofs::{Files, load, of_partition, proof_of, proofs_folder};
use motherlode_proto::{
    convert::record,
    proof::v1::{GetRoundProofRequest, proof_service_client::ProofServiceClient},
};
use motherlode_rounds::draws;
use motherlode_runtime::Config;
use motherlode_state::Event;
use motherlode_tiles::VerifierKey;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Round, as operator/player/number.
    #[arg(value_name = "ROUND")]
    round: RoundName,
    /// Read the log, tree and last checkpoint from this data folder of `serve` instead of calling a service.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Public key of the log. Default: the public key of proofs.key in the folder.
    #[arg(long, value_name = "VKEY", requires = "data")]
    log_key: Option<VerifierKey>,
    /// Omit the earlier records with the hashes (seals) of the round's random values. The shorter proof does not show
    /// when these hashes were logged.
    #[arg(long)]
    without_seals: bool,
    /// Omit outcomes and seals, which follow from the other fields. The proof is shorter, but only a program with the games'
    /// rules can verify it.
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    target: Target,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let proof = match &args.data {
        Some(data) => from_log(args, data)?,
        None => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
            runtime.block_on(from_service(args))?
        }
    };
    say(&proof)
}

async fn from_service(args: &Args) -> Result<String, Failure> {
    let client = ProofServiceClient::new(args.target.connect().await?);
    let Args { without_seals, brief, .. } = *args;
    let request = GetRoundProofRequest { round_id: args.round.to_string(), without_seals, brief };
    let answered = insist(&request, |request| {
        let mut client = client.clone();
        async move { client.get_round_proof(request).await }
    });
    Ok(answered.await.map_err(|status| client::explain(&status))?.proof)
}

fn from_log(args: &Args, data: &Path) -> Result<String, Failure> {
    let RoundName { stream, number } = &args.round;
    let location = config_file::location(&data.to_string_lossy(), &Config::default())?;
    let partition = stream.partition(location.existing_count()?);
    let key = match &args.log_key {
        Some(key) => key.clone(),
        None => {
            let step = "Name the log's public key with --log-key";
            let key = load(&data.join("proofs.key")).map_err(|error| Failure::unusable(error).with_step(step));
            key?.verifier().clone()
        }
    };
    let key = of_partition(&key, partition).map_err(Failure::unusable)?;
    let folder = proofs_folder(data, partition);
    let step = "Run `serve` on this folder once: it rebuilds a missing or damaged checkpoint";
    let signed = Files::restored_checkpoint(&folder, &key).map_err(|error| Failure::found(error).with_step(step))?;
    let Some((checkpoint, note)) = signed else {
        let what = format!("{} contains no signed checkpoint", folder.display());
        return Err(Failure::unusable(what).with_step(step));
    };
    let (mut records, mut sealing, mut over) = (vec![], vec![], false);
    let mut sealed: Option<(u64, Record)> = None;
    for found in location.existing(partition)? {
        let found = found?;
        if record::stream(&found.bytes).map_err(Failure::found)? != *stream {
            continue;
        }
        let logged = record::decode(&found.bytes).map_err(Failure::found)?;
        let (events, of_round) = (&logged.commit.events, is_for(&logged, *number));
        if let Some(draw) = draws::used(events, *number).next() {
            sealing.extend(sealed.take_if(|(number, _)| *number == draw).map(|(_, record)| record));
        }
        if let Some(last) = draws::sealed(events).last() {
            let shown = !of_round && draws::may_be_shown(events) && !args.without_seals;
            sealed = shown.then(|| (last.name.number, found.clone()));
        }
        if of_round {
            over |= events.iter().any(|event| match event {
                Event::RoundSettled { round, .. } | Event::RoundVoided { round, .. } => round == number,
                _ => false,
            });
            records.push(found);
        }
    }
    match records.last() {
        None => Err(no_round(*number, stream)),
        Some(_) if !over => Err(Failure::found("the round is still open: request its proof after it has ended")),
        Some(last) if last.position > checkpoint.size => Err(Failure::found(format!(
            "the round's record at position {} is newer than the last checkpoint, which covers {} records: try again later",
            last.position, checkpoint.size
        ))),
        Some(_) => {
            let files = Files::open_unchanged(&folder).map_err(Failure::found)?;
            let proof = proof_of(&files, &checkpoint, &note, *number, &records, &sealing, args.brief);
            Ok(proof.map_err(Failure::found)?.to_string())
        }
    }
}
