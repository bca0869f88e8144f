//! Mystery Elves: its rules, its gamble, its mathematics and its data file.

mod data_file;
mod gamble;
mod mathematics;
mod naive;
mod revised;
mod rules;
