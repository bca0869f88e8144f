use crate::common::{Tale, audited, divergence, player};
use motherlode_state::{Currency, DayLimits, Event, Minor, SessionOpened};
use std::num::NonZeroU32;

fn opened(session: u8, loss: i64, bet: i64) -> Event {
    Event::SessionOpened(SessionOpened {
        session: [session; 16],
        game: "bewitched".into(),
        currency: Currency::EUR,
        jurisdiction: String::new().into(),
        idle_ms: NonZeroU32::new(1_800_000).unwrap(),
        limits: DayLimits {
            losses_max: vec![(Currency::EUR, Minor(loss))],
            bets_max: vec![(Currency::EUR, Minor(bet))],
            ..DayLimits::default()
        },
    })
}

#[test]
fn uf_06_pl_26_a_bet_past_the_days_limit_is_found_wherever_the_limit_was_set() {
    let mut tale = Tale::with_players(&["alice"]);
    let first = tale.write(player("alice"), vec![opened(1, 10_000_000, 1_000_000)]);
    tale.plain_spin("alice");
    tale.write(player("alice"), vec![Event::SessionEnded { session: [1; 16], hold_ms: 30_000 }]);
    tale.write(player("alice"), vec![opened(2, 10_000_000, 1_000_000)]);
    tale.write(player("alice"), vec![Event::RealityCheckAcknowledged { session: [2; 16] }]);
    tale.plain_spin("alice");
    tale.tend();
    let report = audited(&tale.log);
    assert!(report.divergence.is_none(), "{:?}", report.divergence);
    for forged in [opened(1, 1, 1_000_000), opened(1, 10_000_000, 1)] {
        let mut log = tale.log.clone();
        log[usize::try_from(first).unwrap() - 1].commit.events[0] = forged;
        assert_eq!(divergence(&log).position, first + 1);
    }
    for (session, at) in [(9, first + 2), (1, first + 4)] {
        let mut log = tale.log.clone();
        let event = Event::SessionEnded { session: [session; 16], hold_ms: 0 };
        log[usize::try_from(at).unwrap() - 1].commit.events[0] = event;
        assert_eq!(divergence(&log).position, at);
    }
}
