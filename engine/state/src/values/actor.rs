/// Actor if no operators are configured.
pub const ANYONE: &str = "(anyone)";

pub(crate) fn operator_of(actor: &str) -> Option<&str> {
    actor.split_once('/').map(|(operator, _)| operator)
}
