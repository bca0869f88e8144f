#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on fails")]

mod pause;
mod series_double;
