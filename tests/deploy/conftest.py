import os
import subprocess
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
