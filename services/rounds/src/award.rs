//! The award of a jackpot that a round hit.

use motherlode_books::{Currency, Event, Minor};

/// The state of a jackpot's award.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Award {
    /// The pool has yet to price it, or its payment is under way.
    #[default]
    Pending,
    /// Owed: the account has no room for it.
    SetAside(Minor, Currency),
    /// Paid.
    Paid(Minor, Currency),
    /// Held: the void of its round is proposed (PL-38).
    Held,
    /// Never paid: its round is void, and its money went back to the pool.
    Voided,
}

impl Award {
    /// The award of a hit at a position, as an event tells it; `None` for every other event.
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
