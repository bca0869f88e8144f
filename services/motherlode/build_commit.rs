use std::{
    fs,
    path::{Path, PathBuf},
};

const DIGITS: usize = 12;

/// Returns the abbreviated hash of the checked-out commit, and calls `read` with each file that determines this hash.
pub fn commit_of(root: &Path, mut read: impl FnMut(&Path)) -> Option<String> {
    let git = folder(root)?;
    let head = git.join("HEAD");
    read(&head);
    let text = fs::read_to_string(&head).ok()?;
    let commit = match text.trim().strip_prefix("ref: ") {
        None => text.trim().to_owned(),
        Some(name) => {
            let common = fs::read_to_string(git.join("commondir")).map_or(git.clone(), |path| git.join(path.trim()));
            let (loose, packed) = (common.join(name), common.join("packed-refs"));
            read(&loose);
            match fs::read_to_string(&loose) {
                Ok(commit) => commit.trim().to_owned(),
                Err(_) => {
                    let packed = fs::read_to_string(packed).ok()?;
                    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
                    lines.find(|(_, of)| *of == name)?.0.to_owned()
                }
            }
        }
    };
    let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| commit[..DIGITS].to_owned())
}

fn folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let place = fs::read_to_string(git).ok()?;
    Some(root.join(place.trim().strip_prefix("gitdir: ")?))
}
