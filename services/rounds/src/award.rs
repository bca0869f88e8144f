use motherlode_state::{Currency, Event, Minor};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Award {
    /// The amount is not determined yet, or the award is not paid yet.
    #[default]
    Pending,
    /// The award waits until it fits below the account's maximum balance.
    SetAside(Minor, Currency),
    Paid(Minor, Currency),
    /// The award is held, because a void of the round is proposed (PL-38).
    Held,
    Voided,
}

impl Award {
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
