//! Mystery Elves: its rules, its gamble, its mathematics and its data file.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod data_file;
mod gamble;
mod mathematics;
mod naive;
mod revised;
mod rules;
