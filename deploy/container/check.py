#!/usr/bin/env python3
"""Executes the Dockerfile's steps without a container engine, or builds and runs the image with podman.

    deploy/container/check.py [--binary FILE] [--keep FOLDER]
    deploy/container/check.py --podman --binary FILE [--keep FOLDER]

Runs as root on Debian 12 with debootstrap and a network. The build stage uses this machine's Rust toolchain, or --binary.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DOCKERFILE = HERE / "Dockerfile"
SUITE = "bookworm"
RUST, DISTROLESS = "docker.io/library/rust:", "gcr.io/distroless/cc-debian12:nonroot"
RUST_PACKAGES = "gcc,libc6-dev,ca-certificates"
DISTROLESS_PACKAGES = "base-files netbase tzdata ca-certificates libc6 libssl3 libgcc-s1 libgomp1 libstdc++6".split()
NONROOT = 65532
START_SECONDS_MAX = 120
# podman's defaults need CAP_SYS_RESOURCE.
LIMITS = ["--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"]


@dataclass
class Stage:
    image: str
    root: Path
    folder: str = "/"
    user: str = "0:0"
    told: dict = field(default_factory=dict)
    volumes: list = field(default_factory=list)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, **more)


def say(text):
    print(f"== {text}", flush=True)


def instructions():
    joined = ""
    for line in DOCKERFILE.read_text().splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        joined += line.removesuffix("\\") + " "
        if not line.endswith("\\"):
            keyword, rest = joined.strip().split(None, 1)
            yield keyword, rest
            joined = ""


def base(image, root):
    if image.startswith(RUST):
        run("debootstrap", "--variant=minbase", f"--include={RUST_PACKAGES}", SUITE, root, stdout=subprocess.DEVNULL)
        return
    if image == "scratch":
        return
    assert image == DISTROLESS, f"no replacement is known for the base image {image}"
    with tempfile.TemporaryDirectory() as packages:
        run("apt-get", "download", "-qq", *DISTROLESS_PACKAGES, cwd=packages, stderr=subprocess.DEVNULL)
        for package in Path(packages).iterdir():
            run("dpkg-deb", "--extract", package, root)
    nobody_else = (
        f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{NONROOT}:{NONROOT}:nonroot:/home/nonroot:/sbin/nologin\n"
    )
    (root / "etc/passwd").write_text(nobody_else)
    (root / "etc/group").write_text(f"root:x:0:\nnonroot:x:{NONROOT}:\n")
    assert not list(root.glob("bin/*sh")) and not list(root.glob("usr/bin/*sh")), "no shell"


@contextmanager
def mounted(*mounts):
    done = []
    try:
        for source, target, read_only in mounts:
            target.mkdir(parents=True, exist_ok=True)
            run("mount", "--bind", source, target)
            done.append(target)
            if read_only:
                run("mount", "-o", "remount,bind,ro", target)
        yield
    finally:
        for target in reversed(done):
            run("umount", target)


def execute(stage, rest, binary, cache):
    words = rest.split()
    caches = [word.split("target=")[1] for word in words if word.startswith("--mount=type=cache")]
    line = " ".join(word for word in words if not word.startswith("--mount"))
    toolchain = Path(run("rustc", "--print", "sysroot", cwd=ROOT, capture_output=True, text=True).stdout.strip())
    version = stage.image.removeprefix(RUST).split("-")[0]
    found = run(toolchain / "bin/rustc", "--version", capture_output=True, text=True).stdout
    assert f"rustc {version} " in found, f"the image uses Rust {version}, but this machine has {found}"
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    mounts = [(toolchain, stage.root / "opt/rust", True)]
    for number, target in enumerate(caches):
        folder = cargo_home / "registry" if target.endswith("cargo/registry") else cache / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        mounts.append((folder, stage.root / target.lstrip("/"), False))
    if binary:
        say(f"RUN, with {binary} instead of a build by cargo")
        (stage.root / "usr/local/bin/cargo").write_text('#!/bin/sh\necho "skipped: cargo $*"\n')
        (stage.root / "usr/local/bin/cargo").chmod(0o755)
        (cache / "0/release").mkdir(parents=True, exist_ok=True)
        shutil.copy(binary, cache / "0/release/motherlode")
    else:
        say(f"RUN {line}")
    path = "/usr/local/bin:/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = {"PATH": path, "CARGO_HOME": "/usr/local/cargo", "HOME": "/root"}
    with mounted(*mounts, (Path("/proc"), stage.root / "proc", False), (Path("/dev"), stage.root / "dev", False)):
        run("chroot", stage.root, "/bin/sh", "-c", f"cd {stage.folder} && {line}", env=environment)


def copy(stage, stages, rest):
    words = rest.split()
    flags = dict(word.removeprefix("--").split("=", 1) for word in words if word.startswith("--"))
    *sources, target = [word for word in words if not word.startswith("--")]
    if target == ".":
        target = stage.folder
    to = stage.root / target.lstrip("/")
    if "from" not in flags:
        assert sources == ["."]
        to.mkdir(parents=True, exist_ok=True)
        let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
        archive = subprocess.Popen(["git", "-C", ROOT, "archive", "HEAD", *let_in], stdout=subprocess.PIPE)
        run("tar", "--extract", "--no-same-owner", "--directory", to, stdin=archive.stdout)
        assert archive.wait() == 0
        return
    (source,) = sources
    source = stages[flags["from"]].root / source.lstrip("/")
    to.parent.mkdir(parents=True, exist_ok=True)
    run("cp", "--archive", "--no-target-directory", source, to)
    run("chown", "--recursive", flags.get("chown", "0:0"), to)


def build(work, binary):
    stages, stage = {}, None
    for keyword, rest in instructions():
        if keyword == "FROM":
            image, *name = rest.split(" AS ")
            stage = Stage(image, work / f"stage{len(stages)}")
            stages[name[0] if name else "last"] = stage
            say(f"FROM {image}: replaced by Debian packages")
            stage.root.mkdir()
            base(image, stage.root)
        elif keyword == "WORKDIR":
            stage.folder = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif keyword == "COPY":
            say(f"COPY {rest}")
            copy(stage, stages, rest)
        elif keyword == "RUN":
            execute(stage, rest, binary, work / "cache")
        elif keyword == "USER":
            stage.user = rest
        elif keyword == "VOLUME":
            stage.volumes.append(rest)
        elif keyword in ("ENTRYPOINT", "CMD"):
            stage.told[keyword] = json.loads(rest)
        else:
            assert keyword in ("ARG", "EXPOSE", "STOPSIGNAL"), f"this check does not support {keyword}"
            stage.told[keyword] = rest
    return stage


def configure(folder, program):
    folder.mkdir(exist_ok=True)
    asked = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=motherlode -addext subjectAltName=DNS:motherlode"
    asked = [*asked.split(), "-addext", "basicConstraints=critical,CA:FALSE"]
    files = ["-keyout", folder / "tls.key", "-out", folder / "tls.crt"]
    run("openssl", *asked, *files, stderr=subprocess.DEVNULL)
    printed = run(program, "token", "new", "--out", folder / "token", capture_output=True, text=True).stdout
    digest = next(word for word in printed.replace('"', " ").split() if len(word) == 64)
    (folder / "motherlode.toml").write_text(
        'listen = "0.0.0.0:50051"\n[tls]\ncertificate = "tls.crt"\nkey = "tls.key"\n'
        '[[operators]]\nid = "demo"\n[[operators.credentials]]\nname = "check"\nroles = ["play", "wallet"]\n'
        f'token_sha256 = "{digest}"\n'
    )
    run("chown", "--recursive", f"{NONROOT}:{NONROOT}", folder)


class Container:
    def __init__(self, stage, volume, log):
        (place,) = stage.volumes
        user = stage.user
        root = stage.root
        inner = f"--root={root} --wd={stage.folder} --setuid={user.split(':')[0]} --setgid={user.split(':')[1]}"
        setup = (
            f"ip link set lo up && mount --bind {root} {root} && mount --bind {volume} {root}{place} && "
            f"mount -t proc proc {root}/proc && mount -o remount,bind,ro {root} && "
            f'exec setpriv --no-new-privs --clear-groups unshare {inner} "$@"'
        )
        command = stage.told["ENTRYPOINT"] + stage.told["CMD"]
        self.stage = stage
        command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", setup, "sh", *command]
        self.outer = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + START_SECONDS_MAX
        while not (self.is_running() and self.inside("health", *HEALTH).returncode == 0):
            ended = self.outer.poll() is not None or time.monotonic() > until
            assert not ended, f"the service does not become ready: {Path(log.name).read_text()}"
            time.sleep(0.2)

    def is_running(self):
        children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text().split()
        self.id = int(children[0]) if children else None
        return bool(children) and os.readlink(f"/proc/{self.id}/exe").endswith("/motherlode")

    def inside(self, *arguments):
        user, group = self.stage.user.split(":")
        spaces = [f"--target={self.id}", "--mount", "--net", "--pid", f"--root=/proc/{self.id}/root"]
        command = ["nsenter", *spaces, f"--setuid={user}", f"--setgid={group}", "/usr/local/bin/motherlode", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def status(self):
        lines = Path(f"/proc/{self.id}/status").read_text().splitlines()
        return {key: value.split() for key, value in (line.split(":", 1) for line in lines)}

    def stop(self):
        os.kill(self.id, getattr(signal, self.stage.told["STOPSIGNAL"]))
        return self.outer.wait(timeout=30)


class Podman:
    def __init__(self, work):
        self.command = ["podman", f"--root={work}/storage", f"--runroot={work}/run", "--storage-driver=vfs"]
        self.command += ["--cgroup-manager=cgroupfs", *(["--runtime=runc"] if shutil.which("runc") else [])]

    def __call__(self, *arguments, **more):
        ran = subprocess.run([*self.command, *map(str, arguments)], capture_output=True, text=True, **more)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout.strip()

    def build(self, work, binary):
        for keyword, rest in instructions():
            image = rest.split(" AS ")[0]
            if keyword != "FROM" or image == "scratch":
                continue
            root = work / image.rsplit("/")[-1]
            root.mkdir()
            base(image, root)
            if image.startswith(RUST):
                shutil.copy(binary, root / "usr/local/lib/motherlode")
                (root / "usr/local/bin/cargo").write_text("#!/bin/sh\ninstall -D /usr/local/lib/motherlode target/release/motherlode\n")
                (root / "usr/local/bin/cargo").chmod(0o755)
            say(f"FROM {image}: imported from Debian packages; {binary} instead of a build by cargo")
            with subprocess.Popen(["tar", "--create", "--directory", root, "."], stdout=subprocess.PIPE) as tar:
                self("import", "-", image, stdin=tar.stdout)
        self("build", "--file", DOCKERFILE, "--tag", "motherlode", ROOT)
        say(self("image", "inspect", "motherlode", "--format={{.Size}} bytes, user {{.Config.User}}, {{.Config.Entrypoint}} {{.Config.Cmd}}"))

    def start(self, configuration):
        (line,) = [line for line in DOCKERFILE.read_text().splitlines() if line.startswith("#     docker run ")]
        say(line.removeprefix("#     "))
        words = [word.replace("/etc/motherlode:", f"{configuration}:", 1) for word in shlex.split(line)[3:]]
        words = [word.replace("50051:", "127.0.0.1::") for word in words]
        made = self("run", "--detach", *LIMITS, *words)
        self.target = f"--target=https://{self('port', made, '50051')}"
        return made


def check_with_podman(work, binary):
    podman, configuration = Podman(work), work / "configuration"
    podman.build(work, binary)
    configure(configuration, binary)

    def call(*arguments):
        words = [binary, *arguments, podman.target, f"--ca={configuration}/tls.crt", "--server-name=motherlode"]
        return subprocess.run(words, capture_output=True, text=True)

    for start in (1, 2):
        made = podman.start(configuration)
        until = time.monotonic() + START_SECONDS_MAX
        while call("health", HEALTH[0]).returncode != 0:
            assert time.monotonic() < until, podman("logs", made)
            time.sleep(0.2)
        rounds = ["neptune", "--auto", "--rounds=3", f"--token-file={configuration}/token"]
        played = call("play", *rounds)
        if start == 2 and "SEAL_CHANGED" in played.stderr:
            played = call("play", *rounds)
        assert played.returncode == 0, played.stdout + played.stderr
        assert call("play", "neptune", "--auto").returncode != 0, "a call without a token must be refused"
        say(f"start {start}: {played.stdout.strip().splitlines()[-1].strip()}")
        podman("stop", "--time=30", made)
        assert podman("inspect", made, "--format={{.State.ExitCode}}") == "0"
    volume = Path(podman("volume", "inspect", "motherlode", "--format={{.Mountpoint}}"))
    run(binary, "audit", volume, stdout=subprocess.DEVNULL)
    assert {entry.stat().st_uid for entry in [volume, *volume.rglob("*")]} == {NONROOT}
    say("podman stopped the container twice with exit status 0; the audit of the volume's log has no finding")


TARGET = ["--target=https://127.0.0.1:50051", "--ca=/etc/motherlode/tls.crt", "--server-name=motherlode"]
HEALTH = ["--service=motherlode.spin.v1.SpinService", *TARGET]


def check(stage, work, program):
    volume, configuration = work / "volume", stage.root / "etc/motherlode"
    # Like a container engine, copies the content and owner of the image's folder to a new volume.
    run("cp", "--archive", "--no-target-directory", stage.root / stage.volumes[0].lstrip("/"), volume)
    configure(configuration, program)
    (stage.root / "proc").mkdir(exist_ok=True)
    log = (work / "service.log").open("w")
    for start in (1, 2):
        container = Container(stage, volume, log)
        status = container.status()
        assert set(status["Uid"]) == {str(NONROOT)} == set(status["Gid"]) and status["NoNewPrivs"] == ["1"]
        assert int(status["CapEff"][0], 16) == 0 == int(status["CapPrm"][0], 16)
        mounts = Path(f"/proc/{container.id}/mountinfo").read_text().splitlines()
        options = {line.split()[4]: line.split()[5] for line in mounts}
        assert options["/"].startswith("ro"), options
        healthy = container.inside("health", *HEALTH).stdout.strip()
        say(f"start {start}: uid {NONROOT}, no capabilities, read-only root, {healthy}")
        rounds = ["neptune", "--auto", "--rounds=3", "--token-file=/etc/motherlode/token"]
        played = container.inside("play", *rounds, *TARGET)
        if start == 2 and "SEAL_CHANGED" in played.stderr:
            # The position of the log's end was lost with the first container's memory, so the restart revoked unused
            # seals (PL-40).
            played = container.inside("play", *rounds, *TARGET)
        assert played.returncode == 0, played.stdout + played.stderr
        say(played.stdout.strip().splitlines()[-1].strip())
        assert container.inside("play", "neptune", "--auto", *TARGET).returncode != 0, "a call without a token must be refused"
        assert container.stop() == 0
    owners = {entry.stat().st_uid for entry in [volume, *volume.rglob("*")]}
    assert owners == {NONROOT}, owners
    run(program, "audit", volume, stdout=subprocess.DEVNULL)
    say("stopped twice with exit status 0; the audit of the volume's log has no finding; all files belong to the user")


def main():
    parser = argparse.ArgumentParser(description="Executes the Dockerfile's steps in plain roots.")
    parser.add_argument("--binary", type=Path, help="program that replaces cargo's result")
    parser.add_argument("--keep", type=Path, help="work in this folder and keep it")
    parser.add_argument("--podman", action="store_true", help="build and run the image with podman")
    arguments = parser.parse_args()
    if arguments.podman and not arguments.binary:
        parser.error("--podman needs --binary")
    if os.geteuid() != 0:
        sys.exit("this creates roots and namespaces: run it as root")
    work = arguments.keep or Path(tempfile.mkdtemp())
    work.mkdir(exist_ok=True)
    try:
        if arguments.podman:
            check_with_podman(work, arguments.binary.resolve())
        else:
            stage = build(work, arguments.binary)
            check(stage, work, stage.root / "usr/local/bin/motherlode")
    finally:
        if not arguments.keep:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()
