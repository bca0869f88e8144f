use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Slots for concurrent work, of which each operator can use only some.
#[derive(Debug, Clone)]
pub struct Slots {
    all: Arc<Semaphore>,
    per_operator: usize,
    operators: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
}

#[derive(Debug)]
pub struct Slot {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Slots {
    #[must_use]
    pub fn new(all: usize, per_operator: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), per_operator, operators: Arc::default() }
    }

    pub async fn take(&self, operator: &str) -> Result<Slot, AcquireError> {
        let own = {
            let mut operators = self.operators.lock();
            operators.retain(|_, slots| Arc::strong_count(slots) > 1);
            let new = || Arc::new(Semaphore::new(self.per_operator));
            Arc::clone(operators.entry(operator.to_owned()).or_insert_with(new))
        };
        let own = own.acquire_owned().await?;
        Ok(Slot { _own: own, _all: Arc::clone(&self.all).acquire_owned().await? })
    }
}
