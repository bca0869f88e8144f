//! Tests of the games through the crate's public interface, as one program that is linked once.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on fails")]

mod cash;
mod common;
mod data_file;
mod double;
mod draws;
mod dwarf_mine;
mod dwarf_mine_data;
mod dwarf_mine_mathematics;
mod dwarf_mine_rules;
mod figures;
mod highest_win;
mod interruption;
mod mathematics;
mod mystery_elves;
mod neptune;
mod neptune_mathematics;
mod new_player;
mod pool_terms;
mod rng;
mod rules;
mod rules_texts;
mod sixth;
mod sixth_game;
mod versions;
mod voids;
mod witch_feature;
mod witch_feature_mathematics;
mod worth;
