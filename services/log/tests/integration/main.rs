#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on fails")]

mod crashes;
mod damage;
mod golden;
mod memory;
mod outlines;
mod segments;
mod start;
