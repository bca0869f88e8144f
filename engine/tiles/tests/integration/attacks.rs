use crate::naive::{entries, grown};
use motherlode_tiles::{
    AddCheckpoint, Checkpoint, Hash, KeyKind, Note, Proof, Seen, SignerKey, Tree, Unwitnessed, consistency, inclusion,
    is_included, judge, leaf,
};

const SIZE: usize = 1000;
const TRIES: u64 = 10_000;

fn key() -> SignerKey {
    SignerKey::new("example.com/log/0", KeyKind::Log, [7; 32]).unwrap()
}

fn checkpoint(tree: &Tree) -> Note {
    let checkpoint = Checkpoint { origin: "example.com/log/0".into(), size: tree.size(), root: tree.root() };
    checkpoint.sign(&key()).unwrap()
}

fn dice(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    }
}

fn holds(proof: &Proof, entry: &Hash) -> bool {
    let checkpoint: Checkpoint = proof.checkpoint.text().parse().unwrap();
    is_included(&leaf(entry), proof.index, checkpoint.size, &proof.path, &checkpoint.root)
}

#[test]
fn a_substituted_entry_index_or_hash_makes_a_proof_false() {
    let entries = entries(SIZE);
    let (tree, levels) = grown(&entries);
    let checkpoint = checkpoint(&tree);
    let paths: Vec<_> = (0..SIZE as u64).map(|index| inclusion(&levels, index, SIZE as u64).unwrap()).collect();
    let mut roll = dice(1);
    for attempt in 0..TRIES {
        let index = roll(SIZE);
        let path = paths[index].clone();
        let mut proof = Proof { extra: vec![], index: index as u64, path, checkpoint: checkpoint.clone() };
        assert!(holds(&proof, &entries[index]));
        let mut entry = entries[index];
        match attempt % 6 {
            0 => entry[roll(32)] ^= 1 << roll(8),
            1 => entry = entries[(index + 1 + roll(SIZE - 1)) % SIZE],
            2 => proof.index = ((index + 1 + roll(SIZE - 1)) % SIZE) as u64,
            3 => {
                let at = roll(proof.path.len());
                proof.path[at][roll(32)] ^= 1 << roll(8);
            }
            4 => drop(proof.path.remove(roll(proof.path.len()))),
            _ => proof.path.insert(roll(proof.path.len() + 1), entries[roll(SIZE)]),
        }
        assert!(!holds(&proof, &entry), "attempt {attempt}");
    }
}

#[test]
fn a_checkpoint_of_another_key_or_with_another_text_is_none_of_the_log() {
    let (tree, _) = grown(&entries(10));
    let mut roll = dice(2);
    for attempt in 0..1000 {
        let seed: [u8; 32] = std::array::from_fn(|_| u8::try_from(roll(256)).unwrap());
        let thief = SignerKey::new("example.com/log/0", KeyKind::Log, seed).unwrap();
        let honest = checkpoint(&tree);
        let forged = match attempt % 3 {
            0 => honest.clone().with(vec![thief.sign(honest.text())]),
            1 => {
                let mut signature = thief.sign(honest.text());
                signature.id = key().verifier().id();
                honest.clone().with(vec![signature])
            }
            _ => {
                let other = Checkpoint { origin: "example.com/log/0".into(), size: roll(1000) as u64 + 11, root: seed };
                Note::new(other.to_string()).unwrap().with(honest.signatures)
            }
        };
        assert!(Checkpoint::open(&forged, key().verifier()).is_err(), "attempt {attempt}");
    }
}

#[test]
fn whoever_kept_a_checkpoint_sees_a_rewritten_log_though_chain_tree_and_signature_were_made_anew() {
    let honest = entries(SIZE);
    let (whole, levels) = grown(&honest);
    let mut roll = dice(3);
    for attempt in 0..100 {
        let (kept, rewritten) = (1 + roll(SIZE - 1), roll(SIZE));
        let rewritten = rewritten % kept;
        let seen = Tree::read(&levels, kept as u64).unwrap();
        let seen = Seen { size: kept as u64, root: seen.root() };
        let mut forged = honest.clone();
        for entry in &mut forged[rewritten..] {
            *entry = leaf(entry);
        }
        let (tree, forged) = grown(&forged);
        let request = |path| AddCheckpoint { old: kept as u64, path, checkpoint: checkpoint(&tree) };
        let of = |levels| consistency(levels, kept as u64, SIZE as u64).unwrap();
        for path in [of(&forged), of(&levels)] {
            let judged = judge(&request(path), key().verifier(), Some(seen));
            assert_eq!(judged, Err(Unwitnessed::Inconsistent), "attempt {attempt}");
        }
        let split = AddCheckpoint { old: SIZE as u64, path: vec![], checkpoint: checkpoint(&tree) };
        let seen = Seen { size: SIZE as u64, root: whole.root() };
        assert_eq!(judge(&split, key().verifier(), Some(seen)), Err(Unwitnessed::Inconsistent));
        let (cut, _) = grown(&entries(kept));
        let shorter = AddCheckpoint { old: cut.size(), path: vec![], checkpoint: checkpoint(&cut) };
        assert_eq!(judge(&shorter, key().verifier(), Some(seen)), Err(Unwitnessed::Conflict(SIZE as u64)));
    }
}
