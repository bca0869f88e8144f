use std::{
    fs, io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Access, Disk, File, Folder, LockGuard};

#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

impl Disk for OsDisk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let above = match dir.parent() {
            Some(above) if above != Path::new("") => above,
            _ => Path::new("."),
        };
        if !dir.is_dir() {
            if !above.is_dir() {
                self.create_dir(above)?;
            }
            fs::create_dir(dir)?;
        }
        // The parent is synced even if the directory existed, because the directory's name may not be durable yet.
        self.folder(above)?.sync()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().into())).collect()
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = fs::File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(file))
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = fs::File::options().read(true).write(access == Access::Write).open(path)?;
        Ok(Arc::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn folder(&self, dir: &Path) -> io::Result<Arc<dyn Folder>> {
        Ok(Arc::new(Directory(fs::File::open(dir)?)))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<LockGuard>> {
        let file = fs::File::options().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

#[derive(Debug)]
struct Directory(fs::File);

impl Folder for Directory {
    fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}

impl File for fs::File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        fs::File::set_len(self, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
