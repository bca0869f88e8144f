//! The command line: what can be asked for, and what is printed.

pub mod cli;
pub mod client;
pub mod commands;
mod help;
#[cfg(test)]
mod pages;
pub mod target;
mod told;

use motherlode_picture::{draw, figures};
