#!/usr/bin/env python3
"""Runs the README's two commands in a plain Debian root that has only the packages named in the README.

    tests/fresh_machine.py [--keep FOLDER] [--environment] [COMMAND]

Needs root on Debian, debootstrap and a network. Builds the sources at HEAD. With --environment, runs only the steps
that precede the first build in tests/run.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITE = "bookworm"
SOURCES = "root/motherlode"
ENVIRONMENT = "tests/run -h && tests/run nats && source <(sed -n '/^python_packages()/,/^}/p' tests/run) && python_packages && $python -c 'import grpc, pytest'"


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, **more)


def say(text):
    print(f"== {text}", flush=True)


def named():
    readme = (ROOT / "README.md").read_text()
    section = re.search(r"^## Two commands$(.*?)^## ", readme, re.MULTILINE | re.DOTALL).group(1)
    packages = re.search(r"^# apt-get install (.*)$", section, re.MULTILINE).group(1).split()
    commands = re.findall(r"^\$ (.*?)\s*(?:#.*)?$", section, re.MULTILINE)
    assert len(commands) == 2, commands
    return packages, commands


def lay_down(root, packages):
    say(f"Debian {SUITE}, and {' '.join(packages)}")
    run("debootstrap", "--variant=minbase", SUITE, root, stdout=subprocess.DEVNULL)
    lend(root)
    install = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *packages]
    inside(root, " ".join(install), stdout=subprocess.DEVNULL)


def lend(root):
    for file in ("etc/resolv.conf", "etc/hosts", "etc/pip.conf"):
        if Path("/", file).exists():
            (root / file).write_bytes(Path("/", file).read_bytes())


def inside(root, line, stop=None, **more):
    toolchain = run("rustc", "--print", "sysroot", cwd=ROOT, capture_output=True, text=True).stdout.strip()
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    certificates, wheels = Path("/etc/ssl/certs"), Path(os.environ.get("PIP_FIND_LINKS", "/nowhere"))
    mounts = [f"mount -t proc proc {root}/proc", f"mount --rbind /dev {root}/dev"]
    for source, target in [(toolchain, "opt/rust"), (cargo_home / "registry", "root/.cargo/registry"), (wheels, f"{wheels}"[1:])]:
        if Path(source).is_dir():
            (root / target).mkdir(parents=True, exist_ok=True)
            mounts.append(f"mount --bind {source} {root}/{target}")
    if (root / "etc/ssl/certs").is_dir():
        mounts.append(f"mount --bind {certificates} {root}/etc/ssl/certs")
    kept = {name: value for name, value in os.environ.items() if re.search("(?i)proxy|^pip_|^ssl_cert", name)}
    path = "/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = kept | {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    setup = " && ".join([*mounts, f'exec /usr/sbin/chroot {root} /bin/bash -c "$0"'])
    folder = f"cd /{SOURCES} && " if (root / SOURCES).is_dir() else ""
    command = ["/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", setup, folder + line]
    say(line)
    if stop is None:
        return run(*command, env=environment, **more)
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    for said in process.stdout:
        print(said, end="", flush=True)
        if stop in said:
            break
    else:
        sys.exit(f"the command ended without printing {stop!r}")
    deepest = process.pid
    while children := Path(f"/proc/{deepest}/task/{deepest}/children").read_text().split():
        deepest = int(children[0])
    os.kill(deepest, signal.SIGINT)
    process.stdout.read()
    assert process.wait(timeout=60) == 0, "it exits with an error"
    return process


def main():
    parser = argparse.ArgumentParser(description="Runs the README's two commands on a plain Debian.")
    parser.add_argument("--keep", type=Path, help="create or reuse the root in this folder, and keep it")
    parser.add_argument("--environment", action="store_true", help="run only the steps before the first build")
    parser.add_argument("command", nargs="?", help="run this shell command instead")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this creates a root and namespaces: run it as root")
    if not shutil.which("debootstrap"):
        sys.exit("debootstrap is missing: apt-get install debootstrap")
    packages, commands = named()
    work = arguments.keep or Path(tempfile.mkdtemp())
    root = work.resolve() / "root"
    try:
        if not root.is_dir():
            work.mkdir(parents=True, exist_ok=True)
            lay_down(root, packages)
        if (root / SOURCES).is_dir():
            run("git", "-C", root / SOURCES, "fetch", "--quiet", ROOT, "HEAD")
            run("git", "-C", root / SOURCES, "reset", "--quiet", "--hard", "FETCH_HEAD")
        else:
            run("git", "clone", "--quiet", "--no-hardlinks", ROOT, root / SOURCES)
        if arguments.command or arguments.environment:
            inside(root, arguments.command or ENVIRONMENT)
        else:
            inside(root, commands[0], stop="Try, in another terminal")
            inside(root, commands[1])
        say("done: the README's packages suffice")
    finally:
        if not arguments.keep:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()
