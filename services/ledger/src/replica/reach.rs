//! Polls the writer. If the writer does not answer within a time limit, calls are refused. This limit is longer while a
//! standby takes over. If the writer reports that it may have been replaced, calls are refused immediately.

use super::link::{Contact, Link};
use crate::{core::LedgerCore, options::Options, standing::Hindrance};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

const ASK_EVERY: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Maximum age of a standby's report of its takeover; an older report is ignored.
const WORD_AGE_MAX: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    silence_max: Duration,
    takeover_max: Duration,
}

#[derive(Debug, PartialEq, Eq)]
enum Silence {
    None,
    Short,
    Long,
}

impl Bounds {
    pub(super) fn new(options: &Options) -> Self {
        Self { silence_max: options.silence_max, takeover_max: options.takeover_max }
    }

    fn judge(&self, contact: &Contact, now: Instant) -> Silence {
        let silent = now.saturating_duration_since(contact.answered);
        let is_taken_over = contact.takeover.is_some_and(|word| now.saturating_duration_since(word) <= WORD_AGE_MAX);
        let most = match () {
            () if is_taken_over => self.takeover_max,
            () if contact.is_unconfirmed => Duration::ZERO,
            () => self.silence_max,
        };
        match silent >= most {
            true => Silence::Long,
            false if silent >= self.silence_max => Silence::Short,
            false => Silence::None,
        }
    }
}

pub(super) async fn watch(link: Arc<Link>, shared: Arc<LedgerCore>, bounds: Bounds) {
    let asking = async {
        loop {
            link.head().await;
            sleep(ASK_EVERY).await;
        }
    };
    let judging = async {
        loop {
            match bounds.judge(&link.contact(), Instant::now()) {
                Silence::None => shared.standings.clear(Hindrance::Unconfirmed),
                Silence::Short => {}
                Silence::Long => shared.standings.hinder(
                    Hindrance::Unconfirmed,
                    "the writer of the log does not answer; check the ledger processes and the network",
                ),
            }
            sleep(LOOK_EVERY).await;
        }
    };
    tokio::join!(asking, judging);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a1_a_silence_is_long_after_3_s_and_after_6_s_while_a_standby_takes_over() {
        let (bounds, answered) = (Bounds::new(&Options::default()), Instant::now());
        let judge = |silent_ms, word_ms: Option<u64>, is_unconfirmed| {
            let at = |ms| answered + Duration::from_millis(ms);
            let contact = Contact { answered, takeover: word_ms.map(at), is_unconfirmed };
            bounds.judge(&contact, at(silent_ms))
        };
        for (silent_ms, word_ms, is_unconfirmed, wanted) in [
            (0, None, false, Silence::None),
            (2_999, None, false, Silence::None),
            (3_000, None, false, Silence::Long),
            // The writer reports that another process may have replaced it.
            (100, None, true, Silence::Long),
            (2_999, Some(2_900), false, Silence::None),
            (3_000, Some(2_900), false, Silence::Short),
            (3_000, Some(2_900), true, Silence::Short),
            (5_999, Some(5_000), false, Silence::Short),
            (6_000, Some(5_999), false, Silence::Long),
            (5_001, Some(3_000), false, Silence::Long),
        ] {
            assert_eq!(judge(silent_ms, word_ms, is_unconfirmed), wanted, "{silent_ms} {word_ms:?} {is_unconfirmed}");
        }
    }
}
