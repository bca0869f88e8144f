/// Actor if no operators are configured.
pub const ANYONE: &str = "(anyone)";

/// Operator of an actor; `None` for the platform.
pub(crate) fn operator_of(actor: &str) -> Option<&str> {
    actor.split_once('/').map(|(operator, _)| operator)
}
