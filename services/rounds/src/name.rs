//! The name of a round, which its seeds follow from too.

use motherlode_books::StreamId;

/// The name of a player's round.
#[must_use]
pub fn round_name(stream: &StreamId, number: u64) -> String {
    match stream {
        // Once a round: put together, not formatted.
        StreamId::Player { operator, player } => [operator, "/", player, "/", &number.to_string()].concat(),
        other => format!("{other}/{number}"),
    }
}
