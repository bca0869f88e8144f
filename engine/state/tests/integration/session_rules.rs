use motherlode_state::{
    Currency, Minor, Profile, SessionId, SessionLimits, SessionOf, SessionRefused, Sessions, StreamId,
};
use proptest::{collection::vec, prelude::*};
use std::rc::Rc;

const MINUTE: i64 = 60_000;
const LIMITS: SessionLimits = SessionLimits { idle_ms_max: 30 * MINUTE, hold_ms: 30_000, count_max: 1_000 };

fn of(player: &str, game: &str) -> SessionOf {
    SessionOf {
        stream: StreamId::player("acme", player),
        currency: Currency::EUR,
        game: game.into(),
        jurisdiction: "uk".into(),
        profile: Profile::default(),
        loss_max: None,
        bet_max: None,
        operator_session: "".into(),
    }
}

fn alice() -> StreamId {
    StreamId::player("acme", "alice")
}

fn at_game() -> Option<(&'static str, Currency)> {
    Some(("bewitched", Currency::EUR))
}

fn opened() -> Sessions<Rc<()>> {
    let mut sessions = Sessions::new(LIMITS);
    assert_eq!(sessions.open(of("alice", "bewitched"), "o1", 1, 0), Ok(1));
    sessions
}

#[test]
fn bw_26_a_session_without_an_action_for_the_set_minutes_is_over() {
    let mut sessions = opened();
    assert_eq!(sessions.act(1, &alice(), at_game(), 30 * MINUTE - 1), Ok(()), "a moment before");
    assert_eq!(sessions.left_ms(1, 60 * MINUTE - 2), Some(1));
    assert_eq!(sessions.act(1, &alice(), at_game(), 60 * MINUTE - 1), Err(SessionRefused::Expired));
    assert!(sessions.is_empty());
    assert_eq!(
        sessions.open(of("alice", "bewitched"), "o2", 2, 60 * MINUTE - 1),
        Ok(2),
        "the game can be opened again"
    );
}

#[test]
fn bw_26_what_is_refused_or_only_kept_is_no_action() {
    let mut sessions = opened();
    sessions.keep(1, Rc::new(()), 29 * MINUTE).unwrap();
    let other = Some(("neptune", Currency::EUR));
    assert_eq!(sessions.act(1, &alice(), other, 29 * MINUTE), Err(SessionRefused::Mismatch));
    assert_eq!(sessions.open(of("alice", "bewitched"), "o1", 9, 29 * MINUTE), Ok(1));
    assert_eq!(sessions.left_ms(1, 30 * MINUTE), None);
}

#[test]
fn bw_27_after_a_dropped_connection_no_session_is_opened_for_30_seconds() {
    let mut sessions = opened();
    sessions.keep(1, Rc::new(()), 0).unwrap();
    sessions.drop_connection(1, 5_000);
    assert_eq!(sessions.act(1, &alice(), at_game(), 5_000), Err(SessionRefused::Expired));
    let open = |sessions: &mut Sessions<_>, now_ms| sessions.open(of("alice", "bewitched"), "o2", 2, now_ms);
    assert_eq!(open(&mut sessions, 5_000), Err(SessionRefused::Held { left_ms: 30_000 }));
    assert_eq!(open(&mut sessions, 34_999), Err(SessionRefused::Held { left_ms: 1 }));
    assert_eq!(sessions.open(of("alice", "neptune"), "n", 3, 5_000), Ok(3), "another game is not held");
    assert_eq!(sessions.open(of("bob", "bewitched"), "b", 4, 5_000), Ok(4), "another player's game is not held");
    assert_eq!(open(&mut sessions, 35_000), Ok(2));
}

#[test]
fn bw_27_a_hold_is_not_shortened_by_closing_or_dropping_again() {
    let mut sessions = opened();
    sessions.drop_connection(1, 0);
    assert!(sessions.close(1, 1_000).is_none());
    sessions.drop_connection(1, 20_000);
    let held = sessions.open(of("alice", "bewitched"), "o2", 2, 20_000);
    assert_eq!(held, Err(SessionRefused::Held { left_ms: 10_000 }));
}

#[test]
fn bw_27_a_closed_session_leaves_no_hold() {
    let mut sessions = opened();
    let connection = Rc::new(());
    sessions.keep(1, Rc::clone(&connection), 0).unwrap();
    assert!(sessions.close(1, 10).is_some());
    sessions.drop_connection(1, 11);
    assert_eq!(sessions.open(of("alice", "bewitched"), "o2", 2, 12), Ok(2));
}

