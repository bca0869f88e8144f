#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on fails")]

mod autospin_rules;
mod base_rules;
mod campaign_rules;
mod ceiling_rules;
mod change_rules;
mod common;
mod day_rules;
mod demo_rules;
mod draw_rules;
mod histories;
mod money_rules;
mod partition_histories;
mod partition_rules;
mod parts;
mod pool_rules;
mod round_rules;
mod seamless_model;
mod seamless_reports;
mod seamless_rules;
mod session_rules;
mod statement_rules;
mod switch_rules;
mod void_rules;
mod voids;
mod watched;
mod win_credited;
