//! The standbys of a log, as its writer hears of them: each is listed among those who follow the log, until it has been silent for some
//! seconds.

use motherlode_jetstream::{Presence, Told};
use motherlode_ledger::{Ledgers, ReaderKind, Reading};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// A standby that was silent for so long is there no more: it tells once a second.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Standbys of a partition that are listed.
const LISTED_MAX: usize = 64;

/// Those that were heard, by partition and name, with the last time.
type Heard = BTreeMap<(u32, String), (Reading, Instant)>;

/// Lists the standbys of these ledgers for as long as it's polled.
pub(super) async fn list(presence: Presence, ledgers: Ledgers) {
    let heard = Arc::new(Mutex::new(Heard::new()));
    let hearing = presence.hear_standbys(|told| take(&mut heard.lock(), &ledgers, told));
    let forgetting = async {
        loop {
            sleep(Duration::from_secs(1)).await;
            heard.lock().retain(|_, (_, last)| last.elapsed() < SILENCE_MAX);
        }
    };
    tokio::join!(hearing, forgetting);
}

fn take(heard: &mut Heard, ledgers: &Ledgers, told: Told) {
    let Told { partition, name, position } = told;
    let now = Instant::now();
    if let Some((reading, last)) = heard.get_mut(&(partition, name.clone())) {
        reading.sent(position);
        *last = now;
        return;
    }
    let Some(ledger) = ledgers.all().find(|ledger| ledger.partition() == partition) else { return };
    if heard.keys().filter(|(of, _)| *of == partition).count() < LISTED_MAX {
        let reading = ledger.reading(ReaderKind::Standby, name.clone(), position);
        heard.insert((partition, name), (reading, now));
    }
}
