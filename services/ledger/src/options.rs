use crate::{draws::DrawKeys, time::process_ticks};
use motherlode_runtime::{Clock, Operators};
use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[derive(Clone)]
pub struct Options {
    pub queue_length_max: usize,
    pub operators: usize,
    pub configured: Operators,
    pub open_rounds_max: usize,
    pub has_operators: bool,
    pub batch_commits_max: usize,
    pub answer_wait_max: Option<Duration>,
    pub change_lapse_ms: i64,
    /// Number of commits after which startup or shutdown writes a snapshot. At runtime, the number is 20 times as high.
    pub snapshot_commits: u64,
    /// Maximum number of players in memory, not counting players with open rounds or with changes since the last
    /// snapshot.
    pub players_max: usize,
    /// Number of commits per run (sorted file) of the idempotency table.
    pub request_run_commits: usize,
    /// Maximum memory for the filters of the idempotency table. Filters above this limit are read from disk at each
    /// lookup.
    pub request_filter_bytes_max: u64,
    /// Maximum time without an answer from the store or, for a replica, from the writer; after this time, proposals are
    /// refused.
    pub silence_max: Duration,
    /// Replaces `silence_max` on a replica while another process takes over the log.
    pub takeover_max: Duration,
    /// Maximum time for which a replica's log may be longer than the writer's; after this time, the replica stops.
    pub ahead_max: Duration,
    pub draws: DrawKeys,
    pub clock: Clock,
    pub ticks: Clock,
}

impl Options {
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
            configured: Operators::default(),
            open_rounds_max: 100_000,
            has_operators: false,
            batch_commits_max: 512,
            answer_wait_max: Some(Duration::from_secs(10)),
            change_lapse_ms: 86_400_000,
            snapshot_commits: 10_000,
            players_max: 1_000_000,
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
