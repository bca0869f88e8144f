use super::*;
use motherlode_state::NextDraw;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const PARTITION: u32 = 3;

fn state(rounds_started: u64) -> Arc<PlayerState> {
    let draw =
        NextDraw { number: rounds_started, epoch: [1; 4], generation: 5, seal: [2; 32], sealed_by: Some([3; 32]) };
    let mut state = PlayerState::default();
    (state.rounds_started, state.draw) = (rounds_started, Some(draw));
    Arc::new(state)
}

fn new(folder: &Path) -> Players {
    Players::new(&Arc::new(Store::open(folder, PARTITION)), usize::MAX)
}

fn write(players: &Players, position: Position, states: impl IntoIterator<Item = (usize, u64)>) {
    let changed = states.into_iter().map(|(player, rounds)| (key("acme", &format!("p{player}")), state(rounds)));
    let mut written = Written::default();
    players.write(changed.collect(), position, &mut written).unwrap();
    players.take(written);
}

fn checkpoint(players: &Players) -> Checkpoint {
    Checkpoint {
        sequence: 0,
        partition: PARTITION,
        position: 9,
        hash: [1; 32],
        keyspaces: vec![players.tables(&Written::default())],
        state_version: STATE_VERSION,
        state: vec![],
    }
}

fn stream(player: usize) -> StreamId {
    StreamId::player("acme", format!("p{player}"))
}

fn found(players: &Players, player: usize) -> Option<u64> {
    players.find(&stream(player)).unwrap().map(|state| state.rounds_started)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder.join("tables")).unwrap().map(|file| file.unwrap().path()).collect()
}

#[test]
fn pl_30_the_latest_state_of_each_player_is_found_before_and_after_a_merge() {
    let folder = tempfile::tempdir().unwrap();
    let players = new(folder.path());
    let mut expected = BTreeMap::new();
    for position in 1..10_u64 {
        let changed: Vec<_> = (0..300).filter(|player| (*player as u64).is_multiple_of(position)).collect();
        write(&players, position, changed.iter().map(|player| (*player, position)));
        expected.extend(changed.iter().map(|player| (*player, position)));
        let check = |players: &Players| {
            for player in 0..300 {
                assert_eq!(found(players, player), expected.get(&player).copied());
            }
            assert!(!players.may_contain(&stream(5_000)) && !players.may_contain(&StreamId::System));
            assert_eq!(found(players, 300), None);
        };
        check(&players);
        while players.merge().unwrap() {
            check(&players);
        }
        check(&Players::open(&players.store, &checkpoint(&players), usize::MAX).unwrap());
    }
    let runs = players.fixed().0.len();
    assert!(runs < 9, "some runs must be merged: {runs} runs");
    players.store.collect(&players.ids());
    assert_eq!(files(folder.path()).len(), runs);
    assert!(players.player_reloads() > 300);
}

#[test]
fn pl_30_a_damaged_state_is_an_error_that_removes_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let players = new(folder.path());
    write(&players, 9, (0..200).map(|player| (player, 7)));
    players.store.commit(&mut checkpoint(&players)).unwrap();
    let file = files(folder.path()).remove(0);
    let mut bytes = fs::read(&file).unwrap();
    bytes[50] ^= 1;
    fs::write(&file, bytes).unwrap();
    let refused = (0..200).filter(|player| players.find(&stream(*player)).is_err()).count();
    assert!(refused > 50 && refused < 200, "the damaged block has {refused} players");
    assert!(players.has_failed() && players.store.checkpoints().is_empty());
    assert!(players.failure.borrow().as_ref().is_some_and(|why| why.contains("the block at byte 0 is damaged")));
    players.forget();
    assert!(!players.has_failed() && players.find(&stream(1)).unwrap().is_none());
    fs::remove_file(file).unwrap();
    assert!(Players::open(&players.store, &checkpoint(&new(folder.path())), usize::MAX).is_ok());
    let without = Checkpoint { keyspaces: vec![], ..checkpoint(&players) };
    assert!(Players::open(&players.store, &without, usize::MAX).is_err());
}

#[test]
fn pl_20_players_of_all_runs_are_listed_once_in_order_of_names_with_their_latest_state() {
    let folder = tempfile::tempdir().unwrap();
    let players = new(folder.path());
    let mut expected = BTreeMap::new();
    for position in 1..6_u64 {
        let changed: Vec<_> = (0..2_000).filter(|player| (*player as u64).is_multiple_of(position)).collect();
        write(&players, position, changed.iter().map(|player| (*player, position)));
        expected.extend(changed.iter().map(|player| (format!("p{player}"), position)));
    }
    let mut written = Written::default();
    let others = ["acm", "acme-2"].map(|operator| (key(operator, "p1"), state(1)));
    players.write(others.into(), 9, &mut written).unwrap();
    players.take(written);
    for prefix in ["", "p", "p1", "p19", "p1999", "q"] {
        let (mut listed, mut after) = (vec![], String::new());
        loop {
            let page = players.after("acme", prefix, &after, 70).unwrap();
            let Some((last, _)) = page.last() else { break };
            assert!(page.len() <= 70);
            after = last.clone();
            listed.extend(page.into_iter().map(|(name, state)| (name, state.rounds_started)));
        }
        let begin = expected.iter().filter(|(name, _)| name.starts_with(prefix));
        let begin: Vec<_> = begin.map(|(name, rounds)| (name.clone(), *rounds)).collect();
        assert_eq!(listed, begin, "{prefix}");
    }
    assert_eq!(players.after("acme", "p1", "p2", 9).unwrap(), []);
    assert_eq!(players.after("bravo", "", "", 9).unwrap(), []);
}
