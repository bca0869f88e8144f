#!/usr/bin/env python3
"""Boots systemd with the service's unit in a container. Checks the start, readiness, restored files, a reload,
and a broken configuration.

    deploy/systemd/check.py --binary FILE

Runs as root on Debian with debootstrap, systemd-nspawn, openssl and a network.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = "systemd,systemd-sysv,dbus"
CERTIFICATE = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=motherlode -addext subjectAltName=DNS:motherlode"
BOOT_SECONDS_MAX = 180
SCRIPT = r"""#!/bin/bash
exec > /result 2>&1
systemctl start motherlode; echo "start $?"
systemctl show motherlode -p SubState -p StatusText
lock=/var/lib/private/motherlode/log/0/lock
systemctl stop motherlode; echo "stop $?"
chown -R root:root /var/lib/private/motherlode/log
systemctl start motherlode; echo "restored $?"
sed -i 's/^weight = 1 /weight = 2 /' /etc/motherlode/motherlode.toml
systemctl reload motherlode; echo "reload $?"
until journalctl -u motherlode --no-pager | grep -q 'changed configuration was applied.*operators'; do sleep 0.1; done
[[ $(stat -c %u $lock) == $(stat -c %u /var/lib/private/motherlode) ]]; echo "owner $?"
sed -i 's/^\[tls\]/[tls]\nnonsense = 1/' /etc/motherlode/motherlode.toml
systemctl reload motherlode 2>/dev/null; echo "broken reload $?"
systemctl is-active motherlode
systemctl restart motherlode 2>/dev/null; echo "broken $?"
journalctl -u motherlode --no-pager | grep -c 'unknown field `nonsense`'
systemctl poweroff
"""
UNIT = "[Service]\nType=oneshot\nExecStart=/check.sh\n[Install]\nWantedBy=multi-user.target\n"


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def prepare(root, binary):
    run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", root)
    shutil.copy(binary, root / "usr/local/bin/motherlode")
    (root / "usr/local/bin/motherlode").chmod(0o755)
    units, etc = root / "etc/systemd/system", root / "etc/motherlode"
    shutil.copy(HERE / "motherlode.service", units)
    etc.mkdir()
    shutil.copy(HERE.parent / "motherlode.toml", etc)
    run("openssl", *CERTIFICATE.split(), "-keyout", etc / "tls.key", "-out", etc / "tls.crt")
    (root / "check.sh").write_text(SCRIPT)
    (root / "check.sh").chmod(0o755)
    (units / "check.service").write_text(UNIT)
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "check.service").symlink_to("../check.service")


def main():
    parser = argparse.ArgumentParser(description="Boots systemd in a container with the unit.")
    parser.add_argument("--binary", type=Path, required=True)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("this boots a container: run it as root")
    work = Path(tempfile.mkdtemp())
    try:
        prepare(work / "root", arguments.binary)
        boot = ["systemd-nspawn", f"--directory={work / 'root'}", "--boot", "--private-network"]
        boot += ["--register=no", "--keep-unit"]
        subprocess.run(boot, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=BOOT_SECONDS_MAX)
        result = (work / "root/result").read_text()
        print(result, end="")
        expected = ["start 0", "SubState=running", "StatusText=serving", "stop 0", "restored 0", "owner 0"]
        expected += ["reload 0", "broken reload 1", "active", "broken 1"]
        lines = result.splitlines()
        missing = [line for line in expected if line not in lines]
        assert not missing and int(lines[-1]) > 0, missing
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
