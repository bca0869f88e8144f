//! Live parts that many look at: each is made once a second at the most for all with the same rights, however many consoles are open.
//!
//! Whoever asks shows their own token first, so that one which is revoked or over sees nothing of what others see. Bounded in parts; more
//! than these are made for each by itself. Cost: a call that answers from memory for each look, the part itself once.

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long a part is as good as new: counters change every 3 seconds (BW-14).
pub(crate) const FRESH: Duration = Duration::from_secs(1);
/// Parts at one time.
const PARTS_MAX: usize = 256;

/// A part as it was made last. Whoever makes it anew holds it meanwhile, and the others wait for that.
pub(crate) type Part = Arc<tokio::sync::Mutex<Option<(Instant, String)>>>;

/// The parts, by what was asked for and by the rights of who asked.
#[derive(Default)]
pub(crate) struct Shared(Mutex<BTreeMap<String, (Instant, Part)>>);

impl Shared {
    /// The part of a name; none where there are too many.
    pub(crate) fn part(&self, name: String) -> Option<Part> {
        let (now, mut parts) = (Instant::now(), self.0.lock());
        if !parts.contains_key(&name) && parts.len() >= PARTS_MAX {
            parts.retain(|_, (asked, _)| now.duration_since(*asked) < FRESH);
            if parts.len() >= PARTS_MAX {
                return None;
            }
        }
        let (asked, part) = parts.entry(name).or_insert_with(|| (now, Part::default()));
        *asked = now;
        Some(Arc::clone(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_parts_are_shared_by_name_and_bounded() {
        let shared = Shared::default();
        let one = shared.part("acme audit /live/now".into()).unwrap();
        assert!(Arc::ptr_eq(&one, &shared.part("acme audit /live/now".into()).unwrap()));
        assert!(!Arc::ptr_eq(&one, &shared.part("bravo audit /live/now".into()).unwrap()));
        for number in 0..PARTS_MAX {
            shared.part(format!("acme audit /live/log?x={number}"));
        }
        assert!(shared.part("one too many".into()).is_none(), "it is made for whoever asks");
        assert!(shared.part("acme audit /live/now".into()).is_some(), "those that are there go on");
    }
}
