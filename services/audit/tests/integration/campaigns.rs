use crate::common::{Tale, audited, divergence, player};
use motherlode_slots::Awaiting;
use motherlode_state::{Campaign, CoinValue, Currency, Event, Minor, SettledRound};

fn granted(lines: u32, coins_per_line: u32) -> Tale {
    let mut tale = Tale::with_players(&["alice"]);
    let campaign = Campaign {
        id: "spring".into(),
        game: "bewitched".into(),
        currency: Currency::EUR,
        bet: Minor(150),
        coin_value: CoinValue(100_000),
        lines,
        coins_per_line,
        rounds: 3,
        expires_ms: tale.now_ms + 3_600_000,
    };
    tale.write(player("alice"), vec![Event::CampaignGranted(campaign)]);
    tale
}

fn voided(round: u64, win: i64) -> Vec<Event> {
    let (reason, actor) = ("reel 3 stuck".into(), "support".into());
    vec![Event::RoundVoided {
        round,
        reason,
        actor,
        refund: Minor(0),
        win_taken_back: Minor(win),
        jackpot: motherlode_state::VoidedJackpot::TakenBack,
        settled: None,
    }]
}

#[test]
fn pl_18_free_rounds_are_counted_and_their_voids() {
    let mut tale = granted(15, 1);
    tale.plain_spin("alice");
    tale.campaign = Some("spring".into());
    let settled = tale.plain_spin("alice");
    let open = tale.spin("alice", |outcome| outcome.awaiting == Awaiting::Pick);
    tale.write(player("alice"), voided(open, 0));
    tale.spin("alice", |outcome| outcome.awaiting == Awaiting::Nothing && outcome.round_win_minor == 0);
    let commits: Vec<_> = tale.log.iter().map(|logged| logged.commit.clone()).collect();
    let commits = commits.iter().filter(|commit| commit.stream == player("alice"));
    let recalled = SettledRound::recall(settled, commits).unwrap();
    tale.write_recalling(player("alice"), voided(settled, recalled.win.0), Some(&recalled));
    tale.tend();
    let report = audited(&tale.log);
    assert!(report.divergence.is_none(), "{:?}", report.divergence);
    let of = &report.returns[0];
    assert_eq!((of.rounds, of.free, of.contributing, of.bets, of.free_bets), (4, 3, 1, 600, 450));
    assert_eq!(report.voids.get(Currency::EUR).map(|voids| voids.refunds), Some(0));
    let state = report.books.player(&player("alice")).unwrap().campaign("spring").unwrap();
    assert_eq!((state.begun, state.given_back, state.left()), (3, 2, 2));
}

#[test]
fn pl_18_a_free_round_with_another_stake_of_the_same_worth_is_found() {
    let mut tale = granted(5, 3);
    tale.campaign = Some("spring".into());
    tale.plain_spin("alice");
    let found = divergence(&tale.log);
    assert_eq!(found.position, tale.log.len() as u64);
    assert!(found.what.starts_with("PL-18: the stake of a free round differs"), "{found}");
}

#[test]
fn pl_18_a_round_too_many_is_found() {
    let mut tale = granted(15, 1);
    tale.campaign = Some("spring".into());
    for _ in 0..3 {
        tale.plain_spin("alice");
    }
    let mut log = tale.log;
    let at = log.iter().position(|logged| matches!(logged.commit.events[0], Event::CampaignGranted(_))).unwrap();
    if let Event::CampaignGranted(campaign) = &mut log[at].commit.events[0] {
        campaign.rounds = 2;
    }
    let found = divergence(&log);
    assert_eq!(found.position, log.len() as u64, "the third round: {found}");
}

#[test]
fn pl_17_play_money_that_is_not_kept_apart_is_found() {
    let mut tale = Tale::with_players(&["alice"]);
    let currency = Currency::PLAY;
    let given = Event::PlayMoneyGiven { amount: Minor(500) };
    let at = tale.write(player("alice"), vec![Event::AccountOpened { currency }, given]);
    tale.plain_spin("alice");
    tale.tend();
    let report = audited(&tale.log);
    assert!(report.divergence.is_none(), "{:?}", report.divergence);
    for forged in [
        Event::PlayMoneyGiven { amount: Minor(501) },
        Event::Deposited { currency, amount: Minor(500) },
        Event::Deposited { currency: Currency::EUR, amount: Minor(500) },
    ] {
        let mut log = tale.log.clone();
        log[usize::try_from(at).unwrap() - 1].commit.events[1] = forged;
        assert_eq!(divergence(&log).position, at);
    }
}
