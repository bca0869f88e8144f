use super::*;
use futures_util::FutureExt;

fn table(all: usize, per_peer: usize) -> Table {
    let bounds = Bounds { all, per_peer, per_operator: 2, ..Bounds::for_limits(&Limits::default(), 1 << 20) };
    Table::new(bounds)
}

fn peer(number: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, number])
}

fn is_shed(admitted: &Admitted) -> bool {
    admitted.0.shed().now_or_never().is_some()
}

fn busy(table: &Table, from: u8) -> Admitted {
    let admitted = idle(table, from);
    admitted.0.begin();
    admitted
}

fn idle(table: &Table, from: u8) -> Admitted {
    let admitted = table.admit(peer(from)).unwrap();
    admitted.0.greet();
    admitted.0.belongs_to(None).unwrap();
    admitted
}

#[test]
fn uf_02_who_has_as_many_as_one_address_may_displaces_its_own_and_nobody_elses() {
    let table = table(10, 2);
    let (other, work, rest) = (idle(&table, 2), busy(&table, 1), idle(&table, 1));
    let third = table.admit(peer(1)).unwrap();
    assert_eq!((is_shed(&rest), is_shed(&work), is_shed(&other), table.count()), (true, false, false, 3));
    third.0.greet();
    third.0.begin();
    let fourth = busy(&table, 1);
    assert!(is_shed(&third));
    assert!(table.admit(peer(1)).is_none(), "both connections of the address have calls in progress");
    drop(fourth);
    assert!(table.admit(peer(1)).is_some());
    assert!(!is_shed(&other));
}

#[test]
fn uf_02_a_full_table_takes_in_who_has_fewer_at_the_cost_of_who_has_the_most() {
    let table = table(4, 4);
    let mine: Vec<_> = (0..3).map(|_| busy(&table, 1)).collect();
    let silent = table.admit(peer(1)).unwrap();
    let second = busy(&table, 2);
    assert!(is_shed(&silent));
    let third = busy(&table, 3);
    assert_eq!(mine.iter().map(is_shed).collect::<Vec<_>>(), [false, false, true]);
    let fourth = busy(&table, 4);
    assert_eq!(mine.iter().take(2).map(is_shed).collect::<Vec<_>>(), [false, true]);
    assert!(table.admit(peer(5)).is_none() && table.admit(peer(1)).is_none());
    assert!(!is_shed(&second) && !is_shed(&third) && !is_shed(&fourth));
    assert_eq!(table.count(), 4);
}

#[test]
fn uf_02_idle_connections_of_many_addresses_keep_nobody_out() {
    let table = table(3, 2);
    let idle: Vec<_> = (1..=3).map(|from| idle(&table, from)).collect();
    let newcomer = busy(&table, 9);
    assert_eq!(
        idle.iter().map(is_shed).collect::<Vec<_>>(),
        [true, false, false],
        "the oldest idle connection is closed"
    );
    assert!(!is_shed(&newcomer));
}

#[test]
fn uf_02_an_operator_has_so_many_connections_with_calls_and_no_more() {
    let table = table(10, 10);
    let open = || table.admit(peer(1)).unwrap();
    let at_work: Vec<_> = (0..2).map(|_| open()).collect();
    for one in &at_work {
        one.0.greet();
        one.0.belongs_to(Some(("acme", "c0"))).unwrap();
        one.0.belongs_to(Some(("acme", "c0"))).unwrap();
        one.0.begin();
    }
    let (more, other) = (open(), open());
    let refused = more.0.belongs_to(Some(("acme", "c0"))).unwrap_err();
    assert_eq!(refused.reason(), Reason::TooManyConnections);
    other.0.belongs_to(Some(("other", "c0"))).unwrap();
    at_work[1].0.end(true);
    more.0.belongs_to(Some(("acme", "c0"))).unwrap();
    assert_eq!(at_work.iter().map(is_shed).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn at_b1_an_operators_connections_are_shared_by_its_credentials() {
    let bounds = Bounds { per_operator: 4, ..Bounds::for_limits(&Limits::default(), 1 << 20) };
    let table = Table::new(bounds);
    let open = |credential| {
        let one = table.admit(peer(1)).unwrap();
        one.0.greet();
        one.0.begin();
        one.0.belongs_to(Some(("acme", credential))).map(|()| one)
    };
    let many: Vec<_> = (0..4).map(|_| open("leaked").unwrap()).collect();
    assert!(open("leaked").is_err(), "each connection has a call in progress");
    let game: Vec<_> = (0..2).map(|_| open("game").unwrap()).collect();
    assert_eq!(
        many.iter().map(is_shed).collect::<Vec<_>>(),
        [false, false, true, true],
        "the youngest connections of the credential with the most"
    );
    assert!(open("game").is_err() && open("leaked").is_err(), "each credential has two connections");
    assert!(!game.iter().any(is_shed));
}

#[test]
fn at_b1_a_young_connection_of_an_address_with_few_is_not_the_least_useful() {
    let table = table(3, 3);
    let greeted = |from| {
        let one = table.admit(peer(from)).unwrap();
        one.0.greet();
        one
    };
    let strangers = [greeted(1), greeted(1)];
    let young = table.admit(peer(2)).unwrap();
    let more = greeted(3);
    assert_eq!(strangers.iter().map(is_shed).collect::<Vec<_>>(), [true, false]);
    assert!(!is_shed(&young) && !is_shed(&more));
}

#[test]
fn uf_02_who_gives_up_more_calls_than_may_be_loses_the_connection() {
    let bounds = Bounds { cancelled: 3, ..Bounds::for_limits(&Limits::default(), 1 << 20) };
    let table = Table::new(bounds);
    let one = table.admit(peer(1)).unwrap();
    for (answered, shed) in [(false, false), (false, false), (true, false), (false, false), (false, true)] {
        one.0.begin();
        one.0.end(answered);
        assert_eq!(is_shed(&one), shed);
    }
}

#[test]
fn uf_02_a_host_is_one_peer_in_every_notation_and_a_trusted_one_has_its_own_bound() {
    let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
    assert_eq!(network(mapped), peer(1));
    let six = |text: &str| network(text.parse().unwrap());
    assert_eq!(six("2001:db8::1"), six("2001:db8::ffff:1"));
    assert_ne!(six("2001:db8::1"), six("2001:db8:0:1::1"));
    let limits =
        Limits { connections_per_peer_max: 1, connections_of_peers: [(mapped, 3)].into(), ..Limits::default() };
    let table = Table::new(Bounds::for_limits(&limits, 1 << 20));
    let many: Vec<_> = (0..3).map(|_| busy(&table, 1)).collect();
    assert!(table.admit(peer(1)).is_none() && many.iter().all(|one| !is_shed(one)));
    let _one = busy(&table, 2);
    assert!(table.admit(peer(2)).is_none());
}

#[test]
fn uf_02_connections_leave_descriptors_for_the_log() {
    let of = |limits: &Limits, descriptors| Bounds::for_limits(limits, descriptors).all;
    let limits = Limits { connections_max: 1000, descriptors_reserved: 100, ..Limits::default() };
    assert_eq!(of(&limits, 1_000_000), 1000);
    assert_eq!(of(&limits, 1024), 924);
    assert_eq!(of(&limits, 64), 32);
}
