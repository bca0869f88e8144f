use motherlode_proto::round::v1::SpinKind;
use motherlode_slots as slots;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Outcome {
    #[prost(message, repeated, tag = "1")]
    pub(crate) spins: Vec<Spin>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Spin {
    #[prost(enumeration = "SpinKind", tag = "1")]
    pub(crate) kind: i32,
    #[prost(uint32, tag = "3")]
    pub(crate) rows: u32,
    #[prost(uint32, tag = "8")]
    pub(crate) free_spins_won: u32,
    #[prost(bool, tag = "9")]
    pub(crate) bonus: bool,
    #[prost(uint64, tag = "11")]
    pub(crate) win_minor: u64,
    #[prost(uint64, tag = "12")]
    pub(crate) ways: u64,
}

impl Spin {
    pub(crate) fn slots_kind(&self) -> Option<slots::SpinKind> {
        Some(match SpinKind::try_from(self.kind).ok()? {
            SpinKind::Unspecified => return None,
            SpinKind::Base => slots::SpinKind::Base,
            SpinKind::Free => slots::SpinKind::Free,
            SpinKind::Collection => slots::SpinKind::Collection(0),
            SpinKind::HoldAndWin => slots::SpinKind::HoldAndWin,
            SpinKind::HighSymbols => slots::SpinKind::HighSymbols,
            SpinKind::RandomWilds => slots::SpinKind::RandomWilds,
            SpinKind::MultiplierRespin => slots::SpinKind::MultiplierRespin,
            SpinKind::MegaWild => slots::SpinKind::MegaWild,
            SpinKind::Explosion => slots::SpinKind::Explosion,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_proto::round::v1 as whole;

    #[test]
    fn the_fields_are_those_of_the_whole_message() {
        let spin = whole::SpinResult {
            kind: SpinKind::Explosion.into(),
            rows: 7,
            free_spins_won: 10,
            bonus: true,
            win_minor: 1 << 40,
            ways: 16_807,
            ..whole::SpinResult::default()
        };
        let whole = whole::Outcome { spins: vec![spin], ..whole::Outcome::default() };
        let shown = Outcome::decode(&*whole.encode_to_vec()).unwrap();
        assert_eq!(shown.encode_to_vec(), whole.encode_to_vec());
        assert_eq!(shown.spins[0].kind(), SpinKind::Explosion);
        assert_eq!((shown.spins[0].rows, shown.spins[0].ways, shown.spins[0].win_minor), (7, 16_807, 1 << 40));
    }
}
