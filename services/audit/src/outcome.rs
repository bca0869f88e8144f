use motherlode_proto::{convert::play::hex, round::v1::Outcome};
use prost::Message;

pub(crate) fn difference(expected: &[u8], found: &[u8]) -> (String, String, String) {
    let fields = || match (Outcome::decode(expected), Outcome::decode(found)) {
        (Ok(expected), Ok(found)) => first_field(&expected, &found),
        _ => None,
    };
    fields().unwrap_or_else(|| {
        let same = expected.iter().zip(found).take_while(|(one, other)| one == other).count();
        let from = |bytes: &[u8]| match bytes.get(same..(same + 16).min(bytes.len())) {
            Some(rest) if !rest.is_empty() => hex(rest),
            _ => "the end".to_owned(),
        };
        (format!("byte {same}"), from(expected), from(found))
    })
}

fn first_field(expected: &Outcome, found: &Outcome) -> Option<(String, String, String)> {
    macro_rules! compare {
        ($one:expr, $other:expr, $($field:ident),+) => {
            $(if $one.$field != $other.$field {
                let name = stringify!($field).to_owned();
                return Some((name, format!("{:?}", $one.$field), format!("{:?}", $other.$field)));
            })+
        };
    }
    for (number, (one, other)) in expected.spins.iter().zip(&found.spins).enumerate() {
        let differs = || {
            compare!(one, other, kind, stops, cells, rows, multiplier, wins, marks, win_coins, win_minor);
            compare!(one, other, free_spins_won, bonus, ways, collection_symbol);
            None
        };
        if let Some((field, one, other)) = differs() {
            return Some((format!("spin {}, {field}", number + 1), one, other));
        }
    }
    if expected.spins.len() != found.spins.len() {
        return Some(("number of spins".into(), expected.spins.len().to_string(), found.spins.len().to_string()));
    }
    compare!(expected, found, prize, card, jackpot, awaiting, free_spins_left, double_strip, round_win_coins);
    compare!(expected, found, round_win_minor, pick, reveals);
    None
}
