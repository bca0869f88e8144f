import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SHELL = ["bash", "dirname", "env"]


@pytest.fixture
def machine(tmp_path):

    def ran(script, *tools):
        tools = [*SHELL, *tools]
        folder = tmp_path / "-".join(tools)
        folder.mkdir()
        for tool in tools:
            found = sys._base_executable if tool == "python3" else shutil.which(tool)
            (folder / tool).symlink_to(Path(found).resolve())
        command = [ROOT / script, *([] if script == ".ci/run" else ["python"])]
        return subprocess.run(command, env={"PATH": str(folder)}, capture_output=True, text=True, timeout=60)

    return ran


@pytest.mark.parametrize("script", ["tests/run", ".ci/run"])
def test_b_all_that_is_missing_is_named_at_once_with_what_to_install(machine, script):
    ran = machine(script)
    assert ran.returncode == 2 and ran.stdout == ""
    for missing, install in [
        ("cargo", "rust-toolchain.toml"),
        ("a C compiler (cc)", "gcc and libc6-dev"),
        ("python3", "python3"),
        ("Python's venv module", "python3-venv"),
        ("openssl", "openssl"),
    ]:
        assert any(missing in line and f"install {install}" in line or missing in line and install in line
                   for line in ran.stderr.splitlines()), (missing, ran.stderr)


def test_b_one_that_is_missing_is_named_and_nothing_else(machine):
    ran = machine("tests/run", "cargo", "cc", "python3")
    assert ran.returncode == 2
    named = [line.split(" - ")[0].strip() for line in ran.stderr.splitlines() if " - " in line]
    assert named == ["openssl"], ran.stderr


def test_b_the_readme_names_what_the_scripts_look_for():
    readme = (ROOT / "README.md").read_text()
    line = next(line for line in readme.splitlines() if line.startswith("# apt-get install "))
    assert {"git", "gcc", "libc6-dev", "python3-venv", "openssl"} <= set(line.split())
    assert os.access(ROOT / "tests/fresh_machine.py", os.X_OK)
