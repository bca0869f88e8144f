use super::{Failure, NO_LOG, say};
use motherlode_ledger::{ChainHead, Options, Recovered};
use motherlode_log::read_present;
use motherlode_runtime::Config;
use motherlode_server::{LogLocation, index_folder, log_folder};
use motherlode_state::HOME;
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Data folder of `serve`, which may be running.
    #[arg(value_name = "FOLDER")]
    data: PathBuf,
    /// Folder for the views (state files); its subfolder `index` is created or updated.
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let Args { data, to } = args;
    if data.canonicalize().is_ok_and(|data| to.canonicalize().is_ok_and(|to| data == to)) {
        let message = format!("{} is the data folder of the service", to.display());
        return Err(Failure::unusable(message).with_step("Specify another folder with --to"));
    }
    let segment_bytes = Config::default().limits.segment_bytes;
    let count = LogLocation::Folder { data: data.clone(), segment_bytes }.existing_count()?;
    for number in HOME..count {
        let log = log_folder(data, number);
        let (reader, hash) = read_present(&log, number).map_err(|error| Failure::found(error).with_step(NO_LOG))?;
        let end = ChainHead { position: reader.end(), hash };
        let options = Options { snapshot_commits: 1, ..Options::default() };
        let recovered = Recovered::recover(number, reader, end, &index_folder(to, number), &options);
        recovered.map_err(Failure::found)?.close();
        say(&format!("partition {number}: wrote the views up to position {}\n", end.position))?;
    }
    Ok(())
}
