//! The console: pages for people who settle disputes, recall rounds, watch jackpots and returns, and approve changes.
//!
//! It's a client of the same gRPC services as everybody, and has no data and no rules of its own: each page is made of calls
//! under the token of whoever has logged in, so roles, limits and what is another's are the access layer's to refuse.
//! Pages work without JavaScript, load nothing from elsewhere, and stand under a policy that lets no script and no style
//! but the console's own files in; parts that change by themselves are fetched again by htmx, which is one of them.
//!
//! A token is kept in memory only, behind a cookie of 256 random bits that ends with a log-out, with rest, and at the latest
//! after [`Bounds::lasts_ms_max`]. Every form carries a word of its session, and the browser must say that it comes from
//! a page of the console. Connections, requests, sessions and times are bounded.
//!
//! The same listener answers programs without gRPC: every call of the contract as `POST /v1/...` in JSON, under the caller's
//! own token and without a session, and what describes them at `/openapi.json`.
//!
//! Costs: a page is a few calls in the same process; memory grows with open sessions only, of which [`Bounds`] allows so many.

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
mod serve;
mod sessions;
mod shared;
mod stops;
mod text;
mod visit;

pub use api::Backend;
pub use serve::Console;
pub use sessions::Bounds;
