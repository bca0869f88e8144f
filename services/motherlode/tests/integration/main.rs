#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod mistakes;
mod replaced;
mod service;
mod words;