#[test]
fn pl_16_a_player_has_one_live_session_of_a_game() {
    let mut sessions = opened();
    assert_eq!(sessions.open(of("alice", "bewitched"), "o2", 2, 1), Err(SessionRefused::InUse));
    assert_eq!(
        sessions.open(of("alice", "bewitched"), "o1", 3, 2),
        Ok(1),
        "repeating the request returns the same answer"
    );
    let usd = SessionOf { currency: Currency::USD, ..of("alice", "bewitched") };
    assert_eq!(sessions.open(usd, "o1", 4, 2), Err(SessionRefused::RequestIdReused));
    assert_eq!(sessions.keep(1, Rc::new(()), 3), Ok(()));
    assert_eq!(sessions.keep(1, Rc::new(()), 4), Err(SessionRefused::InUse));
    assert_eq!(sessions.len(), 1);
}

#[test]
fn pl_16_a_session_serves_only_what_it_binds() {
    let mut sessions = opened();
    let bob = StreamId::player("acme", "bob");
    assert_eq!(
        sessions.act(1, &bob, at_game(), 1),
        Err(SessionRefused::Expired),
        "a session of another player counts as expired"
    );
    let namesake = StreamId::player("other", "alice");
    assert_eq!(sessions.act(1, &namesake, at_game(), 1), Err(SessionRefused::Expired));
    let usd = Some(("bewitched", Currency::USD));
    assert_eq!(sessions.act(1, &alice(), usd, 1), Err(SessionRefused::Mismatch));
    assert_eq!(sessions.act(1, &alice(), None, 1), Ok(()));
}

#[test]
fn pl_16_the_table_is_bounded_and_makes_room_when_sessions_pass() {
    let mut sessions: Sessions<()> = Sessions::new(SessionLimits { count_max: 2, ..LIMITS });
    for (id, player) in [(1, "a"), (2, "b")] {
        assert_eq!(sessions.open(of(player, "g"), "o", id, i64::from(player == "b")), Ok(id));
    }
    assert_eq!(sessions.open(of("c", "g"), "o", 3, 2), Err(SessionRefused::Full));
    assert_eq!(sessions.open(of("c", "g"), "o", 3, 30 * MINUTE), Ok(3));
    assert_eq!(sessions.len(), 2);
}

#[test]
fn bw_26_the_end_of_a_session_lets_go_of_its_connection() {
    let mut sessions = opened();
    let connection = Rc::new(());
    sessions.keep(1, Rc::clone(&connection), 0).unwrap();
    assert_eq!(Rc::strong_count(&connection), 2);
    assert_eq!(sessions.left_ms(1, 30 * MINUTE), None);
    assert_eq!(Rc::strong_count(&connection), 1);
}

struct Known {
    id: SessionId,
    player: u8,
    game: u8,
    request: u8,
    last_action_ms: i64,
    kept: bool,
    closed: bool,
    dropped_ms: Option<i64>,
}

impl Known {
    fn is_live(&self, now_ms: i64) -> bool {
        !self.closed && self.dropped_ms.is_none() && now_ms - self.last_action_ms < LIMITS.idle_ms_max
    }
}

#[derive(Debug, Clone)]
enum Call {
    Open {
        player: u8,
        game: u8,
        request: u8,
    },
    /// Bets in an earlier session; `ago` is the number of sessions opened after that session.
    Act {
        ago: usize,
        player: u8,
        game: u8,
    },
    Keep {
        ago: usize,
    },
    Drop {
        ago: usize,
    },
    Close {
        ago: usize,
    },
}

fn calls() -> impl Strategy<Value = Vec<(i64, Call)>> {
    let call = prop_oneof![
        4 => (0..2_u8, 0..2_u8, 0..3_u8).prop_map(|(player, game, request)| Call::Open { player, game, request }),
        4 => (0..4_usize, 0..2_u8, 0..2_u8).prop_map(|(ago, player, game)| Call::Act { ago, player, game }),
        1 => (0..4_usize).prop_map(|ago| Call::Keep { ago }),
        1 => (0..4_usize).prop_map(|ago| Call::Drop { ago }),
        1 => (0..4_usize).prop_map(|ago| Call::Close { ago }),
    ];
    let pause = prop_oneof![Just(0), 1..30_000_i64, Just(30_000), 1..31 * MINUTE, Just(30 * MINUTE)];
    vec((pause, call), 1..80)
}

fn place(player: u8, game: u8) -> SessionOf {
    of(&player.to_string(), &game.to_string())
}

