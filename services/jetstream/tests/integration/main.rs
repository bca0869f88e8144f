#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on fails")]

mod cluster;
mod following;
mod foreign;
mod lost_replies;
mod one_server;
mod parts;
mod prune;
mod settings;
