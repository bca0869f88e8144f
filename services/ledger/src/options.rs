//! How a ledger works: what whoever opens it chooses.

use crate::{draws::DrawKeys, time::process_ticks};
use motherlode_books::SmolStr;
use motherlode_runtime::Clock;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How a ledger works.
#[derive(Clone)]
pub struct Options {
    /// Proposals waiting for their verdict; one more is refused.
    pub queue_length_max: usize,
    /// Operators that share those places.
    pub operators: usize,
    /// Operators' weights; an operator without one has 1.
    pub weights: Arc<BTreeMap<SmolStr, u32>>,
    /// Open rounds of one operator in the partition; a bet that would leave one more open is refused.
    pub open_rounds_max: usize,
    /// Whether operators are configured: then each actor has a name.
    pub has_operators: bool,
    /// Commits in one group commit.
    pub batch_commits_max: usize,
    /// How long a proposal waits for its answer; `None` for as long as it takes.
    pub answer_wait_max: Option<Duration>,
    /// How long a change waits for its second actor (PL-27), milliseconds.
    pub change_lapse_ms: i64,
    /// Commits past the latest snapshot that make another one worth writing when the ledger has opened and when it closes;
    /// while it runs, 200 times as many.
    pub snapshot_commits: u64,
    /// Players that are in memory, about; those that have changed since the latest snapshot and those with open rounds are beyond it.
    /// Others are read from the files beside the index when they are asked for.
    pub players_max: usize,
    /// Commits past the index's mark after which another mark is made: at the most, so many are put again at a restart.
    pub mark_commits: usize,
    /// Commits of a run of requests as it's first written: so many more may be in memory, 16 bytes each.
    pub request_run_commits: usize,
    /// Bytes of memory for the filters of runs of requests; those beyond it are read for each question.
    pub request_filter_bytes_max: u64,
    /// How long an append, a store's confirmation of its writer, or for a replica the process that writes the log may take to answer
    /// before the ledger refuses proposals and reports that it accepts none.
    pub silence_max: Duration,
    /// The same for a replica while a standby is known to be taking the log over.
    pub takeover_max: Duration,
    /// How long a replica tolerates a log that is shorter than its own state: an overtaken writer knows by then, so it
    /// must be another log.
    pub ahead_max: Duration,
    /// The draw keys: players that are opened get their first seal by them, and open rounds that are voided are revealed.
    pub draws: DrawKeys,
    /// The machine's clock, which commits are stamped with: see the [time of the log](crate::Handle::now_ms).
    pub clock: Clock,
    /// Milliseconds that pass at the same speed whatever the clock does, from any start.
    pub ticks: Clock,
}

impl Options {
    /// On a clock of its own that nobody sets: nothing else passes, either.
    #[must_use]
    pub fn on_clock(clock: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        let clock: Clock = Arc::new(clock);
        Self { ticks: Arc::clone(&clock), clock, ..Self::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        let clock = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        };
        Self {
            queue_length_max: 8192,
            operators: 1,
            weights: Arc::default(),
            open_rounds_max: 100_000,
            has_operators: false,
            batch_commits_max: 512,
            answer_wait_max: Some(Duration::from_secs(10)),
            change_lapse_ms: 86_400_000,
            snapshot_commits: 10_000,
            players_max: 1_000_000,
            mark_commits: 250_000,
            request_run_commits: 1 << 17,
            request_filter_bytes_max: 256 << 20,
            silence_max: Duration::from_secs(3),
            takeover_max: Duration::from_secs(6),
            ahead_max: Duration::from_secs(20),
            draws: DrawKeys::none(),
            clock: Arc::new(clock),
            ticks: process_ticks(),
        }
    }
}
