import hashlib
import json
import os
import re
import shutil
import subprocess
import tomllib

import pytest
from conftest import BINARY, DEPLOY, ROOT

SCRIPT = DEPLOY / "release"
FILES = [line.split() for line in (DEPLOY / "package/files").read_text().splitlines()]
SHELLS = ["bash", "fish", "zsh"]
TOOLS = ["cc", "dpkg-deb", "objdump"]


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **more)


def release(*arguments, script=SCRIPT, **variables):
    return run(script, *arguments, env=os.environ | {name: str(value) for name, value in variables.items()})


def printed(*arguments):
    asked = run(BINARY, *arguments)
    assert asked.returncode == 0, asked.stderr
    return asked.stdout


def commands(path=()):
    """Yields each command with its flags."""
    text = printed(*path, "--help")
    options = text.split("\nOptions:\n")[1].split("\nExamples:\n")[0]
    yield path, set(re.findall(r"^ {2,6}(?:-\w, )?(--[\w-]+)", options, re.MULTILINE))
    listed = re.search(r"\nCommands:\n(.*?)\n\n", text, re.DOTALL)
    for name in re.findall(r"^  ([\w-]+)", listed.group(1), re.MULTILINE) if listed else []:
        if name != "help":
            yield from commands((*path, name))


def test_pl_37_man_pages_and_completions_have_every_command_and_flag(tmp_path):
    printed("man", "--out", tmp_path)
    scripts = {shell: printed("completions", shell) for shell in SHELLS}
    pages, count = set(), 0
    for path, flags in commands():
        page = tmp_path / ("-".join(("motherlode", *path)) + ".1")
        pages.add(page)
        text = page.read_text().replace("\\-", "-")
        assert "--help" in flags
        for flag in flags:
            count += 1
            assert re.search(rf"{flag}(?![\w-])", text), (path, flag)
            for shell, script in scripts.items():
                word = flag if shell != "fish" else f"-l {flag.removeprefix('--')}"
                assert re.search(rf"{word}(?![\w-])", script), (path, flag, shell)
        for shell, script in scripts.items():
            assert not path or re.search(rf"(?<![\w-]){path[-1]}(?![\w-])", script), (path, shell)
    assert set(tmp_path.iterdir()) == pages and len(pages) > 40 and count > 150


def test_the_package_has_existing_files_and_every_unit():
    sources = {source for _, source, _ in FILES}
    assert all((ROOT / source).is_file() for source in sources)
    assert all(target.startswith(("etc/", "usr/")) for _, _, target in FILES)
    units = [path for path in DEPLOY.glob("systemd/**/*") if path.is_file() and path.suffix in (".service", ".timer", ".conf")]
    assert {str(unit.relative_to(ROOT)) for unit in units} <= sources


def test_the_changelog_begins_with_the_version_or_with_unreleased_changes():
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    heading = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).group(1)
    assert heading == "Unreleased" or re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading)


def test_the_workflow_calls_steps_that_exist():
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    called = re.findall(r"deploy/release (\w+)", workflow)
    steps = re.search(r"^  (check \|.*)\) \"\$@\"", SCRIPT.read_text(), re.MULTILINE).group(1).split(" | ")
    assert sorted({*called, "folder", "verify"}) == sorted(steps)
    assert (ROOT / ".ci/run").exists() and ".ci/run" in workflow


@pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason=f"{', '.join(TOOLS)}: the package is not built")
def test_pl_37_the_package_is_reproducible_and_complete(tmp_path):
    (tmp_path / "from").mkdir()
    (tmp_path / "one.c").write_text(f'#include <unistd.h>\nint main(int n, char **v) {{ return execv("{BINARY}", v); }}')
    subprocess.run(["cc", "-o", tmp_path / "from/motherlode", tmp_path / "one.c"], check=True)
    made = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        done = release("package", tmp_path / "from", folder)
        assert done.returncode == 0, done.stderr
        made.append({file.name: hashlib.sha256(file.read_bytes()).digest() for file in folder.iterdir()})
    assert made[0] == made[1] and len(made[0]) == 2
    (package,) = (tmp_path / "one").glob("*.deb")
    contents = run("dpkg-deb", "--contents", package).stdout
    paths = {line.split()[5].removeprefix("./") for line in contents.splitlines()}
    assert {target for _, _, target in FILES} | {"usr/bin/motherlode", "usr/share/man/man1/motherlode-serve.1.gz"} < paths
    assert all(line.split()[1] == "root/root" for line in contents.splitlines())
    assert not any(path.startswith(("usr/local", "var")) for path in paths)
    run("dpkg-deb", "--raw-extract", package, tmp_path / "root")
    assert (tmp_path / "root/DEBIAN/conffiles").read_text() == "/etc/motherlode/motherlode.toml\n"
    assert re.search(r"libc6 \(>= 2\.\d+\)", (tmp_path / "root/DEBIAN/control").read_text())
    assert "=/usr/local" not in (tmp_path / "root/usr/lib/systemd/system/motherlode.service").read_text()


