//! Audits a pruned log from a snapshot whose digest the log confirms (PL-37), without recomputing outcomes of rounds.

use super::args::Args;
use crate::commands::{Failure, Format, json, say};
use motherlode_ledger::{ChainHead, Options, Recovered, base};
use motherlode_log::{SegmentStore, Store};
use motherlode_proto::convert::{play::hex, record};
use motherlode_server::{LocalLog, index_folder};
use motherlode_state::{BaseTaken, Event, HOME};
use serde_json::{Value, json};
use std::{fs, io, path::Path};

struct FromBase {
    partition: u32,
    base: BaseTaken,
    end: BaseTaken,
}

pub(super) fn run(args: &Args, data: &Path, local: &LocalLog) -> Result<(), Failure> {
    let copied = tempfile::tempdir().map_err(Failure::found)?;
    copy(&data.join("index"), &copied.path().join("index")).map_err(|error| {
        Failure::unreadable(data, &error, "With --from-base, name a folder whose index/ contains the base's snapshot")
    })?;
    let folded = (HOME..local.partitions()).map(|partition| fold(local, partition, copied.path()));
    let folded = folded.collect::<Result<Vec<_>, _>>()?;
    say(&match args.format {
        Format::Text => folded.iter().map(FromBase::text).collect::<String>(),
        Format::Json => {
            json(&json!({"ok": true, "partitions": folded.iter().map(FromBase::json).collect::<Vec<_>>()}))?
        }
    })
}

fn fold(local: &LocalLog, partition: u32, copied: &Path) -> Result<FromBase, Failure> {
    let index = index_folder(copied, partition);
    let snapshot = || {
        let none = || {
            Failure::unusable(format!(
                "partition {partition}: the index has no snapshot made by this version of motherlode"
            ))
        };
        base(&index, partition).map_err(Failure::unusable)?.ok_or_else(none)
    };
    let store = SegmentStore::open_unchanged(&local.log(partition), partition, motherlode_log::Options::default());
    let store = store.map_err(Failure::found)?;
    let base = snapshot()?;
    if !is_confirmed(&store, &base)? {
        let BaseTaken { position, digest, .. } = &base;
        let what = format!(
            "partition {partition}: no record of the log confirms the base at position {position} with the digest {}",
            hex(digest)
        );
        return Err(Failure::found(what));
    }
    let (head, options) = (
        ChainHead { position: store.end(), hash: store.head() },
        Options { snapshot_commits: 1, ..Options::default() },
    );
    Recovered::recover(partition, store.reader(), head, &index, &options).map_err(Failure::found)?.close();
    let end = snapshot()?;
    match end.position == head.position {
        true => Ok(FromBase { partition, base, end }),
        false => Err(Failure::found(format!("partition {partition}: cannot write a snapshot of its last state"))),
    }
}

fn is_confirmed(store: &SegmentStore, base: &BaseTaken) -> Result<bool, Failure> {
    let (reader, mut next) = (store.reader(), base.position + 1);
    loop {
        let records = reader.read(next, 1_000, 1 << 20).map_err(Failure::found)?;
        let Some(last) = records.last() else { return Ok(false) };
        next = last.position + 1;
        for found in &records {
            let commit = record::decode(&found.bytes).map_err(Failure::found)?.commit;
            let confirms = |event: &Event| match event {
                Event::BaseConfirmed(confirmed) => {
                    (confirmed.position, confirmed.digest) == (base.position, base.digest)
                }
                _ => false,
            };
            if commit.events.iter().any(confirms) {
                return Ok(true);
            }
        }
    }
}

impl FromBase {
    fn text(&self) -> String {
        let Self { partition, base, end } = self;
        format!(
            "Log of partition {partition}, replayed from its base; outcomes were not recomputed\n  base    digest {} at position {}\n  \
             digest  {} at position {}\n",
            hex(&base.digest),
            base.position,
            hex(&end.digest),
            end.position
        )
    }

    fn json(&self) -> Value {
        let of = |base: &BaseTaken| json!({"position": base.position, "digest": hex(&base.digest)});
        json!({"partition": self.partition, "believed": of(&self.base), "end": of(&self.end)})
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() { copy(&entry.path(), &to)? } else { fs::copy(entry.path(), &to).map(drop)? }
    }
    Ok(())
}
