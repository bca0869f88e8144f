#!/usr/bin/env python3
"""Installs, uses and removes the Debian package in a plain Debian root.

    deploy/package/check.py PACKAGE

Runs as root on Debian with debootstrap and a network.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = r"""
set -ex
dpkg --install /motherlode.deb
motherlode --version
man --pager=cat motherlode-serve | grep -q 'motherlode serve'
bash -c 'source /usr/share/bash-completion/completions/motherlode && complete -p motherlode'
data=/var/lib/motherlode
motherlode serve --listen 127.0.0.1:50051 --data $data &
timeout 60 sh -c 'until motherlode health; do sleep 0.2; done'
kill $!
wait $!
echo '# changed' >>/etc/motherlode/motherlode.toml
dpkg --install /motherlode.deb
grep -q '# changed' /etc/motherlode/motherlode.toml
dpkg --remove motherlode
test ! -e /usr/bin/motherlode -a -e /etc/motherlode/motherlode.toml -a -e $data/log/0 -a -e $data/proofs.key
dpkg --purge motherlode
test ! -e /etc/motherlode/motherlode.toml -a -e $data/log/0 -a -e $data/proofs.key
"""


def main():
    if os.geteuid() != 0 or len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    try:
        plain = ["debootstrap", "--variant=minbase", "--include=man-db", "bookworm", root]
        subprocess.run(plain, check=True, stdout=subprocess.DEVNULL)
        shutil.copy(sys.argv[1], root / "motherlode.deb")
        mounts = f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && ip link set lo up"
        inside = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c"]
        chroot = f'{mounts} && PATH=/usr/sbin:/usr/bin:/sbin:/bin exec chroot {root} sh -c "$0"'
        subprocess.run([*inside, chroot, SCRIPT], check=True)
        print("the package can be installed, used and removed, and its removal keeps the data")
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
