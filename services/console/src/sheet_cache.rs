//! Cache of PAR sheets and reels. A sheet depends only on the model, the offered coins and the pool's terms, which form
//! the key.

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::OnceCell;

const SHEETS_MAX: usize = 32;

pub(crate) type Key = [u8; 32];

type Sheet = Arc<OnceCell<Arc<str>>>;

#[derive(Default)]
pub(crate) struct SheetCache(Mutex<BTreeMap<Key, Sheet>>);

impl SheetCache {
    /// Concurrent calls with the same key wait for one computation. `None` is not cached.
    pub(crate) async fn sheet(&self, key: Key, make: impl Future<Output = Option<String>>) -> Option<Arc<str>> {
        let sheet = {
            let mut sheets = self.0.lock();
            if sheets.len() >= SHEETS_MAX && !sheets.contains_key(&key) {
                sheets.clear();
            }
            Arc::clone(sheets.entry(key).or_default())
        };
        sheet.get_or_try_init(|| async { make.await.map(Into::into).ok_or(()) }).await.ok().cloned()
    }
}

pub(crate) fn key(part: &str, inputs: &[u8]) -> Key {
    Sha256::new_with_prefix(part).chain_update([0]).chain_update(inputs).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sheet_is_computed_once_and_the_cache_is_bounded() {
        let cache = SheetCache::default();
        let one = key("par", b"model");
        assert_ne!(one, key("reels", b"model"));
        assert_eq!(cache.sheet(one, async { None }).await, None);
        assert_eq!(cache.sheet(one, async { Some("sheet".to_owned()) }).await.as_deref(), Some("sheet"));
        assert_eq!(cache.sheet(one, async { panic!("computed twice") }).await.as_deref(), Some("sheet"));
        for number in 0..100_u8 {
            cache.sheet(key("par", &[number]), async { Some(String::new()) }).await;
        }
        assert!(cache.0.lock().len() <= SHEETS_MAX);
    }
}
