use motherlode_slots::{Carried, latest};
use proptest::{collection::vec, prelude::*, test_runner::RngSeed};

const COINS: [u64; 9] = [4_000, 10_000, 20_000, 40_000, 100_000, 200_000, 400_000, 1_000_000, 2_000_000];
const RED: usize = 3;
const NEEDS: usize = 5;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 256, failure_persistence: None, rng_seed: RngSeed::Fixed(4), ..ProptestConfig::default() }
}

type Crystal = (usize, Option<u64>);

#[derive(Clone, Default)]
struct Mine {
    colours: [Vec<Crystal>; 4],
    given: bool,
}

impl Mine {
    fn play(&mut self, round: usize, landed: [bool; 4], coin: u64) -> bool {
        if !self.given {
            self.given = true;
            self.colours[RED].extend([(round, None); 3]);
        }
        let mut completed = false;
        for (crystals, _) in self.colours.iter_mut().zip(landed).filter(|(_, landed)| *landed) {
            crystals.push((round, Some(coin)));
            if crystals.len() == NEEDS {
                crystals.clear();
                completed = true;
            }
        }
        completed
    }

    fn carried(&self) -> Carried {
        let mut carried = Carried::default();
        for (colour, crystals) in self.colours.iter().enumerate() {
            carried.0[colour] = i64::try_from(crystals.len()).unwrap();
            carried.0[4 + colour] = crystals.iter().filter_map(|crystal| crystal.1).sum::<u64>().try_into().unwrap();
        }
        carried.0[8] = self.colours[RED].iter().filter(|crystal| crystal.1.is_none()).count().try_into().unwrap();
        carried.0[9] = self.given.into();
        carried
    }
}

fn mined(rounds: &[([bool; 4], usize)]) -> (Vec<Mine>, Vec<bool>) {
    let mut states = vec![Mine::default()];
    let completed = rounds.iter().enumerate().map(|(number, (landed, coin))| {
        let mut mine = states[number].clone();
        let completed = mine.play(number, *landed, COINS[*coin]);
        states.push(mine);
        completed
    });
    let completed = completed.collect();
    (states, completed)
}

#[derive(Clone)]
struct Shelf {
    potions: Vec<(usize, i64)>,
    unlocked: i64,
}

impl Shelf {
    fn play(&mut self, round: usize, landed: &[i64]) -> bool {
        self.potions.extend(landed.iter().map(|potion| (round, *potion)));
        if self.potions.len() < 3 {
            return false;
        }
        let mut three: Vec<_> = self.potions.drain(..3).map(|(_, potion)| potion).collect();
        three.sort_unstable();
        let feature = match three[..] {
            [1, 2, 3] => 1,
            [1, 2, 2] => 2,
            [1, 3, 3] => 3,
            [2, 2, 3] => 4,
            _ => return true,
        };
        if feature == self.unlocked {
            self.unlocked = (feature + 1).min(4);
        }
        true
    }