proptest! {
    #[test]
    fn bw_26_bw_27_pl_16_any_history_answers_as_a_model_that_forgets_nothing(calls in calls()) {
        let mut sessions: Sessions<()> = Sessions::new(LIMITS);
        let (mut known, mut now) = (Vec::<Known>::new(), 0);
        for (fresh, (pause, call)) in (1..).zip(calls) {
            now += pause;
            match call {
                Call::Open { player, game, request } => {
                    let here = || known.iter().filter(|one| (one.player, one.game) == (player, game));
                    let live = here().find(|one| one.is_live(now));
                    let held = here().filter_map(|one| one.dropped_ms).find(|at| now - at < LIMITS.hold_ms);
                    let expected = match (live, held) {
                        (Some(live), _) if live.request == request => Ok(live.id),
                        (Some(_), _) => Err(SessionRefused::InUse),
                        (None, Some(at)) => Err(SessionRefused::Held { left_ms: at + LIMITS.hold_ms - now }),
                        (None, None) => Ok(fresh),
                    };
                    prop_assert_eq!(sessions.open(place(player, game), &request.to_string(), fresh, now), expected);
                    if expected == Ok(fresh) {
                        known.push(Known {
                            id: fresh, player, game, request,
                            last_action_ms: now, kept: false, closed: false, dropped_ms: None,
                        });
                    }
                }
                Call::Act { ago, player, game } => {
                    let Some(one) = known.iter_mut().rev().nth(ago) else { continue };
                    let expected = match (one.is_live(now) && one.player == player, one.game == game) {
                        (false, _) => Err(SessionRefused::Expired),
                        (true, false) => Err(SessionRefused::Mismatch),
                        (true, true) => Ok(()),
                    };
                    let SessionOf { stream, currency, game, .. } = place(player, game);
                    prop_assert_eq!(sessions.act(one.id, &stream, Some((&game, currency)), now), expected);
                    if expected.is_ok() {
                        one.last_action_ms = now;
                    }
                }
                Call::Keep { ago } => {
                    let Some(one) = known.iter_mut().rev().nth(ago) else { continue };
                    let expected = match (one.is_live(now), one.kept) {
                        (false, _) => Err(SessionRefused::Expired),
                        (true, true) => Err(SessionRefused::InUse),
                        (true, false) => Ok(()),
                    };
                    prop_assert_eq!(sessions.keep(one.id, (), now), expected);
                    one.kept |= expected.is_ok();
                }
                Call::Drop { ago } => {
                    let Some(one) = known.iter_mut().rev().nth(ago) else { continue };
                    sessions.drop_connection(one.id, now);
                    if one.is_live(now) {
                        one.dropped_ms = Some(now);
                    }
                }
                Call::Close { ago } => {
                    let Some(one) = known.iter_mut().rev().nth(ago) else { continue };
                    let expected = (one.is_live(now) && one.kept).then_some(());
                    prop_assert_eq!(sessions.close(one.id, now), expected);
                    one.closed |= one.is_live(now);
                }
            }
            let held = |one: &Known| one.dropped_ms.is_some_and(|at| now - at < LIMITS.hold_ms);
            let count = known.iter().filter(|one| one.is_live(now) || held(one)).count();
            prop_assert_eq!(sessions.len(), count);
        }
    }
}

fn under(profile: Profile) -> Sessions<Rc<()>> {
    let mut sessions = Sessions::new(LIMITS);
    sessions.open(SessionOf { profile, ..of("alice", "bewitched") }, "o1", 1, 0).unwrap();
    sessions
}

fn bet(sessions: &mut Sessions<Rc<()>>, now_ms: i64) -> Result<(), SessionRefused> {
    sessions.bet(1, &alice(), ("bewitched", Currency::EUR), now_ms).map(|_| ())
}

fn limit(minutes: i64) -> Option<core::num::NonZeroU32> {
    core::num::NonZeroU32::new(u32::try_from(minutes * MINUTE).unwrap())
}

#[test]
fn pl_26_a_reality_check_blocks_bets_and_nothing_else_until_it_is_acknowledged() {
    let mut sessions = under(Profile { reality_check_ms: limit(20), ..Profile::default() });
    assert_eq!(bet(&mut sessions, 20 * MINUTE - 1), Ok(()));
    for now_ms in [20 * MINUTE, 40 * MINUTE] {
        assert_eq!(bet(&mut sessions, now_ms), Err(SessionRefused::RealityCheckDue));
        assert_eq!(sessions.act(1, &alice(), at_game(), now_ms), Ok(()), "an open round can be continued");
    }
    let (of, elapsed_ms) = sessions.acknowledge(1, 45 * MINUTE).unwrap();
    assert_eq!((of.game.as_str(), elapsed_ms), ("bewitched", 45 * MINUTE));
    assert_eq!(bet(&mut sessions, 65 * MINUTE - 1), Ok(()), "the interval starts again");
    assert_eq!(bet(&mut sessions, 65 * MINUTE), Err(SessionRefused::RealityCheckDue));
    assert_eq!(sessions.acknowledge(1, 95 * MINUTE), Err(SessionRefused::Expired));
}

