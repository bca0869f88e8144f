use motherlode_log::Hash;
use motherlode_runtime::program;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Provenance {
    before: Option<Hash>,
    is_own: AtomicBool,
    /// Whether the latest snapshot still names another build, although this build has verified the snapshot.
    is_stale: AtomicBool,
    failure: watch::Sender<Option<String>>,
}

impl Provenance {
    pub(crate) fn new(before: Option<Option<Hash>>) -> Self {
        Self {
            before: before.flatten(),
            is_own: AtomicBool::new(before.is_none()),
            is_stale: AtomicBool::new(false),
            failure: watch::Sender::default(),
        }
    }

    pub(crate) fn before(&self) -> Option<Hash> {
        self.before
    }

    pub(crate) fn set_own(&self, checked: bool) {
        self.is_own.store(true, Ordering::Release);
        self.is_stale.store(checked, Ordering::Release);
    }

    #[cfg(test)]
    pub(crate) fn is_own(&self) -> bool {
        self.is_own.load(Ordering::Acquire)
    }

    pub(crate) fn fail(&self, difference: String) {
        self.failure.send_replace(Some(difference));
    }

    /// May block while the executable is being hashed.
    pub(crate) fn program(&self) -> Option<Hash> {
        if self.is_own.load(Ordering::Acquire) { program::digest() } else { self.before }
    }

    pub(crate) fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn failure(&self) -> watch::Receiver<Option<String>> {
        self.failure.subscribe()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }
}
