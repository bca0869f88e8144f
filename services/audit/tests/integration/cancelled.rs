use crate::common::{Tale, audited, divergence, player};
use motherlode_state::{Currency, Event, Minor};

#[test]
fn pl_42_an_effect_of_a_cancelled_request_is_found() {
    let deposited = || Event::Deposited { currency: Currency::EUR, amount: Minor(5) };
    let part = || Event::PartOf { request_id: "series".into() };
    let mut tale = Tale::with_players(&["alice", "bob"]);
    tale.write(player("alice"), vec![deposited(), part()]);
    tale.request_id = Some("series".into());
    tale.write(player("alice"), vec![Event::RequestCancelled]);
    tale.write(player("bob"), vec![deposited(), part()]);
    tale.tend();
    let report = audited(&tale.log);
    assert!(report.divergence.is_none(), "{:?}", report.divergence);
    for (request_id, events) in [("series", vec![deposited()]), ("part", vec![deposited(), part()])] {
        let mut forged = Tale::with_players(&["alice"]);
        forged.request_id = Some("series".into());
        forged.write(player("alice"), vec![Event::RequestCancelled]);
        forged.request_id = Some(request_id.into());
        let at = forged.write(player("alice"), events);
        let found = divergence(&forged.log);
        assert_eq!(found.position, at);
        assert!(
            found.what.starts_with("PL-42: request series of player/acme/alice took effect after its cancellation"),
            "{found}"
        );
    }
}
