use crate::{
    api::Backend, names::Names, public::Public, section_cache::SectionCache, sessions::Sessions,
    sheet_cache::SheetCache,
};
use std::sync::Arc;

pub(crate) struct Inner {
    pub(crate) backend: Backend,
    pub(crate) sessions: Sessions,
    pub(crate) shared: SectionCache,
    pub(crate) sheets: SheetCache,
    pub(crate) names: Names,
    pub(crate) public: Option<Public>,
    /// Whether the console listens only on loopback; required if no operators, and thus no log-in, are configured.
    pub(crate) near: bool,
    pub(crate) secure: bool,
    pub(crate) message_bytes_max: usize,
}

pub(crate) type App = Arc<Inner>;
