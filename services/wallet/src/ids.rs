use data_encoding::HEXLOWER;
use motherlode_proto::{convert::record::Logged, round::v1::Money};
use motherlode_state::{Currency, DebitAsked, Event, Minor, StreamId};
use ring::digest::{SHA256, digest};

#[must_use]
pub fn opening_id(stream: &StreamId, request_id: &str, is_free: bool) -> String {
    let kind = if is_free { "open" } else { "debit" };
    format!("{kind}/{}/{request_id}", owner(stream))
}

pub(crate) fn round_uuid(opening_id: &str) -> String {
    uuid(&format!("round/{opening_id}"))
}

pub(crate) fn asked_by(asked: &Logged) -> Option<&DebitAsked> {
    asked.commit.events.iter().find_map(|event| match event {
        Event::DebitAsked(asked) => Some(asked),
        _ => None,
    })
}

pub(crate) fn money(amount: Minor, currency: Currency) -> Money {
    Money { amount_minor: amount.0, currency_code: currency.code().to_owned() }
}

pub(crate) fn owner(stream: &StreamId) -> String {
    match stream {
        StreamId::Player { operator, player } => format!("{operator}/{player}"),
        _ => String::new(),
    }
}

/// UUID (version 8, RFC 9562) from the first 16 bytes of a text's SHA-256.
#[must_use]
pub fn uuid(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_ref()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = HEXLOWER.encode(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_state::{LogRestored, Restores, UnpaidCredit};

    #[test]
    fn pl_39_uuids_are_the_documented_digests() {
        assert_eq!(uuid("debit/acme/alice/r-1"), "f4620eb0-c165-89e8-80c8-f9193d50dc17");
        assert_eq!(round_uuid("debit/acme/alice/r-1"), "e8d9d3ca-381f-803a-8d7e-04add62d7089");
        let longest = "x".repeat(1_000);
        assert_eq!(uuid(&longest).len(), 36);
    }

    #[test]
    fn pl_31_a_transactions_id_follows_from_player_and_request_alone() {
        let alice = StreamId::player("acme", "alice");
        assert_eq!(opening_id(&alice, "r-1", false), "debit/acme/alice/r-1");
        assert_eq!(opening_id(&alice, "r-1", true), "open/acme/alice/r-1");
        let due = UnpaidCredit {
            request_id: "award/bewitched/0/7".into(),
            currency: Currency::EUR,
            amount: Minor(5),
            closes: 0,
            held: false,
            due_at: 9,
            due_ms: 0,
        };
        let mut restores = Restores::default();
        assert_eq!(due.transaction_id(&alice, &restores), "credit/acme/alice/EUR/award/bewitched/0/7");
        let close = UnpaidCredit { amount: Minor::ZERO, closes: 3, request_id: "auto/3/2".into(), ..due };
        assert_eq!(close.transaction_id(&alice, &restores), "close/acme/alice/3/auto/3/2");
        let (record_hash, origin, checkpoint) = ([1; 32], String::new(), String::new());
        let restored = LogRestored { number: 5, position: 10, record_hash, origin, checkpoint };
        restores.add(&restored, 11).unwrap();
        assert_eq!(close.transaction_id(&alice, &restores), "close/acme/alice/3/auto/3/2", "the wallet knows this id");
        let later = UnpaidCredit { due_at: 12, ..close };
        assert_eq!(later.transaction_id(&alice, &restores), "r5/close/acme/alice/3/auto/3/2");
    }
}
