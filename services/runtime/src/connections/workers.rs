//! Threads for connections. All calls of a connection run on one thread.

use crate::priority::short_slices;
use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

pub struct Workers {
    runtimes: Vec<Handle>,
    _ends: Vec<oneshot::Sender<()>>,
    next: AtomicUsize,
}

impl Workers {
    pub fn start(count: usize) -> io::Result<Self> {
        let (mut runtimes, mut ends) = (vec![], vec![]);
        for number in 0..count.max(1) {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (end, ended) = oneshot::channel::<()>();
            runtimes.push(runtime.handle().clone());
            ends.push(end);
            thread::Builder::new().name(format!("calls-{number}")).spawn(move || {
                short_slices();
                let _ = runtime.block_on(ended);
                runtime.shutdown_background();
            })?;
        }
        Ok(Self { runtimes, _ends: ends, next: AtomicUsize::new(0) })
    }

    pub fn next(&self) -> &Handle {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        &self.runtimes[turn % self.runtimes.len()]
    }
}
