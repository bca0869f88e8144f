//! Tunes the strips and weights in a game's data file, and prints the new file.
//!
//! `cargo run --release -p motherlode-slots --example tune -- GAME > new.toml`
//!
//! The output is deterministic, and tuning a tuned file changes nothing. The program replaces the lines between `#
//! tuned: begin` and `# tuned: end` of the data file of the game's latest rules version.

mod bewitched;
mod dwarf_mine;
mod mystery_elves;
mod neptune;
mod shared;
mod witch_feature;

type Tune = fn(&str) -> Result<String, Box<dyn std::error::Error>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (text, tune): (&str, Tune) = match std::env::args().nth(1).as_deref() {
        Some("bewitched") => (include_str!("../../golden/bewitched/1.6.1.toml"), bewitched::tune),
        Some("dwarf-mine") => (include_str!("../../golden/dwarf-mine/1.0.1.toml"), dwarf_mine::tune),
        Some("mystery-elves") => (include_str!("../../golden/mystery-elves/1.0.1.toml"), mystery_elves::tune),
        Some("neptune") => (include_str!("../../golden/neptune/1.0.1.toml"), neptune::tune),
        Some("witch-feature") => (include_str!("../../golden/witch-feature/1.0.1.toml"), witch_feature::tune),
        _ => return Err("which game? bewitched, dwarf-mine, mystery-elves, neptune, witch-feature".into()),
    };
    let (head, tuned) = text.split_once("# tuned: begin\n").ok_or("no mark `# tuned: begin`")?;
    let (_, tail) = tuned.split_once("# tuned: end\n").ok_or("no mark `# tuned: end`")?;
    print!("{head}# tuned: begin\n{}# tuned: end\n{tail}", tune(text)?);
    Ok(())
}
