#!/usr/bin/env python3
"""Boots two machines in containers, runs the commands of the operator's pages on them, and prints the time of each step.

    deploy/systemd/day.py --binary FILE --newer FILE

Runs as root on Debian with debootstrap, systemd-nspawn, openssl, ip and a network. `--newer` is the binary of the upgrade.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from check import CERTIFICATE, HERE, PACKAGES, run

NETWORK = f"motherlode-{os.getpid()}"
BOOT_SECONDS_MAX = 60
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CALL = "--target https://motherlode:50051 --ca /etc/motherlode/tls.crt"
PLAY = f"motherlode play neptune --auto --operator acme {CALL} --token-file gateway.token"
# Callers that name a revoked seal get SEAL_CHANGED once.
PLAY_AGAIN = f"({PLAY} || {PLAY})"
NEW_CERTIFICATE = f"openssl {CERTIFICATE} -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem"
INSTALL_CERTIFICATE = "install -m 0644 cert.pem /etc/motherlode/tls.crt; install -m 0600 key.pem /etc/motherlode/tls.key"
INSTALL_UNITS = """install -m 0644 deploy/systemd/motherlode-*.service deploy/systemd/motherlode-*.timer /etc/systemd/system/
install -D -m 0644 deploy/systemd/motherlode-.service.d/confined.conf -t /etc/systemd/system/motherlode-.service.d/"""
ONCE = """install -D -m 0644 /dev/stdin /run/systemd/system/motherlode.service.d/once.conf <<'END'
[Service]
ExecStart=
ExecStart=/usr/local/bin/motherlode serve --restored --data /var/lib/motherlode --config %t/motherlode/etc/motherlode.toml
END
systemctl daemon-reload && systemctl start motherlode
rm /run/systemd/system/motherlode.service.d/once.conf && systemctl daemon-reload"""
KEYS = """install -D -m 0600 separate/draws -t /var/lib/motherlode/keys/
install -m 0600 separate/proofs.key /var/lib/motherlode/
motherlode audit /var/lib/motherlode"""
FULL = f"""systemctl stop motherlode; cd /var/lib/private; mv motherlode whole; mkdir motherlode
mount -t tmpfs -o size=150M,mode=0750 none motherlode; cp -a whole/. motherlode/; chown --reference=whole motherlode
systemctl start motherlode; dd if=/dev/zero of=motherlode/other bs=1M || true
export MOTHERLODE_TOKEN=$(cat /root/gateway.token); ! motherlode loadtest --rounds 100000 --operator acme {CALL}
! motherlode health {CALL}"""
STEPS = [
    ("service", "install, start, first round", f"""install -m 0755 motherlode /usr/local/bin/
install -D -m 0644 deploy/motherlode.toml -t /etc/motherlode/; {NEW_CERTIFICATE}; {INSTALL_CERTIFICATE}
number=1; for name in first second gateway; do
digest=$(motherlode token new --out $name.token | sed -n 's/^token_sha256 = //p')
sed -i "s/\\"0\\{{63\\}}$number\\"/$digest/" /etc/motherlode/motherlode.toml; number=$((number + 1)); done
install -m 0644 deploy/systemd/motherlode.service /etc/systemd/system/; systemctl enable --now motherlode; {PLAY}
install -D -m 0600 /var/lib/motherlode/keys/draws /var/lib/motherlode/proofs.key -t /shared/separate
cp *.token cert.pem /shared"""),
    ("other", "follow and audit on another machine", f"""cp -r /shared/. .; install -m 0755 motherlode /usr/local/bin/
