use super::kit::Kit;
use futures_util::future::BoxFuture;

pub(super) type Skip = &'static str;

pub(super) struct Case {
    pub(super) number: u32,
    pub(super) name: &'static str,
    pub(super) contract: &'static str,
    pub(super) play: for<'k> fn(&'k mut Kit) -> BoxFuture<'k, Result<(), Skip>>,
}

macro_rules! cases {
    ($($number:literal $play:path: $contract:literal;)+) => {
        [$($crate::check::case::Case {
            number: $number,
            name: stringify!($play),
            contract: $contract,
            play: |kit| Box::pin($play(kit)),
        },)+]
    };
}
pub(super) use cases;
