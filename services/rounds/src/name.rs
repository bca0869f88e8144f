use motherlode_state::{StreamId, digits};

#[must_use]
pub fn round_name(stream: &StreamId, number: u64) -> String {
    match stream {
        StreamId::Player { operator, player } => {
            let mut name = String::with_capacity(operator.len() + player.len() + 22);
            [operator, "/", player, "/"].into_iter().for_each(|part| name.push_str(part));
            name.push_str(digits(number, &mut [0; 20]));
            name
        }
        other => format!("{other}/{number}"),
    }
}
