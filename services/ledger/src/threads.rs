//! Starts the ledger's threads, and publishes the first panic of any of them.

use std::{
    any::Any,
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    thread::{self, JoinHandle},
};
use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct Threads(Arc<watch::Sender<Option<String>>>);

impl Default for Threads {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Threads {
    pub(crate) fn spawn(&self, name: &'static str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
        let reported = Arc::clone(&self.0);
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
                let why = format!("the ledger's thread {name} panicked: {}", panic_text(&*panic));
                tracing::error!(why, "a thread of the ledger panicked");
                reported.send_if_modified(|first| first.is_none() && first.replace(why).is_none());
                resume_unwind(panic);
            }
        })
    }

    pub(crate) fn ended(&self) -> watch::Receiver<Option<String>> {
        self.0.subscribe()
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn at_a5_the_first_panic_of_a_thread_is_reported_with_its_message() {
        let threads = Threads::default();
        let mut ended = threads.ended();
        threads.spawn("calm", || {}).unwrap().join().unwrap();
        assert_eq!(*ended.borrow(), None);
        let first = threads.spawn("first", || panic!("position {}", 7)).unwrap();
        assert!(first.join().is_err());
        assert!(threads.spawn("second", || panic!("later")).unwrap().join().is_err());
        let why = ended.wait_for(Option::is_some).await.unwrap().clone();
        assert_eq!(why.as_deref(), Some("the ledger's thread first panicked: position 7"));
    }
}
