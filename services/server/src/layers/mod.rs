//! The layers that every call goes through, beside those of `motherlode_runtime` that say who calls and what it may hold.

pub(crate) mod call_metrics;
pub(crate) mod call_spans;
pub(crate) mod current;
pub(crate) mod deadline;
pub(crate) mod refusals;
