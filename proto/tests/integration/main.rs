#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on fails")]

mod balances;
mod generations;
mod outcome;
mod record;
mod voids;
mod wallet_facts;
