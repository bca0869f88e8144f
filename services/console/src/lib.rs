//! The console: web pages for support, audit and administration.
//!
//! It is a client of the gRPC services, without data or permissions of its own: pages show the answers of calls that are
//! made with the session's token. Pages work without JavaScript, and their policy permits only the console's own scripts
//! and styles.
//!
//! Tokens are kept only in memory. The session's cookie has 256 random bits; the session ends with a log-out, when idle, or
//! after [`Bounds::lasts_ms_max`]. Forms carry an anti-forgery token, and browsers must send the console's origin with them.
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
