import os
import shlex
import shutil
import subprocess

import pytest
from conftest import BINARY, DEPLOY, executed, missing

UNIT = DEPLOY / "systemd/motherlode.service"
# Maximum exposure level according to `systemd-analyze security`, in tenths: 0 (fully confined) to 100.
EXPOSURE_MAX = 15
NO_SYSTEMD = "systemd-analyze is missing: the unit is not verified"
OTHERS = sorted(UNIT.parent.glob("motherlode-*.service"))
CONFINED = UNIT.parent / "motherlode-.service.d/confined.conf"
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason=NO_SYSTEMD)


def settings(name, unit=UNIT):
    return [line.removeprefix(f"{name}=") for line in unit.read_text().splitlines() if line.startswith(f"{name}=")]


def commands(unit=UNIT):
    for line in settings("ExecStartPre", unit) + settings("ExecStart", unit):
        program, *arguments = shlex.split(line)
        if program == "/usr/local/bin/motherlode":
            yield [word for word in arguments if not word.startswith("$MOTHERLODE_")]


@pytest.mark.parametrize("unit", [UNIT, *OTHERS], ids=lambda unit: unit.stem)
def test_the_program_takes_its_commands(unit, takes):
    taken = list(commands(unit))
    assert taken
    for arguments in taken:
        takes(arguments)


def test_every_timer_has_its_unit():
    timers = {timer.stem for timer in UNIT.parent.glob("*.timer")}
    assert timers == {"motherlode-archive", "motherlode-audit"}
    assert timers < {unit.stem for unit in OTHERS}


@needs_systemd
def test_systemd_understands_the_timers_and_their_units(tmp_path):
    for unit in OTHERS:
        text = unit.read_text().replace("=/usr/local/bin/motherlode", f"={BINARY}")
        confined = CONFINED.read_text()
        (tmp_path / unit.name).write_text(f"{confined}\n{text}")
    for timer in UNIT.parent.glob("*.timer"):
        shutil.copy(timer, tmp_path)
    for unit in sorted(tmp_path.iterdir()):
        assert verify(unit) == (0, ""), unit.name


@needs_systemd
@pytest.mark.parametrize("unit", OTHERS, ids=lambda unit: unit.stem)
def test_the_other_units_are_confined(unit, tmp_path):
    path = tmp_path / unit.name
    path.write_text(f"{CONFINED.read_text()}\n{unit.read_text()}")
    security(path)


def test_a_start_checks_the_configuration_that_it_serves():
    check, serve = commands()
    assert (check[0], serve[0]) == ("config", "serve") and check[1:] == serve[1:]
    assert settings("Type") == ["notify"] and "AF_UNIX" in settings("RestrictAddressFamilies")[0].split()
    assert settings("TimeoutStartSec") == ["infinity"], "the start must have no timeout, since a replay may take long"


def test_files_that_root_restored_belong_to_the_service_at_the_next_start(tmp_path):
    (line,) = [line for line in settings("ExecStartPre") if "%S/motherlode/. %S/" in line]
    folder, elsewhere = tmp_path / "motherlode", tmp_path / "elsewhere"
    (folder / "log/0").mkdir(parents=True)
    (folder / "log/0/lock").touch()
    elsewhere.touch()
    (folder / "link").symlink_to(elsewhere)
    (folder / "etc").mkdir()
    if os.getuid() != 0:
        pytest.skip("not root: the change of owner is not tested")
    os.chown(folder, 4711, 4711)
    subprocess.run(shlex.split(line.removeprefix("+").replace("%S", str(tmp_path)).replace("%t", str(tmp_path))), check=True, timeout=60)
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
    security(UNIT)


def security(unit):
    command = ["systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", unit]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_systemd_starts_reloads_and_restarts_the_unit():
    if reason := missing("debootstrap", "openssl", "systemd-nspawn"):
        pytest.skip(f"{reason}: systemd is not booted")
    executed("systemd/check.py")
