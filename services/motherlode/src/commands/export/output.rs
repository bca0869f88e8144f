use crate::commands::{ANY_FILE, Failure};
use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Stdout, Write},
    path::{Path, PathBuf},
};

const BUFFER: usize = 256 << 10;

pub(super) struct Output(To);

enum To {
    Stdout(BufWriter<Stdout>),
    File { file: BufWriter<File>, part: PathBuf, path: PathBuf, ended: bool },
}

impl Output {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self(To::Stdout(BufWriter::with_capacity(BUFFER, io::stdout()))));
        }
        let unusable = |error: io::Error| Failure::unwritable(path, &error, ANY_FILE);
        let name = path.file_name().filter(|_| !path.is_dir());
        let name = name.ok_or_else(|| unusable(ErrorKind::IsADirectory.into()))?;
        let mut part = name.to_owned();
        part.push(".part");
        let part = path.with_file_name(part);
        let file = BufWriter::with_capacity(BUFFER, File::create(&part).map_err(unusable)?);
        Ok(Self(To::File { file, part, path: path.to_owned(), ended: false }))
    }

    pub(super) fn end(mut self) -> Result<(), Failure> {
        match &mut self.0 {
            To::Stdout(output) => output.flush(),
            To::File { file, part, path, ended } => {
                file.flush().and_then(|()| file.get_ref().sync_all()).and_then(|()| fs::rename(part, path)).map(|()| {
                    *ended = true;
                })
            }
        }
        .map_err(Self::failed)
    }

    pub(super) fn failed(error: io::Error) -> Failure {
        match error.kind() {
            ErrorKind::BrokenPipe => Failure { code: 1, message: String::new() },
            _ => Failure::found(format!("the output cannot be written: {error}")),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            To::Stdout(output) => output.write(bytes),
            To::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            To::Stdout(output) => output.flush(),
            To::File { file, .. } => file.flush(),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let To::File { part, ended: false, .. } = &self.0 {
            let _ = fs::remove_file(part);
        }
    }
}
