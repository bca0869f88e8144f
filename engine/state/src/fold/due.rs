use crate::events::{Event, Refused};
use crate::state::Books;
use crate::values::StreamId;

impl Event {
    pub fn as_due(&self, stream: &StreamId, books: &Books) -> Result<Self, Refused> {
        let pool = || match stream {
            StreamId::Pool(name) => books.pool(name).ok_or_else(|| Refused::UnknownPool { pool: name.clone() }),
            _ => Err(Refused::WrongStream),
        };
        let mut change = self.clone();
        match &mut change {
            Self::PoolTermsChanged { terms } => terms.version = pool()?.next_terms_version(),
            Self::PoolRetired { increments, reserve, .. } => {
                let pool = pool()?;
                (*increments, *reserve) = (pool.increments, pool.reserve);
            }
            _ => {}
        }
        Ok(change)
    }
}
