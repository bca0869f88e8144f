//! Converts events between the engine's types and the messages of the log. [`super::table`] defines the encoding.

use super::{
    Malformed,
    plain::{In, Out},
    values::{self, Result},
};
use crate::{
    log::v1,
    round::v1::{Automatic as Automated, automatic::Cause},
};
use motherlode_state::{Automatic, Event};
use prost::Message;

#[must_use]
pub fn to_log(event: &Event) -> v1::Event {
    v1::Event::decode(&*values::Message::bytes(event)).unwrap_or_default()
}

/// Fails if the event's kind is unknown, as in a later format.
pub fn from_log(event: v1::Event) -> Result<Event> {
    values::Message::read_whole(In::new(&event.encode_to_vec()))
}

#[must_use]
pub fn automatic_to_wire(automatic: &Automatic) -> Automated {
    let (cause, actor, reason) = match automatic {
        Automatic::Skipped => (Cause::Skipped, "", ""),
        Automatic::TimeOver => (Cause::TimeOver, "", ""),
        Automatic::Closed { actor, reason } => (Cause::Closed, actor.as_str(), reason.as_str()),
    };
    Automated { cause: cause.into(), actor: actor.to_owned(), reason: reason.to_owned() }
}

fn automatic_from_wire(message: Automated) -> Result<Automatic> {
    let cause = message.cause();
    let Automated { actor, reason, .. } = message;
    match cause {
        Cause::Closed => Ok(Automatic::Closed { actor, reason }),
        Cause::Skipped if actor.is_empty() && reason.is_empty() => Ok(Automatic::Skipped),
        Cause::TimeOver if actor.is_empty() && reason.is_empty() => Ok(Automatic::TimeOver),
        _ => Err(Malformed::Field("step.automatic")),
    }
}

impl values::Message for Automatic {
    fn write(&self, out: &mut Out) {
        out.0.extend(automatic_to_wire(self).encode_to_vec());
    }

    fn read(fields: &mut In) -> Result<Self> {
        automatic_from_wire(Automated::decode(fields.rest())?)
    }
}