SMALL = {
    "Cargo.toml": '[workspace]\nmembers = ["library", "motherlode"]\nresolver = "3"\n[workspace.package]\nversion = "1.0.0"\n',
    "library/Cargo.toml": '[package]\nname = "library"\nedition = "2024"\n',
    "library/src/lib.rs": "pub fn at(word: &str) -> char { word.chars().nth(7).expect(file!()) }",
    "motherlode/Cargo.toml": '[package]\nname = "motherlode"\nedition = "2024"\n[dependencies]\nlibrary = { path = "../library" }\n',
    "motherlode/build.rs": """fn main() {
        let path = format!("{}/word.rs", std::env::var("OUT_DIR").unwrap());
        std::fs::write(path, "fn word() -> (&'static str, &'static str) { (env!(\\"MOTHERLODE_COMMIT\\"), file!()) }").unwrap();
    }""",
    "motherlode/src/main.rs": 'include!(concat!(env!("OUT_DIR"), "/word.rs"));\nfn main() { println!("{:?} {}", word(), library::at(word().0)) }',
}


@pytest.mark.skipif(not shutil.which("objcopy"), reason="objcopy is missing: nothing is built")
def test_pl_37_two_folders_make_the_same_binary_without_their_paths(tmp_path):
    one = tmp_path / "one"
    profiles = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["release"]
    profile = "".join(f"{name} = {json.dumps(value)}\n" for name, value in profiles.items() if name not in ("lto", "package"))
    for name, text in (SMALL | {"Cargo.toml": f"{SMALL['Cargo.toml']}[profile.release]\n{profile}"}).items():
        (one / name).parent.mkdir(parents=True, exist_ok=True)
        (one / name).write_text(text)
    for script in (SCRIPT, DEPLOY / "container/split-debug"):
        (one / script.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(script, one / script.relative_to(ROOT))
    git = ["git", "-C", one, "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "x"]):
        subprocess.run([*git, *arguments], check=True)
    run("cargo", "generate-lockfile", "--offline", cwd=one)
    two = tmp_path / "a second/folder"
    shutil.copytree(one, two)
    made = []
    for folder, target in ((one, one / "target"), (two, tmp_path / "elsewhere")):
        done = release("build", folder / "out", script=folder / "deploy/release", CARGO_TARGET_DIR=target)
        assert done.returncode == 0, done.stderr
        made.append([(folder / "out" / name).read_bytes() for name in ("motherlode", "motherlode.debug")])
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0][0] and b"/target/release/build/" in made[0][0]


def key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    return path.with_suffix(".pub").read_text()


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="ssh-keygen is missing: signatures are not tested")
def test_pl_37_a_changed_byte_or_another_key_fails_the_verification(tmp_path):
    out, signers = tmp_path / "out", tmp_path / "signers"
    out.mkdir()
    (out / "a b").write_bytes(b"one")
    (out / "c").write_bytes(b"two")
    signers.write_text(f"release {key(tmp_path / 'key')}")
    other = tmp_path / "other"
    other.write_text(f"release {key(tmp_path / 'strange')}")
    assert release("sign", out, MOTHERLODE_RELEASE_KEY=tmp_path / "key").returncode == 0

    def verifies(signers=signers):
        return release("verify", out, MOTHERLODE_RELEASE_SIGNERS=signers).returncode == 0

    assert verifies() and not verifies(other)
    (out / "c").write_bytes(b"twp")
    assert not verifies()
    sums = (out / "SHA256SUMS").read_text()
    changed = hashlib.sha256(b"twp").hexdigest()
    (out / "SHA256SUMS").write_text(sums.replace(hashlib.sha256(b"two").hexdigest(), changed))
    assert not verifies(), "the signature is of other checksums"


def test_pl_37_tag_version_and_changelog_must_agree(tmp_path):
    script = tmp_path / "deploy/release"
    script.parent.mkdir()
    shutil.copy(SCRIPT, script)
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.3"\n')

    def git(*arguments):
        named = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", tmp_path, *named, *arguments], check=True, capture_output=True)

    def agrees(heading, tag):
        (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n\nnew\n\n## 1.2.2 (2026-01-01)\n\nold\n")
        git("add", "--all")
        git("commit", "--allow-empty", "--message", "x")
        git("tag", "--force", tag)
        return release("check", tag, script=script).returncode == 0

    git("init", "--quiet")
    assert agrees("## 1.2.3 (2026-02-01)", "v1.2.3")
    assert release("notes", script=script).stdout.strip() == "new"
    assert not agrees("## 1.2.3 (2026-02-01)", "v1.2.4")
    assert not agrees("## Unreleased", "v1.2.3")
    assert agrees("## 1.2.3 (2026-02-01)", "v1.2.3")
    (tmp_path / "more").touch()
    assert release("check", "v1.2.3", script=script).returncode != 0, "a changed tree"
    git("add", "--all")
    git("commit", "--message", "y")
    assert release("check", "v1.2.3", script=script).returncode != 0, "the tag is another commit"
