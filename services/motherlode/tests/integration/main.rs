#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod mistakes;
mod notify;
mod replaced;
mod service;
mod words;
