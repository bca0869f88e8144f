//! Actors: credentials named in the log (PL-22, PL-27).

/// Actor without configured operators. No credential has this name.
pub const ANYONE: &str = "(anyone)";

/// `None` for an actor of the platform, whose name has no operator prefix.
pub(crate) fn operator_of(actor: &str) -> Option<&str> {
    actor.split_once('/').map(|(operator, _)| operator)
}
