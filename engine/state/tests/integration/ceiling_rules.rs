use crate::common::*;
use motherlode_state::*;

const EUR: Currency = Currency::EUR;

fn deposit(currency: Currency, amount: i64) -> Event {
    Event::Deposited { currency, amount: Minor(amount) }
}

fn admitted(world: &mut World, stream: StreamId, event: Event) -> Result<(), Refused> {
    let commit = world.next(stream.clone(), vec![event.clone()]);
    world.books.admit(&commit)?;
    world.try_write(stream, vec![event])
}

#[test]
fn uf_01_every_ceiling_leaves_room_for_hundreds_of_balances_more() {
    for currency in Currency::all() {
        let Ceiling { balance, amount } = currency.ceiling();
        assert!(amount > Minor::ZERO && amount <= balance, "{currency}");
        assert!(balance.0 <= i64::MAX / 9_000, "{currency}");
        let rate = FxRate::new(1, -9 + i8::try_from(currency.digits()).unwrap()).unwrap();
        let all = rate.minor_within(Nano::major(1_000_000_000), currency).unwrap();
        assert!(all.0 <= i64::MAX / 9, "{currency}");
    }
}

#[test]
fn uf_01_deposits_fill_an_account_up_to_the_ceiling_and_no_further() {
    for (currency, ceiling) in [(EUR, 1_000_000_000_000_000), (Currency::JPY, 10_000_000_000_000)] {
        let mut world = World::with_players(&["alice"]);
        let held = if currency == EUR { 100_000_000 } else { 0 };
        if currency != EUR {
            world.write(player("alice"), vec![Event::AccountOpened { currency }]);
        }
        let single = ceiling / 100;
        for part in 0..100 {
            let amount = if part == 99 { single - held } else { single };
            admitted(&mut world, player("alice"), deposit(currency, amount)).unwrap();
        }
        assert_eq!(world.balance("alice", currency), ceiling);
        let (balance, ceiling) = (Minor(ceiling), Minor(ceiling));
        let refused = admitted(&mut world, player("alice"), deposit(currency, 1));
        assert_eq!(refused, Err(Refused::BalanceAboveCeiling { currency, balance, ceiling }));
        let (amount, ceiling) = (Minor(single + 1), Minor(single));
        let refused = admitted(&mut world, player("alice"), deposit(currency, amount.0));
        assert_eq!(refused, Err(Refused::AmountAboveCeiling { currency, amount, ceiling }));
    }
}

#[test]
fn uf_01_what_is_in_an_old_log_folds_whatever_the_ceilings() {
    let mut world = World::with_players(&["alice"]);
    world.write(player("alice"), vec![deposit(EUR, i64::MAX - 100_000_000)]);
    assert_eq!(world.balance("alice", EUR), i64::MAX);
    let seed = PoolTerms { seed: Nano::major(1_000_000_000), ..terms(2) };
    world.write(pool_stream(), vec![Event::PoolTermsChanged { terms: seed.clone() }]);
    let rate = FxRate::new(1, -12).unwrap();
    let set = Event::RateSet { currency: Currency::KWD, rate, source: "old".into() };
    world.write(StreamId::Rates, vec![set.clone()]);

    let bet = Event::RoundStarted(world.start("alice", POOL, EUR, 100, "0.2").into());
    let refused = admitted(&mut world, player("alice"), bet);
    assert!(matches!(refused, Err(Refused::BalanceAboveCeiling { .. })), "{refused:?}");
    let refused = admitted(&mut world, StreamId::Rates, set);
    assert_eq!(refused, Err(Refused::RateOutOfBounds { currency: Currency::KWD }));
    let terms = Event::PoolTermsChanged { terms: PoolTerms { version: 3, ..seed } };
    assert!(matches!(admitted(&mut world, pool_stream(), terms), Err(Refused::BadTerms { .. })));
}

