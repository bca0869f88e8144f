#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a failed step fails the test")]

mod checkpoints;
mod tables;
