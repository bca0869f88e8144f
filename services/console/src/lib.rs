//! The console: web pages for support, audit and administration.
//!
//! It is a client of the gRPC services and has neither data nor permissions of its own, because pages show the answers of
//! calls that are made with the session's token. Pages work without JavaScript, and their security policy permits only the
//! console's own scripts and styles.
//!
//! Tokens are kept only in memory. A session's cookie has 256 random bits. A session ends at log-out, when it is idle for
//! too long, or after [`Bounds::lasts_ms_max`]. Each form carries an anti-forgery token and must be sent with the console's
//! own origin.
//!
//! The listener also serves all calls as `POST /v1/...` in JSON, with the caller's token and without a session, and
//! `/openapi.json`.

mod api;
mod app;
mod calls;
mod days;
mod document;
mod failure;
mod fields;
mod guard;
mod json;
mod layout;
mod live;
mod login;
mod names;
mod pages;
mod routes;
mod section_cache;
mod serve;
mod sessions;
mod stops;
mod text;
mod visit;

pub use api::Backend;
pub use serve::Console;
pub use sessions::Bounds;
