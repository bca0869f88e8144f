//! Cache of live parts of pages, rendered at most once per second and shared by callers with the same rights. The token
//! of each request is verified before the cache is read.

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) const FRESH: Duration = Duration::from_secs(1);
const PARTS_MAX: usize = 256;

/// The lock is held during rendering, so that the part is rendered only once.
pub(crate) type CachedSection = Arc<tokio::sync::Mutex<Option<(Instant, String)>>>;

#[derive(Default)]
pub(crate) struct SectionCache(Mutex<BTreeMap<String, (Instant, CachedSection)>>);

impl SectionCache {
    pub(crate) fn part(&self, name: String) -> Option<CachedSection> {
        let (now, mut parts) = (Instant::now(), self.0.lock());
        if !parts.contains_key(&name) && parts.len() >= PARTS_MAX {
            parts.retain(|_, (asked, _)| now.duration_since(*asked) < FRESH);
            if parts.len() >= PARTS_MAX {
                return None;
            }
        }
        let (asked, part) = parts.entry(name).or_insert_with(|| (now, CachedSection::default()));
        *asked = now;
        Some(Arc::clone(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_parts_are_shared_by_name_and_bounded() {
        let shared = SectionCache::default();
        let one = shared.part("acme audit /live/now".into()).unwrap();
        assert!(Arc::ptr_eq(&one, &shared.part("acme audit /live/now".into()).unwrap()));
        assert!(!Arc::ptr_eq(&one, &shared.part("bravo audit /live/now".into()).unwrap()));
        for number in 0..PARTS_MAX {
            shared.part(format!("acme audit /live/log?x={number}"));
        }
        assert!(shared.part("one too many".into()).is_none(), "a part beyond the limit is not shared");
        assert!(shared.part("acme audit /live/now".into()).is_some(), "existing parts are still shared");
    }
}
