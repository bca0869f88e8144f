//! All that requests share.

use crate::{api::Backend, names::Names, sessions::Sessions, shared::Shared};
use std::sync::Arc;

/// All that requests share.
pub(crate) struct Inner {
    pub(crate) backend: Backend,
    pub(crate) sessions: Sessions,
    pub(crate) shared: Shared,
    pub(crate) names: Names,
    /// Whether it's reached from this machine alone: only there it may be open to everybody.
    pub(crate) near: bool,
    /// Whether it's reached by TLS.
    pub(crate) secure: bool,
    /// Bytes of the longest message in JSON.
    pub(crate) message_bytes_max: usize,
}

pub(crate) type App = Arc<Inner>;
