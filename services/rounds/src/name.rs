//! The name of a round, which its seeds follow from too.

use motherlode_books::StreamId;
use std::fmt::Write as _;

/// The name of a player's round.
#[must_use]
pub fn round_name(stream: &StreamId, number: u64) -> String {
    match stream {
        StreamId::Player { operator, player } => {
            // Twenty digits at the most.
            let mut name = String::with_capacity(operator.len() + player.len() + 22);
            [operator, "/", player, "/"].into_iter().for_each(|part| name.push_str(part));
            // Writing to memory doesn't fail.
            let _ = write!(name, "{number}");
            name
        }
        other => format!("{other}/{number}"),
    }
}
