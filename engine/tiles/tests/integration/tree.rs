use crate::naive::{entries, grown, mth, path, subproof};
use motherlode_tiles::{Tree, consistency, empty, inclusion, is_consistent, is_included, leaf, root};
use proptest::prelude::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn roots_are_those_that_rfc_6962_was_published_with() {
    let known: [(&[u8], &str); 8] = [
        (b"", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (&[0], "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"),
        (&[0x10], "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
        (b"\x20\x21", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"),
        (b"\x30\x31", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4"),
        (b"\x40\x41\x42\x43", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef"),
        (b"\x50\x51\x52\x53\x54\x55\x56\x57", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
        (
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ),
    ];
    let mut tree = Tree::default();
    assert_eq!(hex(&tree.root()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (entry, root) in known {
        tree.append(entry, |_, _| {});
        assert_eq!(hex(&tree.root()), root, "of {} entries", tree.size());
    }
}

#[test]
fn each_level_of_tiles_has_the_roots_of_the_full_tiles_beneath() {
    let entries = entries(70_000);
    let (tree, levels) = grown(&entries);
    assert_eq!(levels.0.iter().map(Vec::len).collect::<Vec<_>>(), [70_000, 273, 1]);
    assert_eq!(levels.0[1][272], mth(&entries[272 * 256..273 * 256]));
    assert_eq!(levels.0[2][0], mth(&entries[..65_536]));
    assert_eq!(tree.root(), mth(&entries));
    let read = Tree::read(&levels, 70_000).unwrap();
    assert_eq!(read, tree, "a tree that was read grows like the original tree");
}

#[test]
fn every_proof_of_small_trees_is_that_of_the_definition_and_holds_for_nothing_else() {
    let entries = entries(71);
    let (_, levels) = grown(&entries);
    assert_eq!(root(&levels, 0).unwrap(), empty());
    for size in 1..entries.len() {
        let (n, whole) = (size as u64, mth(&entries[..size]));
        assert_eq!(root(&levels, n).unwrap(), whole);
        for index in 0..size {
            let proof = inclusion(&levels, index as u64, n).unwrap();
            assert_eq!(proof, path(index, &entries[..size]));
            let hash = leaf(&entries[index]);
            assert!(is_included(&hash, index as u64, n, &proof, &whole));
            for other in (0..=size).filter(|other| *other != index) {
                assert!(!is_included(&hash, other as u64, n, &proof, &whole), "{index} of {size} at {other}");
            }
        }
        for old in 0..=size {
            let proof = consistency(&levels, old as u64, n).unwrap();
            if old > 0 {
                assert_eq!(proof, subproof(old, &entries[..size], true));
            }
            let before = mth(&entries[..old]);
            assert!(is_consistent((old as u64, &before), (n, &whole), &proof), "{old} of {size}");
            let other = mth(&entries[1..=old]);
            assert_eq!(is_consistent((old as u64, &other), (n, &whole), &proof), old == 0, "{old} of {size}");
        }
        assert!(!is_consistent((n + 1, &whole), (n, &whole), &[]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn proofs_from_tiles_are_those_of_the_definition(size in 1_usize..3_000, at in any::<prop::sample::Index>()) {
        let entries = entries(size);
        let (tree, levels) = grown(&entries);
        let (index, whole) = (at.index(size), tree.root());
        let proof = inclusion(&levels, index as u64, size as u64).unwrap();
        prop_assert!(is_included(&leaf(&entries[index]), index as u64, size as u64, &proof, &whole));
        prop_assert_eq!(proof, path(index, &entries));
        let proof = consistency(&levels, index as u64 + 1, size as u64).unwrap();
        let old = Tree::read(&levels, index as u64 + 1).unwrap();
        prop_assert!(is_consistent((old.size(), &old.root()), (size as u64, &whole), &proof));
        prop_assert_eq!(proof, subproof(index + 1, &entries, true));
    }
}
