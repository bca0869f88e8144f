//! Flags of earlier builds.

use crate::commands::Failure;

/// Command (or all), its earlier flag, and the flag's replacement.
const REPLACED: [(&str, &str, &str); 5] = [
    ("export", "--what", "name the table first, as in `motherlode export rounds data`"),
    ("", "--full-speed", "use --priority normal"),
    ("serve", "--writes", "use --write-partitions"),
    ("serve", "--holds", "use --read-partitions"),
    ("serve", "--verify behind", "use --verify background"),
];

/// Returns an error that names the replacement of the command line's first outdated flag.
pub(crate) fn flag(words: impl Iterator<Item = String>) -> Option<Failure> {
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let line = format!("{} ", words.join(" ").replace('=', " "));
    let mut replaced =
        REPLACED.iter().filter(|(command, ..)| words.iter().any(|word| command.is_empty() || word == command));
    let (_, flag, instead) = replaced.find(|(_, flag, _)| line.contains(&format!(" {flag} ")))?;
    Some(Failure::unusable(format!("{flag} was replaced")).with_step(&format!("Instead, {instead}")))
}
