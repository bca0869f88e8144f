//! Award of a jackpot hit.

use motherlode_books::{Currency, Event, Minor};

/// State of a jackpot's award.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Award {
    /// Not priced or paid yet.
    #[default]
    Pending,
    /// Owed, because the account has no room for it.
    SetAside(Minor, Currency),
    /// Paid.
    Paid(Minor, Currency),
    /// Held during a proposed void (PL-38).
    Held,
    /// Returned to the pool by a void.
    Voided,
}

impl Award {
    /// Returns a hit's award after an event; `None` for other events.
    #[must_use]
    pub fn of(event: &Event, hit_at: u64) -> Option<Self> {
        match *event {
            Event::AwardSetAside { hit, amount, currency, .. } if hit == hit_at => {
                Some(Self::SetAside(amount, currency))
            }
            Event::JackpotPaid { hit, amount, currency, .. } if hit == hit_at => Some(Self::Paid(amount, currency)),
            _ => None,
        }
    }
}
