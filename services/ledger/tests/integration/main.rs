#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on fails")]

mod archived;
mod players;
mod queue;
mod recovered;
mod snapshot;
mod writer;
