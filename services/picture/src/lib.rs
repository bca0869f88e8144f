//! Presentation of rounds and games: terminal drawings, formatted figures, pages (PL-19), PAR sheets.
//!
//! Pure conversion of rounds, steps and descriptions to text, shared by the tools and the report service.

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
