//! The threads that serve connections: each has a runtime of its own, and a connection stays on the thread that it was given to. So
//! what a call wakes is on its own thread, and nothing is taken from one thread to another.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// The threads; they end when this is dropped.
pub struct Workers {
    runtimes: Vec<Handle>,
    /// Each thread ends when its own is dropped.
    _ends: Vec<oneshot::Sender<()>>,
    next: AtomicUsize,
}

impl Workers {
    /// Starts so many threads, one at least.
    ///
    /// # Errors
    /// The operating system gives no thread, or no descriptors for its events.
    pub fn start(count: usize) -> io::Result<Self> {
        let (mut runtimes, mut ends) = (vec![], vec![]);
        for number in 0..count.max(1) {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (end, ended) = oneshot::channel::<()>();
            runtimes.push(runtime.handle().clone());
            ends.push(end);
            thread::Builder::new().name(format!("calls-{number}")).spawn(move || {
                // It ends with an error, since nothing is ever sent.
                let _ = runtime.block_on(ended);
                runtime.shutdown_background();
            })?;
        }
        Ok(Self { runtimes, _ends: ends, next: AtomicUsize::new(0) })
    }

    /// The runtime of the thread whose turn it is.
    pub fn next(&self) -> &Handle {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        &self.runtimes[turn % self.runtimes.len()]
    }
}
