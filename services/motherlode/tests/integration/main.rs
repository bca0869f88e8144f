#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod commit;
mod mistakes;
mod notify;
mod replaced;
mod service;
mod words;
