use crate::{api::Backend, names::Names, sessions::Sessions, shared::Shared};
use std::sync::Arc;

pub(crate) struct Inner {
    pub(crate) backend: Backend,
    pub(crate) sessions: Sessions,
    pub(crate) shared: Shared,
    pub(crate) names: Names,
    /// Whether the console listens on loopback only, as required without operators.
    pub(crate) near: bool,
    pub(crate) secure: bool,
    pub(crate) message_bytes_max: usize,
}

pub(crate) type App = Arc<Inner>;
