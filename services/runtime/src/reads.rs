//! Long reads: what looks at many records, or waits for a disk, is done apart from the threads that answer bets.
//!
//! So many at once in all, one at once of an operator; the others wait in line, an operator's behind each other and the
//! operators by turns, so that nobody waits longer for who asks a lot. A line has a bound: past it a read is refused.
//!
//! They have threads of their own, to which the system's scheduler gives less than to those that answer where both want the
//! processor (on Linux; elsewhere no less). Cost: as many threads as reads may be under way.

use crate::{Caller, Refusal};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, thread, time::Duration};
use tokio::{
    runtime::{self, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tonic::Code;

/// Reads of one operator that may wait or be under way.
const LINE_MAX: usize = 256;
/// By how much the threads that read are nicer than the others (sched(7)): next to one that wants the same processor, such
/// a thread gets a tenth of it.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;

/// Where long reads are done; clones share the lines.
#[derive(Debug, Clone)]
pub struct Reads(Arc<Lines>);

#[derive(Debug)]
struct Lines {
    /// Under way, of all operators. Who waits here does so in the order of coming: at most one of each operator.
    all: Arc<Semaphore>,
    of: Mutex<BTreeMap<String, Line>>,
    /// Nothing but its blocking threads is used. None where there could be none: then it's the caller's runtime.
    threads: Option<Runtime>,
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            // Waits for nothing, and so may be called from wherever the last clone is dropped.
            threads.shutdown_background();
        }
    }
}

fn threads(at_once: usize) -> Option<Runtime> {
    let mut threads = runtime::Builder::new_current_thread();
    threads.max_blocking_threads(at_once).thread_name("reads").on_thread_start(be_nicer);
    threads.build().ok()
}

/// Makes the calling thread one that yields to those that answer.
pub(crate) fn be_nicer() {
    // What is refused is done without.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICER);
}

/// An operator's line.
#[derive(Debug)]
struct Line {
    first: Arc<Semaphore>,
    length: usize,
}

/// A place in a line; given up when it's dropped.
struct Place {
    lines: Arc<Lines>,
    operator: String,
}

impl Default for Reads {
    /// Half as many at once as there are processors: the others are for bets.
    fn default() -> Self {
        Self::new(thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2)))
    }
}

impl Reads {
    /// So many at once.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        let (all, threads) = (Arc::new(Semaphore::new(at_once)), threads(at_once));
        Self(Arc::new(Lines { all, of: Mutex::default(), threads }))
    }

    /// Does a read for a caller when it's its turn.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED, READS_BUSY: too many of the caller's operator wait already.
    pub async fn run<T: Send + 'static>(
        &self,
        caller: &Caller,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (place, first) = self.stand(caller.own().unwrap_or_default())?;
        let turn = (permit(first).await?, permit(Arc::clone(&self.0.all)).await?, place);
        // The turn is over when the read is, whether or not the caller still waits.
        let read = move || {
            let done = read();
            drop(turn);
            done
        };
        let done = match &self.0.threads {
            Some(threads) => threads.spawn_blocking(read),
            None => tokio::task::spawn_blocking(read),
        };
        done.await.map_err(|error| Refusal::new(Code::Internal, "INTERNAL", error.to_string()))
    }

    fn stand(&self, operator: &str) -> Result<(Place, Arc<Semaphore>), Refusal> {
        let mut of = self.0.of.lock();
        let new = || Line { first: Arc::new(Semaphore::new(1)), length: 0 };
        let line = of.entry(operator.to_owned()).or_insert_with(new);
        if line.length >= LINE_MAX {
            let message = "too many reads of this operator wait already";
            return Err(Refusal::new(Code::ResourceExhausted, "READS_BUSY", message)
                .with("reads_max", LINE_MAX)
                .retry_after(Duration::from_millis(200)));
        }
        line.length += 1;
        Ok((Place { lines: Arc::clone(&self.0), operator: operator.to_owned() }, Arc::clone(&line.first)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut of = self.lines.of.lock();
        if let Some(line) = of.get_mut(&self.operator) {
            line.length -= 1;
            if line.length == 0 {
                of.remove(&self.operator);
            }
        }
    }
}

async fn permit(semaphore: Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refusal> {
    let closed = |_| Refusal::new(Code::Unavailable, "CLOSING", "the service is closing");
    semaphore.acquire_owned().await.map_err(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn uf_03_reads_are_bounded_in_all_and_a_line_has_an_end() {
        let reads = Reads::new(1);
        let caller = Caller::anyone();
        let (go, waits) = std::sync::mpsc::channel::<()>();
        let busy = tokio::spawn({
            let (reads, caller) = (reads.clone(), caller.clone());
            async move { reads.run(&caller, move || waits.recv()).await }
        });
        while reads.0.all.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let mut others = vec![];
        for number in 0..LINE_MAX - 1 {
            let (reads, caller) = (reads.clone(), caller.clone());
            others.push(tokio::spawn(async move { reads.run(&caller, move || number).await }));
        }
        while reads.0.of.lock().values().any(|line| line.length < LINE_MAX) {
            tokio::task::yield_now().await;
        }
        let refused = reads.run(&caller, || ()).await.unwrap_err();
        assert_eq!((refused.code(), refused.reason()), (Code::ResourceExhausted, "READS_BUSY"));
        // One that gives up gives its place to another.
        let last = others.pop().unwrap();
        last.abort();
        assert!(last.await.unwrap_err().is_cancelled());
        let mut again = Box::pin(reads.run(&caller, || "again"));
        assert!(futures_poll(&mut again).await.is_none(), "it waits");
        go.send(()).unwrap();
        busy.await.unwrap().unwrap().unwrap();
        for (number, other) in others.into_iter().enumerate() {
            assert_eq!(other.await.unwrap(), Ok(number));
        }
        assert_eq!(again.await, Ok("again"));
        assert!(reads.0.of.lock().is_empty(), "nothing is left of who has gone");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn uf_03_those_who_read_are_nicer_than_those_who_answer() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let before = niceness();
        let read = Reads::new(2).run(&Caller::anyone(), niceness).await.unwrap();
        assert_eq!(read, (before + NICER).min(19));
        assert_eq!(niceness(), before, "it's a thread's, not the process's");
    }

    /// Polls once.
    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
