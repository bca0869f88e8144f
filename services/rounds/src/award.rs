use motherlode_state::{Currency, Event, Minor};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Award {
    /// Neither priced nor paid.
    #[default]
    Pending,
    /// Owed, because the account has no room for it.
    SetAside(Minor, Currency),
    Paid(Minor, Currency),
    /// Held during a proposed void (PL-38).
    Held,
    Voided,
}

impl Award {
    /// `None` for other events.
    #[must_use]
    pub fn from_event(event: &Event, hit_at: u64) -> Option<Self> {
        match *event {
            Event::AwardSetAside { hit, amount, currency, .. } if hit == hit_at => {
                Some(Self::SetAside(amount, currency))
            }
            Event::JackpotPaid { hit, amount, currency, .. } if hit == hit_at => Some(Self::Paid(amount, currency)),
            _ => None,
        }
    }
}
