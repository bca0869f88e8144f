use motherlode_state::{Currency, Event, Minor};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Award {
    /// The hit is not priced yet, or the award is not paid yet.
    #[default]
    Pending,
    /// The award is owed, because the account has no room for it.
    SetAside(Minor, Currency),
    Paid(Minor, Currency),
    /// The award is held while a void is proposed (PL-38).
    Held,
    Voided,
}

impl Award {
    /// Returns the state after an event; `None` if the event does not concern the award.
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
