//! Mystery Elves: rules, gamble, mathematics and data file.

mod data_file;
mod gamble;
mod mathematics;
mod naive;
mod revised;
mod rules;
