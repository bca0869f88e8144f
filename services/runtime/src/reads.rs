//! Runs long reads on threads of lower priority than bets. Each operator has a bounded queue and runs one read at a
//! time.

use crate::{access::caller::Caller, priority::lower_priority, reason::Reason, refusal::Refusal};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, thread};
use tokio::{
    runtime::{self, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore},
};

const QUEUE_MAX: usize = 256;

#[derive(Debug, Clone)]
pub struct Reads(Arc<Queues>);

#[derive(Debug)]
struct Queues {
    /// One permit per thread to run a read, granted in the order of requests.
    all: Arc<Semaphore>,
    of: Mutex<BTreeMap<String, Queue>>,
    threads: Option<Runtime>,
}

impl Drop for Queues {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

fn threads(at_once: usize) -> Option<Runtime> {
    let mut threads = runtime::Builder::new_current_thread();
    threads.max_blocking_threads(at_once).thread_name("reads").on_thread_start(lower_priority);
    threads.build().ok()
}

#[derive(Debug)]
struct Queue {
    first: Arc<Semaphore>,
    length: usize,
}

struct QueueSlot {
    queues: Arc<Queues>,
    operator: String,
}

impl Default for Reads {
    fn default() -> Self {
        Self::new(thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2)))
    }
}

impl Reads {
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        let (all, threads) = (Arc::new(Semaphore::new(at_once)), threads(at_once));
        Self(Arc::new(Queues { all, of: Mutex::default(), threads }))
    }

    /// Fails with RESOURCE_EXHAUSTED, READS_BUSY if the operator's queue is full.
    pub async fn run<T: Send + 'static>(
        &self,
        caller: &Caller,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (slot, first) = self.join(caller.own().unwrap_or_default())?;
        let turn = (permit(first).await?, permit(Arc::clone(&self.0.all)).await?, slot);
        let read = move || {
            let done = read();
            drop(turn);
            done
        };
        let done = match &self.0.threads {
            Some(threads) => threads.spawn_blocking(read),
            None => tokio::task::spawn_blocking(read),
        };
        done.await.map_err(|error| Refusal::new(Reason::Internal, error.to_string()))
    }

    fn join(&self, operator: &str) -> Result<(QueueSlot, Arc<Semaphore>), Refusal> {
        let mut of = self.0.of.lock();
        let new = || Queue { first: Arc::new(Semaphore::new(1)), length: 0 };
        let queue = of.entry(operator.to_owned()).or_insert_with(new);
        if queue.length >= QUEUE_MAX {
            let message = "the operator's queue of reads is full";
            return Err(Refusal::new(Reason::ReadsBusy, message).with("reads_max", QUEUE_MAX));
        }
        queue.length += 1;
        Ok((QueueSlot { queues: Arc::clone(&self.0), operator: operator.to_owned() }, Arc::clone(&queue.first)))
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut of = self.queues.of.lock();
        if let Some(queue) = of.get_mut(&self.operator) {
            queue.length -= 1;
            if queue.length == 0 {
                of.remove(&self.operator);
            }
        }
    }
}

async fn permit(semaphore: Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refusal> {
    let closed = |_| Refusal::new(Reason::Closing, "the service is shutting down");
    semaphore.acquire_owned().await.map_err(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn uf_03_reads_are_bounded_in_all_and_a_line_has_an_end() {
        let reads = Reads::new(1);
        let caller = Caller::ANYONE;
        let (go, waits) = std::sync::mpsc::channel::<()>();
        let busy = tokio::spawn({
            let (reads, caller) = (reads.clone(), caller.clone());
            async move { reads.run(&caller, move || waits.recv()).await }
        });
        while reads.0.all.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let mut others = vec![];
        for number in 0..QUEUE_MAX - 1 {
            let (reads, caller) = (reads.clone(), caller.clone());
            others.push(tokio::spawn(async move { reads.run(&caller, move || number).await }));
        }
        while reads.0.of.lock().values().any(|queue| queue.length < QUEUE_MAX) {
            tokio::task::yield_now().await;
        }
        let refused = reads.run(&caller, || ()).await.unwrap_err();
        assert_eq!(refused.reason(), Reason::ReadsBusy);
        let last = others.pop().unwrap();
        last.abort();
        assert!(last.await.unwrap_err().is_cancelled());
        let mut again = Box::pin(reads.run(&caller, || "again"));
        assert!(futures_poll(&mut again).await.is_none(), "the read waits");
        go.send(()).unwrap();
        busy.await.unwrap().unwrap().unwrap();
        for (number, other) in others.into_iter().enumerate() {
            assert_eq!(other.await.unwrap(), Ok(number));
        }
        assert_eq!(again.await, Ok("again"));
        assert!(reads.0.of.lock().is_empty(), "an operator without reads has no entry");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn uf_03_those_who_read_are_nicer_than_those_who_answer() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let before = niceness();
        let read = Reads::new(2).run(&Caller::ANYONE, niceness).await.unwrap();
        assert!(read > before || before == 19, "{read}");
        assert_eq!(niceness(), before, "the process's niceness is unchanged");
    }

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
