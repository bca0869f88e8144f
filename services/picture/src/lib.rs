//! Pictures for people: outcomes drawn for a terminal, figures in words, pages, a round as one of them (PL-19), PAR sheets.
//!
//! Text made from a round, a step or a game's description; no I/O. The tools and the report service show the same.

pub mod draw;
pub mod figures;
mod labels;
pub mod markup;
pub mod par;
pub mod reels;
pub mod round;
pub mod shelf;
pub mod sprite;
pub mod things;
mod ways;
