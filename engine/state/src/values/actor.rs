/// Actor of commits if no operators are configured.
pub const ANYONE: &str = "(anyone)";

/// Actor of a configuration reload that a signal to the process started.
pub const SIGNAL: &str = "(signal)";

pub(crate) fn operator_of(actor: &str) -> Option<&str> {
    actor.split_once('/').map(|(operator, _)| operator)
}
