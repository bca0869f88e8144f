//! Flags of earlier builds and their replacements.

use crate::commands::Failure;

const REPLACED: [(&str, &str, &str); 5] = [
    ("export", "--what", "name the table first, as in `motherlode export rounds data`"),
    ("", "--full-speed", "use --priority normal"),
    ("serve", "--writes", "use --write-partitions"),
    ("serve", "--holds", "use --read-partitions"),
    ("serve", "--verify behind", "use --verify background"),
];

pub(crate) fn flag(words: impl Iterator<Item = String>) -> Option<Failure> {
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let line = format!("{} ", words.join(" ").replace('=', " "));
    let mut replaced =
        REPLACED.iter().filter(|(command, ..)| words.iter().any(|word| command.is_empty() || word == command));
    let (_, flag, instead) = replaced.find(|(_, flag, _)| line.contains(&format!(" {flag} ")))?;
    Some(Failure::unusable(format!("{flag} was replaced")).with_step(&format!("Instead, {instead}")))
}
