//! Reads the index from a temporary copy, since sled writes when it opens. If a service holds sled's lock, it is
//! changing the index, so the index is not read.

use motherlode_ledger::{
    ChainHead,
    index::{Index, IndexError, Mark, ProjectedBalance, read_mark},
};
use std::{
    collections::VecDeque,
    fs::{self, File, TryLockError},
    io,
    path::Path,
};

#[derive(Debug, Default)]
pub(crate) struct Projection {
    pub(crate) balances: VecDeque<ProjectedBalance>,
    pub(crate) head: Option<ChainHead>,
}

pub(crate) fn read(folder: &Path) -> Result<Projection, String> {
    let database = folder.join("sled").join("db");
    if !database.is_file() {
        return Err("there is none".into());
    }
    let unused = || match in_use(&database) {
        Ok(false) => Ok(()),
        Ok(true) => Err("a service has it open".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    unused()?;
    let copied = tempfile::tempdir().and_then(|copy| copy_all(folder, copy.path()).map(|()| copy));
    let copy = copied.map_err(|error| format!("it cannot be copied: {error}"))?;
    unused()?;
    let damaged = |error| format!("it cannot be read: {error}");
    let mark = read_mark(folder).map_err(|error| match error {
        IndexError::DamagedMark { .. } => {
            "its mark is damaged, so its durable position is unknown; a service rebuilds it from the log".to_owned()
        }
        error => damaged(error),
    })?;
    let index = Index::open(copy.path()).map_err(damaged)?;
    if let Mark::At(held) = mark
        && !index.sled_marks().is_some_and(|marks| marks.agree_with(held))
    {
        return Err(
            "its folder `sled` is older than its mark, empty or from another log; a service rebuilds it from the log"
                .into(),
        );
    }
    let mut balances = index.balances().collect::<Result<Vec<_>, _>>().map_err(damaged)?;
    balances.sort_by_key(|balance| balance.position);
    Ok(Projection { balances: balances.into(), head: mark.head() })
}

fn in_use(database: &Path) -> io::Result<bool> {
    match File::open(database)?.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy_all(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
