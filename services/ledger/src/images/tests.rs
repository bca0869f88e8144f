//! Files of images: what was written is read, the latest of a player, and nothing that is not sound.

use super::*;
use motherlode_books::NextDraw;
use std::collections::BTreeMap;

const PARTITION: u32 = 3;

fn none(folder: &Path) -> Images {
    Images::none(folder, &Arc::new(Store::open(&folder.with_extension("views"), PARTITION)), usize::MAX)
}

fn state(rounds_started: u64) -> Arc<PlayerState> {
    let draw =
        NextDraw { number: rounds_started, epoch: [1; 4], generation: 5, seal: [2; 32], sealed_by: Some([3; 32]) };
    let mut state = PlayerState::default();
    (state.rounds_started, state.draw) = (rounds_started, Some(draw));
    Arc::new(state)
}

fn write(images: &Images, players: impl IntoIterator<Item = (usize, u64)>) {
    let changed = players.into_iter().map(|(player, rounds)| Changed {
        operator: "acme".into(),
        player: format!("p{player}").into(),
        state: state(rounds),
    });
    let mut written = Written::default();
    images.write(changed.collect(), &mut written).unwrap();
    images.take(written);
}

fn found(images: &Images, player: usize) -> Option<u64> {
    images.find(&StreamId::player("acme", format!("p{player}"))).unwrap().map(|state| state.rounds_started)
}

fn all(images: &Images) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    let each = images.each(|stream, state| {
        assert_eq!(all.insert(stream.to_string(), state.rounds_started), None, "each player once");
    });
    each.unwrap();
    all
}

#[test]
fn pl_30_the_latest_image_of_each_player_is_found_before_and_after_files_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let images = none(folder.path());
    let mut expected = BTreeMap::new();
    for batch in 0..9_u64 {
        let players: Vec<_> = (0..300).filter(|player| (*player as u64).is_multiple_of(batch + 1)).collect();
        write(&images, players.iter().map(|player| (*player, batch)));
        expected.extend(players.iter().map(|player| (format!("player/acme/p{player}"), batch)));
        let check = |images: &Images| {
            for player in 0..300 {
                assert_eq!(found(images, player), expected.get(&format!("player/acme/p{player}")).copied());
            }
            assert_eq!((found(images, 300), all(images)), (None, expected.clone()));
        };
        check(&images);
        while images.merge().unwrap() {
            check(&images);
        }
        check(&Images::open(folder.path(), &images.store, &images.named(&Written::default()), usize::MAX).unwrap());
    }
    assert!(images.batches.read().len() < 9, "some became one");
    images.take(Written::default());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), images.batches.read().len());
}

#[test]
fn pl_30_files_become_one_where_they_are_small_beside_those_after_them() {
    assert_eq!(mergeable(&[]), None);
    assert_eq!(mergeable(&[9, 9, 9]), None, "too few");
    assert_eq!(mergeable(&[100, 9, 9, 9]), None);
    assert_eq!(mergeable(&[100, 9, 9, 9, 9]), Some(1));
    assert_eq!(mergeable(&[30, 9, 9, 9, 9]), Some(0));
}

#[test]
fn pl_30_a_file_that_is_damaged_missing_or_another_is_never_read_as_a_players_state() {
    let folder = tempfile::tempdir().unwrap();
    let images = none(folder.path());
    write(&images, (0..200).map(|player| (player, 7)));
    let named = images.named(&Written::default());
    let path = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let sound = fs::read(&path).unwrap();
    let open = |partition| {
        let store = Arc::new(Store::open(&folder.path().with_extension("views"), partition));
        Images::open(folder.path(), &store, &named, usize::MAX)
    };
    assert!(open(PARTITION + 1).is_err(), "another partition's");
    for at in (0..sound.len()).step_by(97).chain([0, 8, 40, sound.len() - 1]) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let Ok(images) = open(PARTITION) else { continue };
        for player in 0..200 {
            let found = images.find(&StreamId::player("acme", format!("p{player}")));
            assert!(found.is_err() || found.is_ok_and(|found| found == Some((*state(7)).clone())), "byte {at}");
        }
        assert!(images.each(|_, _| ()).is_err(), "byte {at}");
    }
    for bytes in [&sound[..sound.len() - 1], &sound[..100], &[][..], &[&sound[..], b"x"].concat()] {
        fs::write(&path, bytes).unwrap();
        assert!(open(PARTITION).is_err(), "{} bytes", bytes.len());
    }
    // A sound file of other images in its place.
    let other = tempfile::tempdir().unwrap();
    let others = Images { key: images.key, ..none(other.path()) };
    write(&others, (0..200).map(|player| (player, 8)));
    let of_others = fs::read_dir(other.path()).unwrap().next().unwrap().unwrap().path();
    fs::copy(of_others, &path).unwrap();
    assert!(open(PARTITION).is_err());
    fs::remove_file(&path).unwrap();
    assert!(open(PARTITION).is_err());
}
