#[path = "../../build_commit.rs"]
mod build_commit;

use crate::service::{run, text};
use build_commit::commit_of;
use std::fs;

#[test]
fn the_version_names_the_commit() {
    let printed = text(&run("--version"));
    let expected = concat!("motherlode ", env!("CARGO_PKG_VERSION"), " (");
    assert!(printed.starts_with(expected) && printed.trim_end().ends_with(')'), "{printed}");
}

#[test]
fn a_commit_is_read_without_git_from_a_repository_a_worktree_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let commit = || commit_of(root, |_| {});
    let (one, two, three) = ("1".repeat(40), "2".repeat(40), "3".repeat(40));
    assert_eq!(commit(), None, "an archive has no repository");
    fs::create_dir_all(root.join(".git/refs/heads")).unwrap();
    assert_eq!(commit(), None);
    fs::write(root.join(".git/HEAD"), format!("{one}\n")).unwrap();
    assert_eq!(commit().as_deref(), Some("111111111111"));
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(root.join(".git/packed-refs"), format!("# pack-refs\n{two} refs/heads/main\n")).unwrap();
    assert_eq!(commit().as_deref(), Some("222222222222"));
    fs::write(root.join(".git/refs/heads/main"), format!("{three}\n")).unwrap();
    assert_eq!(commit().as_deref(), Some("333333333333"));
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/none\n").unwrap();
    assert_eq!(commit(), None);

    let tree = root.join("tree");
    fs::create_dir_all(&tree).unwrap();
    let own = root.join(".git/worktrees/tree");
    fs::create_dir_all(&own).unwrap();
    fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    fs::write(own.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    assert_eq!(commit_of(&tree, |_| {}).as_deref(), Some("333333333333"));
}