    fn carried(&self) -> Carried {
        let mut carried = Carried::default();
        for (place, (_, potion)) in self.potions.iter().enumerate() {
            carried.0[place] = *potion;
        }
        carried.0[2] = self.unlocked;
        carried
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn pl_04_dm_16_a_void_takes_the_rounds_crystals_and_no_others(
        rounds in vec((any::<[bool; 4]>(), 0..COINS.len()), 1..12),
    ) {
        let game = latest("dwarf-mine").unwrap();
        let (states, completed) = mined(&rounds);
        let now = states.last().unwrap();
        for (round, pair) in states.windows(2).enumerate() {
            let [before, after] = pair else { unreachable!() };
            let (before, after) = (before.carried(), after.carried());
            if now.carried() == after {
                continue;
            }
            let left = game.without(&now.carried(), &before, &after);
            if completed[round..].contains(&true) {
                for colour in 0..4 {
                    let gifted = if colour == RED { left.0[8] } else { 0 };
                    let (crystals, own) = (left.0[colour], left.0[colour] - gifted);
                    prop_assert!((0..5).contains(&crystals) && (0..=crystals).contains(&gifted));
                    let (micros, most) = (left.0[4 + colour], now.carried().0[4 + colour] + before.0[4 + colour]);
                    prop_assert!((micros > 0) == (own > 0) && micros <= most, "{left:?}");
                    prop_assert!(crystals <= now.carried().0[colour].max(before.0[colour]) + 4);
                }
            } else {
                let mut without = now.clone();
                without.colours.iter_mut().for_each(|crystals| crystals.retain(|crystal| crystal.0 != round));
                without.given = round > 0;
                prop_assert_eq!(left, without.carried(), "round {}", round);
            }
        }
    }

    #[test]
    fn pl_04_dm_14_a_gift_that_was_used_up_is_not_made_again(
        first in any::<[bool; 4]>(),
        rounds in vec((any::<[bool; 4]>(), 0..COINS.len()), 1..8),
    ) {
        let mut rounds: Vec<_> = [(first, 0)].into_iter().chain(rounds).collect();
        let (states, _) = mined(&rounds);
        let [new, after] = [&states[0], &states[1]].map(Mine::carried);
        rounds.extend([([false, false, false, true], 1); 2]);
        let (states, _) = mined(&rounds);
        let now = states.last().unwrap();
        let left = latest("dwarf-mine").unwrap().without(&now.carried(), &new, &after);
        let used_up = now.carried().0[8] == 0;
        prop_assert!(used_up);
        prop_assert_eq!((left.0[8], left.0[9]), (0, 1));
        let own = i64::from(first[RED]);
        prop_assert_eq!(left.0[RED], (now.carried().0[RED] - own).max(0));
    }

    #[test]
    fn pl_04_wf_12_a_void_takes_the_rounds_potions_and_no_others(
        rounds in vec(vec(1..=3_i64, 0..=3), 1..8),
        unlocked in 1..=4_i64,
    ) {
        let game = latest("witch-feature").unwrap();
        let mut states = vec![Shelf { potions: vec![], unlocked }];
        let mut combined = vec![];
        for (round, landed) in rounds.iter().enumerate() {
            let mut shelf = states[round].clone();
            combined.push(shelf.play(round, landed));
            states.push(shelf);
        }
        let now = states.last().unwrap();
        for (round, pair) in states.windows(2).enumerate() {
            let (before, after) = (pair[0].carried(), pair[1].carried());
            if now.carried() == after {
                continue;
            }
            let left = game.without(&now.carried(), &before, &after);
            let unlocked = now.unlocked - (pair[1].unlocked - pair[0].unlocked);
            prop_assert_eq!(left.0[2], unlocked, "features that the round unlocked are locked again");
            if combined[round..].contains(&true) {
                prop_assert!(left.0[0] > 0 || left.0[1] == 0, "the shelf has no gap: {left:?}");
                prop_assert!(left.0[..2].iter().all(|potion| (0..=3).contains(potion)));
            } else {
                let mut without = now.clone();
                without.potions.retain(|potion| potion.0 != round);
                prop_assert_eq!(&left.0[..2], &without.carried().0[..2], "round {}", round);
            }
        }
    }
}

#[test]
fn pl_04_what_a_void_round_used_up_is_given_back() {
    let mine = |red: i64, micros: i64| Carried([0, 0, 0, red, 0, 0, 0, micros, 0, 1, 0, 0]);
    let dwarf = latest("dwarf-mine").unwrap();
    let (before, after) = (mine(4, 40_000), mine(0, 0));
    assert_eq!(dwarf.without(&mine(1, 10_000), &before, &after), mine(4, 40_000));
    let old = motherlode_slots::game("dwarf-mine", "1.0").unwrap();
    assert_eq!(
        old.without(&mine(1, 10_000), &before, &after),
        mine(4, 50_000),
        "the old version behaves as before (PL-01)"
    );
    assert_eq!(
        dwarf.without(&mine(0, 0), &mine(2, 20_000), &mine(3, 30_000)),
        mine(0, 0),
        "a collection completed since then is not restored"
    );
    let shelf = |potions: [i64; 2], unlocked| {
        let mut carried = Carried::default();
        carried.0[..3].copy_from_slice(&[potions[0], potions[1], unlocked]);
        carried
    };
    let witch = latest("witch-feature").unwrap();
    let (before, after) = (shelf([1, 2], 1), shelf([0, 0], 2));
    assert_eq!(
        witch.without(&shelf([3, 0], 2), &before, &after),
        shelf([1, 2], 1),
        "the shelf has no room for the green Potion"
    );
    assert_eq!(
        witch.without(&shelf([3, 0], 3), &shelf([1, 0], 2), &shelf([1, 2], 2)),
        shelf([3, 0], 3),
        "the Potions were used since then"
    );
}
