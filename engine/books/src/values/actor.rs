//! Actors named in the log (PL-22, PL-27).

/// Actor without configured operators.
pub const ANYONE: &str = "(anyone)";

/// Returns the actor's operator; `None` for the platform.
pub(crate) fn operator_of(actor: &str) -> Option<&str> {
    actor.split_once('/').map(|(operator, _)| operator)
}
