import os
import shlex
import shutil
import subprocess

import pytest
from conftest import BINARY, DEPLOY

UNIT = DEPLOY / "systemd/motherlode.service"
# Maximum exposure level of `systemd-analyze security` times ten, from 0 (fully confined) to 100. The level of a unit without
# hardening is 96.
EXPOSURE_MAX = 15
NO_SYSTEMD = "systemd-analyze is missing: the unit is not verified"
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason=NO_SYSTEMD)


def settings(name):
    return [line.removeprefix(f"{name}=") for line in UNIT.read_text().splitlines() if line.startswith(f"{name}=")]


def commands():
    for line in settings("ExecStartPre") + settings("ExecStart"):
        program, *arguments = shlex.split(line)
        if program == "/usr/local/bin/motherlode":
            yield arguments


def test_the_program_takes_its_commands(takes):
    for arguments in commands():
        takes(arguments)


def test_a_start_checks_the_configuration_that_it_serves():
    check, serve = commands()
    assert (check[0], serve[0]) == ("config", "serve") and check[1:] == serve[1:]
    assert settings("Type") == ["notify"] and "AF_UNIX" in settings("RestrictAddressFamilies")[0].split()
    assert settings("TimeoutStartSec") == ["infinity"], "the start must have no timeout, since a replay may take long"


def test_files_that_root_restored_belong_to_the_service_at_the_next_start(tmp_path):
    (line,) = [line for line in settings("ExecStartPre") if line.startswith("+")]
    folder, elsewhere = tmp_path / "motherlode", tmp_path / "elsewhere"
    (folder / "log/0").mkdir(parents=True)
    (folder / "log/0/lock").touch()
    elsewhere.touch()
    (folder / "link").symlink_to(elsewhere)
    if os.getuid() != 0:
        pytest.skip("not root: the change of owner is not tested")
    os.chown(folder, 4711, 4711)
    subprocess.run(shlex.split(line.removeprefix("+").replace("%S", str(tmp_path))), check=True, timeout=60)
    owners = {path: path.lstat().st_uid for path in (folder / "log", folder / "log/0/lock", folder / "link", elsewhere)}
    assert owners.pop(elsewhere) == os.getuid()
    assert set(owners.values()) == {4711}, owners


@needs_systemd
def test_systemd_understands_every_line(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("=/usr/local/bin/motherlode", f"={BINARY}"))
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
