#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test may panic")]

mod automatic;
mod bases;
mod campaigns;
mod cancelled;
mod clean;
mod collections;
mod common;
mod copy;
mod days;
mod index;
mod nodes;
mod partitions;
mod replay;
mod tampering;
mod threads;
mod voids;