#[test]
fn pl_26_no_bet_is_taken_when_the_time_of_the_session_is_up() {
    let mut sessions = under(Profile { session_ms_max: limit(25), ..Profile::default() });
    assert_eq!(bet(&mut sessions, 25 * MINUTE - 1), Ok(()));
    assert_eq!(bet(&mut sessions, 25 * MINUTE), Err(SessionRefused::TimeUp));
    sessions.acknowledge(1, 26 * MINUTE).unwrap();
    assert_eq!(
        bet(&mut sessions, 26 * MINUTE),
        Err(SessionRefused::TimeUp),
        "an acknowledgement does not extend the time limit"
    );
    assert_eq!(sessions.act(1, &alice(), at_game(), 26 * MINUTE), Ok(()), "an open round can be continued");
}

#[test]
fn bw_26_the_idle_minutes_are_the_stricter_of_the_service_and_the_jurisdiction() {
    for (minutes, expected) in [(10, 10), (40, 30)] {
        let mut sessions = under(Profile { idle_ms_max: limit(minutes), ..Profile::default() });
        assert_eq!(sessions.left_ms(1, 0), Some(expected * MINUTE));
        assert_eq!(bet(&mut sessions, 5 * MINUTE), Ok(()));
        assert_eq!(sessions.left_ms(1, 5 * MINUTE), Some(expected * MINUTE), "a bet restarts the idle time");
    }
}

#[test]
fn pl_16_jurisdiction_and_limits_are_bound_like_the_game() {
    let mut sessions = opened();
    for other in [
        SessionOf { jurisdiction: "se".into(), ..of("alice", "bewitched") },
        SessionOf { profile: Profile { gamble: false, ..Profile::default() }, ..of("alice", "bewitched") },
        SessionOf { loss_max: Some(Minor(5)), ..of("alice", "bewitched") },
        SessionOf { bet_max: Some(Minor(5)), ..of("alice", "bewitched") },
    ] {
        assert_eq!(sessions.open(other, "o1", 2, 0), Err(SessionRefused::RequestIdReused));
    }
}

#[test]
fn pl_26_the_strictest_wins_field_by_field() {
    let profile = |bits: u32| Profile {
        autoplay: bits & 1 > 0,
        buy_feature: bits & 2 > 0,
        gamble: bits & 4 > 0,
        turbo: bits & 8 > 0,
        round_ms_min: bits >> 4 & 3,
        idle_ms_max: core::num::NonZeroU32::new(bits >> 6 & 3),
        reality_check_ms: core::num::NonZeroU32::new(bits >> 8 & 3),
        session_ms_max: core::num::NonZeroU32::new(bits >> 10 & 3),
        loss_eur_max: core::num::NonZeroU32::new(bits >> 12 & 3),
        jackpot: bits >> 14 & 1 > 0,
        limits_by_player: bits >> 15 & 1 > 0,
        bet_eur_max: core::num::NonZeroU32::new(bits >> 16 & 3),
    };
    let number = |limit: Option<core::num::NonZeroU32>| limit.map_or(u32::MAX, core::num::NonZeroU32::get);
    for (a, b) in (0..1_u32 << 18).map(|bits| (profile(bits), profile(bits.wrapping_mul(2_654_435_761) >> 14))) {
        let both = a.strictest(b);
        assert_eq!(both, b.strictest(a));
        assert_eq!(both.strictest(a), both, "combining with the same profile again changes nothing");
        assert_eq!(
            [both.autoplay, both.buy_feature, both.gamble, both.turbo],
            [a.autoplay & b.autoplay, a.buy_feature & b.buy_feature, a.gamble & b.gamble, a.turbo & b.turbo]
        );
        assert_eq!(both.jackpot, a.jackpot & b.jackpot);
        assert_eq!(both.limits_by_player, a.limits_by_player | b.limits_by_player);
        assert_eq!(both.round_ms_min, a.round_ms_min.max(b.round_ms_min));
        for limit in [
            |profile: Profile| profile.idle_ms_max,
            |profile: Profile| profile.reality_check_ms,
            |profile: Profile| profile.session_ms_max,
            |profile: Profile| profile.loss_eur_max,
            |profile: Profile| profile.bet_eur_max,
        ] {
            assert_eq!(number(limit(both)), number(limit(a)).min(number(limit(b))));
        }
        assert_eq!(a.strictest(Profile::default()), a, "the default restricts nothing");
    }
}
