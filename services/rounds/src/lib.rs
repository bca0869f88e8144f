//! Rounds: conversion and computation shared by play, display, voids, reports and audits.
//!
//! - [`live`]: rounds in the engine, opened and resolved from the log; `terms`: their conditions; [`draws`]: seeds of their steps;
//! - [`collection`]: figures carried between rounds;
//! - [`check`]: verification of playing commits;
//! - [`due`]: events required by a step's outcome;
//! - [`view`]: rounds folded from commits; `award`: their jackpots;
//! - [`shown`]: displayed figures that are not in the log; [`wire`]: rounds as messages.
//!
//! Pure: no I/O, no clock. The crate depends on the log's messages, because stakes, choices and outcomes are logged as messages.

pub mod award;
pub mod check;
pub mod collection;
pub mod draws;
pub mod due;
pub mod live;
pub mod name;
pub mod shown;
pub mod terms;
pub mod view;
pub mod wire;

pub use award::Award;
pub use due::Due;
pub use live::{Live, Unresolvable, game_of, is_gamble};
pub use name::round_name;
pub use terms::{gamble_max_minor, minor_micros, terms_of, terms_to_log};
pub use view::{Fold, RoundView, balance_after};
