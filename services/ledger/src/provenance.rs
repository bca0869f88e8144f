//! The provenance of the state: the program that folded it, or checked the fold of another one.

use motherlode_log::Hash;
use motherlode_runtime::program;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// The program behind the state, as snapshots name it.
#[derive(Debug)]
pub(crate) struct Provenance {
    /// The program named by the snapshot of the start.
    before: Option<Hash>,
    /// Whether this program folded all of the state, or checked it.
    is_own: AtomicBool,
    /// Whether the latest snapshot names another program although this one checked the state.
    is_stale: AtomicBool,
    /// The first difference.
    failure: watch::Sender<Option<String>>,
}

impl Provenance {
    /// Provenance of a state that rests on a snapshot of a program, or on the log alone.
    pub(crate) fn new(before: Option<Option<Hash>>) -> Self {
        Self {
            before: before.flatten(),
            is_own: AtomicBool::new(before.is_none()),
            is_stale: AtomicBool::new(false),
            failure: watch::Sender::default(),
        }
    }

    /// The program named by the snapshot of the start.
    pub(crate) fn before(&self) -> Option<Hash> {
        self.before
    }

    /// Makes this program the one named by snapshots. `checked`: the latest snapshot names another one.
    pub(crate) fn set_own(&self, checked: bool) {
        self.is_own.store(true, Ordering::Release);
        self.is_stale.store(checked, Ordering::Release);
    }

    /// Whether snapshots name this program.
    #[cfg(test)]
    pub(crate) fn is_own(&self) -> bool {
        self.is_own.load(Ordering::Acquire)
    }

    /// Records a difference between the state and the fold of the log.
    pub(crate) fn fail(&self, difference: String) {
        self.failure.send_replace(Some(difference));
    }

    /// The program for the next snapshot. It may wait until the executable is hashed.
    pub(crate) fn program(&self) -> Option<Hash> {
        if self.is_own.load(Ordering::Acquire) { program::digest() } else { self.before }
    }

    /// Whether a snapshot is due without new commits, so that the next start need not check again. Resets the flag.
    pub(crate) fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::AcqRel)
    }

    /// The first difference, and a way to wait for it.
    pub(crate) fn failure(&self) -> watch::Receiver<Option<String>> {
        self.failure.subscribe()
    }

    /// Whether the state differs from the fold of the log. Then no snapshot may be left behind.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }
}
