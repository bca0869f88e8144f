pub(crate) mod call_metrics;
pub(crate) mod call_spans;
pub(crate) mod current;
pub(crate) mod deadline;
pub(crate) mod refusals;