#[test]
fn uf_01_rates_are_admitted_as_far_as_a_minor_unit_is_worth_something() {
    let mut world = World::with_players(&[]);
    let mut set = |currency, mantissa, exponent| {
        let rate = FxRate::new(mantissa, exponent).unwrap();
        admitted(&mut world, StreamId::Rates, Event::RateSet { currency, rate, source: "bank".into() })
    };
    for (currency, least) in [(Currency::JPY, -9), (Currency::SEK, -7), (Currency::KWD, -6)] {
        set(currency, 1, least).unwrap();
        assert_eq!(set(currency, 999, least - 3), Err(Refused::RateOutOfBounds { currency }));
    }
    for (currency, most) in [(Currency::JPY, 1), (Currency::SEK, 100), (Currency::KWD, 1_000)] {
        set(currency, most, 4).unwrap();
        assert_eq!(set(currency, most * 10 + 1, 3), Err(Refused::RateOutOfBounds { currency }));
    }
}

fn owed() -> (World, Award) {
    let mut world = World::with_players(&["alice", "bob"]);
    world.hit("alice", EUR, 1_000, "1");
    let award = world.settle_pool().remove(0);
    let room = i64::MAX - world.balance("alice", EUR);
    world.write(player("alice"), vec![deposit(EUR, room)]);
    (world, award)
}

fn set_aside(award: &Award) -> Event {
    let Award { hit, round, amount, currency, .. } = *award;
    Event::AwardSetAside { round, pool: POOL.into(), hit, amount, currency, reason: "figure out of range".into() }
}

#[test]
fn uf_01_an_award_without_room_is_set_aside_stays_owed_and_is_paid_once_there_is() {
    let (mut world, award) = owed();
    assert_eq!(world.pay(&award), Err(Refused::Money(MoneyError::OutOfRange)));
    let owed = world.books.holding(Account::JackpotPayable(POOL), EUR);
    world.write(player("alice"), vec![set_aside(&award)]);
    assert!(world.books.unpaid_award(0, award.hit).unwrap().set_aside);
    assert_eq!(world.books.holding(Account::JackpotPayable(POOL), EUR), owed, "no money moved");
    let again = world.try_write(player("alice"), vec![set_aside(&award)]);
    assert_eq!(again, Err(Refused::AwardPayable { hit: award.hit }));

    let withdrawn = Event::Withdrawn { currency: EUR, amount: award.amount };
    world.write(player("alice"), vec![withdrawn]);
    world.pay(&award).unwrap();
    assert_eq!(world.balance("alice", EUR), i64::MAX);
    assert_eq!(world.books.unpaid_awards().count(), 0);
    assert_eq!(world.books.holding(Account::JackpotPayable(POOL), EUR), Nano::ZERO);
}

#[test]
fn uf_01_only_what_cannot_be_paid_is_set_aside() {
    let mut world = World::with_players(&["alice", "bob"]);
    world.hit("alice", EUR, 1_000, "1");
    let award = world.settle_pool().remove(0);
    let refused = world.try_write(player("alice"), vec![set_aside(&award)]);
    assert_eq!(refused, Err(Refused::AwardPayable { hit: award.hit }));
    let (mut world, award) = owed();
    let strangers = world.try_write(player("bob"), vec![set_aside(&award)]);
    assert_eq!(strangers, Err(Refused::NoSuchAward { hit: award.hit }));
    let other = Award { hit: award.hit + 1, ..award };
    let refused = world.try_write(player("alice"), vec![set_aside(&other)]);
    assert_eq!(refused, Err(Refused::NoSuchAward { hit: other.hit }));
}

fn switch_on(number: usize, actor: &str) -> Event {
    let proposed = Event::SwitchSet {
        switch: Switch { operator: format!("o{number}").into(), ..Switch::default() },
        on: true,
        reason: "mended".into(),
        actor: actor.into(),
    };
    Event::ChangeProposed(ChangeProposed {
        stream: StreamId::System,
        change: Box::new(proposed),
        actor: actor.into(),
        lapses_ms: 1_000,
    })
}

