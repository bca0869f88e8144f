//! Reports messages of foreign writers in the stream as a significant event (PL-22), once per hour and partition.

use motherlode_jetstream::Presence;
use motherlode_ledger::Ledgers;
use motherlode_report::log_finding;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::sleep;

const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) async fn report(presence: Presence, ledgers: Ledgers) {
    let mut reported = BTreeMap::<u32, u64>::new();
    loop {
        for (partition, count) in presence.foreign() {
            if count <= reported.get(&partition).copied().unwrap_or_default() {
                continue;
            }
            let finding =
                format!("partition {partition}: its stream contains messages that no writer of the log has published");
            match log_finding(ledgers.home(), "stream", &finding).await {
                Ok(_) => {
                    reported.insert(partition, count);
                }
                Err(error) => {
                    tracing::warn!(%error, partition, count, "failed to record the significant event that a stream contains foreign messages")
                }
            }
        }
        sleep(LOOK_EVERY).await;
    }
}
