//! SHA-256 of the executable. The executable is opened at startup, because its path may later name another file.

use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::MetadataExt as _,
    sync::OnceLock,
};

static STARTED: OnceLock<Started> = OnceLock::new();

struct Started {
    file: Option<File>,
    digest: OnceLock<Option<[u8; 32]>>,
}

pub fn open() {
    started();
}

fn started() -> &'static Started {
    STARTED.get_or_init(|| Started { file: executable_file().ok(), digest: OnceLock::new() })
}

pub fn digest() -> Option<[u8; 32]> {
    let Started { file, digest } = started();
    *digest.get_or_init(|| file.as_ref().and_then(|file| digest_of(file).ok()))
}

/// Returns whether the executable's file has changed since the start. With `only_just`, a file with
/// unchanged device and inode numbers counts as unchanged without being read.
pub fn is_replaced(only_just: bool) -> bool {
    let now = executable_file();
    if only_just && now.as_ref().is_ok_and(is_started) {
        return false;
    }
    let Some(started) = digest() else { return false };
    now.and_then(digest_of).ok() != Some(started)
}

fn is_started(file: &File) -> bool {
    let of = |file: &File| file.metadata().map(|of| (of.dev(), of.ino())).ok();
    started().file.as_ref().and_then(of).is_some_and(|started| of(file) == Some(started))
}

fn executable_file() -> io::Result<File> {
    std::env::current_exe().and_then(File::open)
}

fn digest_of(mut from: impl Read) -> io::Result<[u8; 32]> {
    let (mut hash, mut part) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match from.read(&mut part) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(read) => hash.update(&part[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pieces(Vec<io::Result<&'static [u8]>>);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let piece = if self.0.is_empty() { Ok(&b""[..]) } else { self.0.remove(0) };
            piece.map(|piece| {
                into[..piece.len()].copy_from_slice(piece);
                piece.len()
            })
        }
    }

    #[test]
    fn uf_04_a_file_is_hashed_piece_by_piece() {
        let interrupted = || Err(io::ErrorKind::Interrupted.into());
        let pieces = Pieces(vec![Ok(b"a"), interrupted(), Ok(b"bc")]);
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = digest_of(pieces).unwrap();
        assert_eq!(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), known);
        assert!(digest_of(Pieces(vec![Err(io::ErrorKind::BrokenPipe.into())])).is_err());
    }
}
