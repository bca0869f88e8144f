pub mod cli;
pub mod client;
pub mod commands;
mod event_json;
mod help;
#[cfg(test)]
mod pages;
mod replaced;
pub mod target;

use motherlode_picture::{draw, figures};
