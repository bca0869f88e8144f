//! End-to-end tests of the binary: its error messages, and its printed commands.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod mistakes;
mod service;
mod words;
