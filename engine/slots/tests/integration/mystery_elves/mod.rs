mod data_file;
mod gamble;
mod mathematics;
mod naive;
mod revised;
mod rules;
