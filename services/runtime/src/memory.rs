//! Finds a memory-backed folder for the position of the log's end. Volume snapshots do not contain this folder, so
//! a start with an older volume detects the missing log records.

use rustix::fs::statfs;
use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Magic numbers of the memory-backed file systems tmpfs and ramfs, statfs(2).
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Returns a private memory-backed folder: `asked`, or the first usable default, if any. Fails if `asked` is not
/// memory-backed, or if another user can write to `asked`.
pub fn folder(asked: Option<&Path>) -> io::Result<Option<PathBuf>> {
    if let Some(asked) = asked {
        return prepare(asked).map(Some);
    }
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let usual = ["RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"].into_iter().filter_map(variable);
    let usual = usual.chain(["/run".into(), "/dev/shm".into()]);
    let user = rustix::process::geteuid().as_raw();
    Ok(usual.into_iter().find_map(|parent| prepare(&parent.join(format!("motherlode-{user}"))).ok()))
}

fn prepare(folder: &Path) -> io::Result<PathBuf> {
    let fault = |what: &str| io::Error::other(format!("{}: {what}", folder.display()));
    let made = fs::DirBuilder::new().mode(0o700).create(folder);
    if let Err(error) = made
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(fault(&error.to_string()));
    }
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() {
        return Err(fault("the path is not a folder"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() || found.permissions().mode() & 0o022 != 0 {
        return Err(fault("a user other than this process's user owns the folder or can write to it"));
    }
    let kind = u64::try_from(statfs(folder)?.f_type).unwrap_or_default();
    if !IN_MEMORY.contains(&kind) {
        return Err(fault("the folder is not in memory-backed storage (tmpfs)"));
    }
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_40_a_page_lies_in_memory_and_in_a_folder_of_its_own() {
        let name = format!("motherlode-test-{}", std::process::id());
        let own = Path::new("/dev/shm").join(&name);
        if Path::new("/dev/shm").is_dir() {
            assert_eq!(folder(Some(&own)).unwrap(), Some(own.clone()));
            fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
            assert!(folder(Some(&own)).unwrap_err().to_string().contains("a user other than"));
            fs::remove_dir(&own).unwrap();
            std::os::unix::fs::symlink("/dev/shm", &own).unwrap();
            assert!(folder(Some(&own)).unwrap_err().to_string().contains("not a folder"));
            fs::remove_file(&own).unwrap();
        }
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let fault = folder(Some(&here)).map_err(|fault| fault.to_string());
        fs::remove_dir(&here).unwrap();
        assert!(fault.unwrap_err().contains("not in memory-backed storage"));
        assert!(folder(Some(Path::new("/nowhere/at/all"))).is_err());
    }
}
