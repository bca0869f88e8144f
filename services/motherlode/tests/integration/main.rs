//! The binary as people use it: what it says about their mistakes, and that what it prints works.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod mistakes;
mod service;
mod words;
