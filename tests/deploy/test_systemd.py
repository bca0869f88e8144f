"""Needs systemd's tools."""

import shlex
import shutil
import subprocess

import pytest
from conftest import BINARY, DEPLOY

UNIT = DEPLOY / "systemd/motherlode.service"
# Exposure in tenths, from 0 (sealed) to 100; a unit without hardening has 96.
EXPOSURE_MAX = 15
NO_SYSTEMD = "no systemd-analyze: the unit is not verified"
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason=NO_SYSTEMD)


def command():
    lines = [line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart=")]
    assert len(lines) == 1
    program, *arguments = shlex.split(lines[0].removeprefix("ExecStart="))
    assert program == "/usr/local/bin/motherlode"
    return arguments


def test_the_program_takes_its_command(takes):
    takes(command())


@needs_systemd
def test_systemd_understands_every_line(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("ExecStart=/usr/local/bin/motherlode", f"ExecStart={BINARY}"))
    assert verify(unit) == (0, "")
    unit.write_text(unit.read_text().replace("ProtectClock=", "ProtectClocks="))
    assert "ProtectClocks" in verify(unit)[1]


def verify(unit):
    ran = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout + ran.stderr


@needs_systemd
def test_the_unit_is_sealed_off():
    command = ["systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", UNIT]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
