//! The console: web pages for support, audit and administration.
//!
//! The console has no data or permissions of its own: it calls the services over gRPC with the session's token and
//! shows their answers. Pages work without JavaScript.
//!
//! Users' tokens are kept only in memory. A session ends at log-out, after an idle time, or after
//! [`Bounds::lasts_ms_max`]. Each form contains an anti-forgery token and is accepted only from the console's own
//! origin.
//!
//! The listener also serves `/openapi.json`, and all calls in JSON as `POST /v1/...`. These calls need a token but no
//! session.

mod api;
mod app;
mod calls;
mod days;
mod document;
mod failure;
mod failure_frame;
mod fields;
mod guard;
mod json;
mod layout;
mod live;
mod login;
mod names;
mod pages;
mod public;
mod routes;
mod section_cache;
mod serve;
mod sessions;
mod sheet_cache;
mod stops;
mod terms;
mod text;
mod visit;

pub use api::Backend;
pub use serve::Console;
pub use sessions::Bounds;
