//! Options of a ledger.

use crate::{draws::DrawKeys, time::process_ticks};
use motherlode_books::SmolStr;
use motherlode_runtime::Clock;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Options of a ledger.
#[derive(Clone)]
pub struct Options {
    /// Maximum number of proposals waiting for a verdict; more are refused.
    pub queue_length_max: usize,
    /// Number of operators that share the queue.
    pub operators: usize,
    /// Weights of operators; the default is 1.
    pub weights: Arc<BTreeMap<SmolStr, u32>>,
    /// Maximum number of open rounds per operator in the partition; a bet beyond it is refused.
    pub open_rounds_max: usize,
    /// Whether operators are configured, so that each actor has a name.
    pub has_operators: bool,
    /// Maximum number of commits in a group commit.
    pub batch_commits_max: usize,
    /// Maximum wait of a proposal for its answer; `None` for no limit.
    pub answer_wait_max: Option<Duration>,
    /// Time in which a change needs its second actor (PL-27), in milliseconds.
    pub change_lapse_ms: i64,
    /// Number of commits after the latest snapshot that make another one worthwhile at startup and shutdown. While the
    /// ledger runs, it is 200 times this number.
    pub snapshot_commits: u64,
    /// Approximate number of players in memory, apart from those with open rounds or with changes since the latest
    /// snapshot. Others are evicted, and loaded from files on demand.
    pub players_max: usize,
    /// Maximum number of commits after the index's mark that are indexed again at a restart.
    pub mark_commits: usize,
    /// Number of commits per new run of the idempotency table. That many can be in memory, 16 bytes each.
    pub request_run_commits: usize,
    /// Maximum memory for filters of the table's runs, in bytes; other filters are read for each lookup.
    pub request_filter_bytes_max: u64,
    /// Maximum silence of an append, of the store's confirmation, or of a replica's writer. After it the ledger refuses
    /// proposals and reports that.
    pub silence_max: Duration,
    /// Maximum silence for a replica while a standby is known to take over.
    pub takeover_max: Duration,
    /// How long a replica tolerates a log shorter than its own state. A longer wait means another log, since an
    /// overtaken writer has noticed by then.
    pub ahead_max: Duration,
    /// Draw keys, for the first seal of new players and for the draws of voided open rounds.
    pub draws: DrawKeys,
    /// Machine's clock for timestamps: see the [time of the log](crate::Handle::now_ms).
    pub clock: Clock,
    /// Monotonic milliseconds from any origin.
    pub ticks: Clock,
}

impl Options {
    /// Returns options with a simulated clock, which also serves as the monotonic one.
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
