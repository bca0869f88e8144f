//! Actors: the credentials that log entries name (PL-22, PL-27).

/// The actor's name where no operators are configured, so that callers cannot be told apart. No credential has this name.
pub const ANYONE: &str = "(anyone)";

/// The operator that an actor acts for; `None` for an actor of the platform, whose name has no operator in front.
pub(crate) fn operator_of(actor: &str) -> Option<&str> {
    actor.split_once('/').map(|(operator, _)| operator)
}