#[test]
fn uf_05_the_proposals_of_one_actor_or_operator_leave_room_for_the_others() {
    let mut world = World::with_players(&[]);
    let propose = |world: &mut World, number, actor: &str| admitted(world, StreamId::System, switch_on(number, actor));
    for number in 0..16 {
        propose(&mut world, number, "ann").unwrap();
    }
    assert_eq!(propose(&mut world, 16, "ann"), Err(Refused::TooManyChanges { most: 16 }));
    propose(&mut world, 16, "bob").unwrap();
    for number in 0..64 {
        propose(&mut world, number, &format!("acme/actor{number}")).unwrap();
    }
    assert_eq!(propose(&mut world, 64, "acme/another"), Err(Refused::TooManyChanges { most: 64 }));
    propose(&mut world, 64, "other/ann").unwrap();
    world.now_ms = 1_000;
    let Event::ChangeProposed(later) = switch_on(0, "ann") else { unreachable!() };
    admitted(&mut world, StreamId::System, Event::ChangeProposed(ChangeProposed { lapses_ms: 2_000, ..later }))
        .unwrap();
}

#[test]
fn uf_05_pl_25_an_operator_starts_what_it_has_stopped_and_nothing_that_the_platform_has() {
    let switch = Switch { operator: "acme".into(), game: "neptune".into(), ..Switch::default() };
    let set = |world: &mut World, on: bool, actor: &str| {
        let (switch, reason, actor) = (switch.clone(), "test".into(), actor.into());
        admitted(world, StreamId::System, Event::SwitchSet { switch, on, reason, actor })
    };
    let platforms = Err(Refused::PlatformsSwitch { switch: switch.clone() });
    let mut world = World::with_players(&[]);
    set(&mut world, false, "acme/ann").unwrap();
    assert_eq!(set(&mut world, true, "other/ann"), platforms);
    set(&mut world, true, "acme/bob").unwrap();
    set(&mut world, false, "acme/ann").unwrap();
    set(&mut world, true, "root").unwrap();
    set(&mut world, false, "acme/ann").unwrap();
    set(&mut world, false, "root").unwrap();
    let unchanged = Err(Refused::SwitchUnchanged { switch: switch.clone() });
    assert_eq!(set(&mut world, false, "acme/ann"), unchanged);
    assert_eq!(set(&mut world, false, "root"), unchanged);
    assert_eq!(set(&mut world, true, "acme/bob"), platforms);
    set(&mut world, true, "root").unwrap();
}

#[test]
fn uf_05_pl_27_a_change_is_approved_by_an_actor_of_the_operator_that_proposed_it() {
    let mut world = World::with_players(&[]);
    let switch = Switch { operator: "acme".into(), ..Switch::default() };
    let set = |on| Event::SwitchSet { switch: switch.clone(), on, reason: "test".into(), actor: "acme/ann".into() };
    world.write(StreamId::System, vec![set(false)]);
    let proposed = Event::ChangeProposed(ChangeProposed {
        stream: StreamId::System,
        change: Box::new(set(true)),
        actor: "acme/ann".into(),
        lapses_ms: 1_000,
    });
    let change = world.write(StreamId::System, vec![proposed]);
    let approved = |actor: &str| {
        let (proposed_by, actor) = ("acme/ann".into(), actor.into());
        vec![Event::ChangeApproved { change, proposed_by, actor }, set(true)]
    };
    for other in ["root", "other/bob"] {
        assert_eq!(world.try_write(StreamId::System, approved(other)), Err(Refused::OtherActors { change }), "{other}");
    }
    let same = Err(Refused::SameActor { change, actor: "acme/ann".into() });
    assert_eq!(world.try_write(StreamId::System, approved("acme/ann")), same);
    world.write(StreamId::System, approved("acme/bob"));
    assert_eq!(world.books.switched_off().count(), 0);
}

#[test]
fn uf_08_who_acted_can_stand_at_the_end_of_any_commit_and_changes_nothing() {
    let mut world = World::with_players(&["alice"]);
    let acted = || Event::ActedBy { actor: "acme/ann".into(), reference: "ticket 7".into() };
    let before = world.books.clone();
    for stream in [player("alice"), pool_stream(), StreamId::System] {
        world.write(stream, vec![acted()]);
    }
    let rate = Event::RateSet { currency: Currency::SEK, rate: FxRate::ONE, source: "bank".into() };
    world.write(StreamId::Rates, vec![rate, acted()]);
    assert_eq!(world.books.trial_balance(), before.trial_balance());
    assert_eq!(world.books.rate(Currency::SEK), Some(FxRate::ONE));
}
