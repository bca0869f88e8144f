//! The tile log's formats and mathematics, held against the specifications' own examples and a tree that is built naively.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod attacks;
mod formats;
mod naive;
mod tree;
