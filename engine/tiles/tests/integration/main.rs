#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod attacks;
mod formats;
mod naive;
mod tree;
