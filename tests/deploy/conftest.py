import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
BINARY = Path(os.environ.get("MOTHERLODE_BIN") or ROOT / "target/debug/motherlode").resolve()


@pytest.fixture
def takes():
    def takes(arguments):
        asked = subprocess.run([BINARY, *arguments, "--help"], capture_output=True, text=True, timeout=60)
        assert asked.returncode == 0, f"{arguments}: {asked.stderr}"

    takes(["serve"])
    refused = subprocess.run([BINARY, "serve", "--no-such-flag", "--help"], capture_output=True, timeout=60)
    assert refused.returncode != 0, "an unknown flag is refused"
    return takes


def missing(*programs):
    lacking = [program for program in programs if not shutil.which(program)]
    return "not root" if os.geteuid() != 0 else f"{', '.join(lacking)} is missing" if lacking else ""


def executed(check, *arguments):
    # The roots may not fit into memory.
    command = [sys.executable, DEPLOY / check, "--binary", BINARY, *arguments]
    ran = subprocess.run(command, env={**os.environ, "TMPDIR": "/var/tmp"}, capture_output=True, text=True)
    print(ran.stdout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
