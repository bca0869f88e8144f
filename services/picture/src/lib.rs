//! Presents rounds and games as terminal drawings, figures, pages (PL-19) and PAR sheets.

pub mod draw;
pub mod event;
pub mod figures;
mod labels;
mod markup;
pub use markup::STYLE;
pub mod par;
pub mod reels;
pub mod round;
pub mod shelf;
pub mod sprite;
pub mod things;
mod ways;