install -D -m 0600 first.token /etc/motherlode/follow.token; install -m 0644 cert.pem /etc/motherlode/ca.crt
echo MOTHERLODE_TARGET=https://motherlode:50051 > /etc/motherlode/follow.env
echo MOTHERLODE_OPTIONS=--ca /etc/motherlode/ca.crt >> /etc/motherlode/follow.env; {INSTALL_UNITS}
systemctl enable --now motherlode-follow.service motherlode-audit.timer
until [ -e /var/lib/motherlode-copy/log/0/*1.log ]; do sleep 0.1; done; systemctl start motherlode-audit"""),
    ("service", "renew the certificate", f"""{NEW_CERTIFICATE}; {INSTALL_CERTIFICATE}; systemctl reload motherlode
until {PLAY}; do sleep 0.05; done; cp cert.pem key.pem /shared"""),
    ("service", "add an operator", f"""digest=$(motherlode token new --out b.token | sed -n 's/^token_sha256 = //p')
printf '[[operators]]\\nid = "b"\\n[[operators.credentials]]\\nname = "gateway"\\ntoken_sha256 = %s\\nroles = ["play", "wallet"]\\n' \\
$digest >> /etc/motherlode/motherlode.toml; systemctl reload motherlode
until motherlode play neptune --auto --operator b {CALL} --token-file b.token; do sleep 0.05; done
cp /etc/motherlode/motherlode.toml /shared"""),
    ("service", None, FULL),
    ("service", "full disk: free space, first round", f"""rm /var/lib/private/motherlode/other
until motherlode health {CALL}; do sleep 0.05; done; {PLAY}"""),
    ("service", None, """systemctl stop motherlode; cd /var/lib/private; rm -r whole/*; cp -a motherlode/. whole/; umount motherlode
rmdir motherlode; mv whole motherlode; systemctl start motherlode"""),
    ("service", "upgrade, with an audit of a copy", f"""motherlode copy --from /var/lib/motherlode --to backup; ./newer audit backup
cp /usr/local/bin/motherlode /usr/local/bin/motherlode.old; install -m 0755 newer /usr/local/bin/motherlode
systemctl restart motherlode; {PLAY_AGAIN}"""),
    ("service", "roll back", f"""mv /usr/local/bin/motherlode.old /usr/local/bin/motherlode; systemctl restart motherlode; {PLAY_AGAIN}"""),
    ("service", "archive", "motherlode archive --from /var/lib/motherlode --to /shared/archive"),
    ("other", None, "install -m 0644 /shared/cert.pem /etc/motherlode/ca.crt; systemctl restart motherlode-follow; sleep 3"),
    ("other", "lost machine: serve the copy", f"""cp -r /shared/. .; systemctl disable --now motherlode-follow
motherlode copy --from /var/lib/motherlode-copy --to /var/lib/motherlode; {KEYS}; cp motherlode.toml /etc/motherlode/
{INSTALL_CERTIFICATE}; install -m 0644 deploy/systemd/motherlode.service /etc/systemd/system/; {ONCE}; {PLAY_AGAIN}"""),
    ("other", "lost folder: restore the archive", f"""systemctl stop motherlode; rm -r /var/lib/private/motherlode/*
motherlode restore --from /shared/archive --to /var/lib/motherlode --key $(motherlode key show separate/proofs.key)
{KEYS}; {ONCE}; {PLAY_AGAIN}"""),
]


class Machine:
    def __init__(self, work, name, binaries):
        root = work / name
        run("cp", "--archive", work / "base", root)
        for program, file in binaries.items():
            shutil.copy(file, root / "root" / program)
        shutil.copytree(HERE.parent, root / "root/deploy", symlinks=True)
        (root / "etc/hosts").write_text("127.0.0.1 localhost motherlode\n")
        command = ["systemd-nspawn", f"--directory={root}", f"--machine={name}", "--boot", "--register=no", "--keep-unit"]
        command += [f"--network-namespace-path=/run/netns/{NETWORK}", f"--bind={work / 'shared'}:/shared"]
        self.outer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        until = time.monotonic() + BOOT_SECONDS_MAX
        while not self.is_up():
            assert time.monotonic() < until and self.outer.poll() is None, f"{name} does not boot"
            time.sleep(0.1)

    def is_up(self):
        children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text().split()
        self.leader = children[0] if children else None
        return children and "running" in self("systemctl is-system-running || true").stdout

    def __call__(self, script):
        inside = ["nsenter", f"--target={self.leader}", *"--mount --uts --ipc --pid --net --root --wd".split()]
        clean = ["env", "-i", f"PATH={PATH}", "HOME=/root", "bash", "-c", f"cd /root; set -e; {script}"]
        return subprocess.run([*inside, *clean], capture_output=True, text=True)

    def kill(self):
        if self.outer.poll() is None:
            os.kill(int(self.leader), 9)
            self.outer.wait()


def main():
    parser = argparse.ArgumentParser(description="Runs an operator's day on two machines in containers.")
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--newer", type=Path, required=True)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this boots containers: run it as root")
    work, machines = Path(tempfile.mkdtemp()), {}
    run("ip", "netns", "add", NETWORK)
    try:
        run("ip", "-n", NETWORK, "link", "set", "lo", "up")
        (work / "shared").mkdir()
        run("debootstrap", "--variant=minbase", f"--include={PACKAGES},openssl", "bookworm", work / "base")
        for name in ("service", "other"):
            machines[name] = Machine(work, name, {"motherlode": arguments.binary, "newer": arguments.newer})
        for name, title, script in STEPS:
            if title and title.startswith("lost machine"):
                machines["service"].kill()
            begun = time.monotonic()
            ran = machines[name](script)
            assert ran.returncode == 0, f"{title}: {ran.stdout}{ran.stderr}"
            if title:
                print(f"{title:40} {time.monotonic() - begun:5.1f} s", flush=True)
    finally:
        for machine in machines.values():
            machine.kill()
        run("ip", "netns", "delete", NETWORK)
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
