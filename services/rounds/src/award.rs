//! Award of a jackpot hit.

use motherlode_books::{Currency, Event, Minor};

/// State of a jackpot's award.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Award {
    /// Not yet priced or paid by the pool.
    #[default]
    Pending,
    /// Owed, because the account has no room for it.
    SetAside(Minor, Currency),
    /// Paid.
    Paid(Minor, Currency),
    /// Held, because a void of its round is proposed (PL-38).
    Held,
    /// Not paid: the round is void, and the money returned to the pool.
    Voided,
}

impl Award {
    /// Award of a hit at a position according to an event; `None` for other events.
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
