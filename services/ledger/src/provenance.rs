//! Provenance of the state: the build that folded it, or verified another build's fold.

use motherlode_log::Hash;
use motherlode_runtime::program;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// Build named in snapshots of the state.
#[derive(Debug)]
pub(crate) struct Provenance {
    /// Build named in the snapshot loaded at startup.
    before: Option<Hash>,
    /// Whether this build folded or verified the whole state.
    is_own: AtomicBool,
    /// Whether the latest snapshot names another build although this one verified the state.
    is_stale: AtomicBool,
    /// First difference found.
    failure: watch::Sender<Option<String>>,
}

impl Provenance {
    /// Creates the provenance of a state from a snapshot, or from the log alone.
    pub(crate) fn new(before: Option<Option<Hash>>) -> Self {
        Self {
            before: before.flatten(),
            is_own: AtomicBool::new(before.is_none()),
            is_stale: AtomicBool::new(false),
            failure: watch::Sender::default(),
        }
    }

    /// Returns the build named in the snapshot loaded at startup.
    pub(crate) fn before(&self) -> Option<Hash> {
        self.before
    }

    /// Names this build in further snapshots. With `checked`, the latest snapshot names another one.
    pub(crate) fn set_own(&self, checked: bool) {
        self.is_own.store(true, Ordering::Release);
        self.is_stale.store(checked, Ordering::Release);
    }

    /// Returns whether snapshots name this build.
    #[cfg(test)]
    pub(crate) fn is_own(&self) -> bool {
        self.is_own.load(Ordering::Acquire)
    }

    /// Records a difference between the state and the fold of the log.
    pub(crate) fn fail(&self, difference: String) {
        self.failure.send_replace(Some(difference));
    }

    /// Returns the build for the next snapshot. May block until the executable is hashed.
    pub(crate) fn program(&self) -> Option<Hash> {
        if self.is_own.load(Ordering::Acquire) { program::digest() } else { self.before }
    }

    /// Returns whether a snapshot is due without new commits, to spare the next start the check. Resets the flag.
    pub(crate) fn take_stale(&self) -> bool {
        self.is_stale.swap(false, Ordering::AcqRel)
    }

    /// Returns a receiver of the first difference.
    pub(crate) fn failure(&self) -> watch::Receiver<Option<String>> {
        self.failure.subscribe()
    }

    /// Returns whether the state differs from the fold of the log. No snapshot is written then.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }
}
