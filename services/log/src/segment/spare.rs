//! Spare file for the next segment. A thread fills the file with durable zeros in pieces, with pauses in between, so
//! that no append has to wait.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use super::active::{Active, write_zeros};
use crate::disk::{Disk, File};

/// Pause after each write of zeros, as a multiple of the time that the write took.
const REST: u32 = 8;
const HURRIED_REST: u32 = 1;
const PIECES_MIN: u64 = 4;

#[derive(Debug)]
pub(super) struct Spare {
    fill: Arc<Fill>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug)]
struct Fill {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    bytes: u64,
    piece: u64,
    file: OnceLock<Arc<dyn File>>,
    zeroed: AtomicU64,
    hurries: AtomicBool,
    stops: AtomicBool,
}

impl Spare {
    pub fn new(disk: Arc<dyn Disk>, path: PathBuf, bytes: u64, piece: u64) -> Self {
        let (zeroed, hurries, stops) = Default::default();
        let fill = Fill { disk, path, bytes, piece, file: OnceLock::new(), zeroed, hurries, stops };
        Self { fill: Arc::new(fill), thread: None }
    }

    pub fn is_usable(&self) -> bool {
        self.fill.zeroed.load(Ordering::Acquire) >= self.fill.bytes.min(PIECES_MIN * self.fill.piece)
    }

    pub fn tend(&mut self, active: &Active) -> io::Result<()> {
        let Fill { disk, bytes, zeroed, hurries, .. } = &*self.fill;
        let is_behind = zeroed.load(Ordering::Acquire) * active.zeroed < active.used * bytes;
        let begins_to_hurry = !hurries.swap(is_behind, Ordering::Relaxed) && is_behind;
        if let Some(thread) = self.thread.take_if(|thread| thread.is_finished()) {
            join(thread)?;
        }
        match &self.thread {
            Some(thread) if begins_to_hurry => thread.thread().unpark(),
            Some(_) => {}
            None if zeroed.load(Ordering::Acquire) >= *bytes => {}
            None if disk.has_threads() => {
                let fill = Arc::clone(&self.fill);
                self.thread = Some(thread::Builder::new().name("log-spare".to_owned()).spawn(move || fill.run())?);
            }
            None => self.fill.run()?,
        }
        Ok(())
    }

    pub fn take(mut self) -> Option<Active> {
        self.stop();
        let file = Arc::clone(self.fill.file.get()?);
        Some(Active::spare(file, self.fill.zeroed.load(Ordering::Acquire)))
    }

    fn stop(&mut self) {
        self.fill.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = join(thread);
        }
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        self.stop();
    }
}

fn join(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that fills the next segment panicked")))
}

impl Fill {
    fn run(&self) -> io::Result<()> {
        let file = match self.file.get() {
            Some(file) => file,
            None => {
                let created = self.disk.create(&self.path)?;
                self.file.get_or_init(|| created)
            }
        };
        loop {
            let (begun, zeroed) = (Instant::now(), self.zeroed.load(Ordering::Acquire));
            if zeroed >= self.bytes || self.stops.load(Ordering::Relaxed) {
                return Ok(());
            }
            let end = self.bytes.min(zeroed + self.piece);
            write_zeros(file, zeroed, end)?;
            file.sync()?;
            self.zeroed.store(end, Ordering::Release);
            if self.disk.has_threads() {
                let rest = if self.hurries.load(Ordering::Relaxed) { HURRIED_REST } else { REST };
                thread::park_timeout(begun.elapsed() * rest);
            }
        }
    }
}
