import re
import subprocess
import sys

from conftest import BINARY, ROOT
from protected import Protected

from motherlode.spin.v1 import spin_pb2

AGGREGATOR = ROOT / "deploy/examples/aggregator"
GAMES = ["bewitched", "dwarf-mine", "mystery-elves", "neptune", "witch-feature"]


def test_pl_11_the_example_aggregator_agrees_with_the_ledger_to_the_cent(start, tmp_path):
    protected = Protected(tmp_path, {"demo/gateway": ["play", "wallet"]})
    (tmp_path / "token").write_text(protected.tokens["demo/gateway"] + "\n")
    service = start(config=protected.config)
    client = protected.client(service.address, "demo/gateway")
    client.spins.GetGame(spin_pb2.GetGameRequest(game="neptune"))
    client.close()
    command = [sys.executable, AGGREGATOR, "--target", service.address, "--rounds", "50", "--lose", "60", "--answer-s", "1"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr + "".join(service.log)
    lines = ran.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == GAMES
    assert "the books agree with the ledger to the cent" in lines
    lost = next(line for line in lines if line.startswith("answers asked for again: "))
    assert sum(map(int, re.findall(r"\d+", lost))) > 0, lost
    assert service.terminate() == 0
    assert subprocess.run([BINARY, "audit", *service.log_arguments], capture_output=True).returncode == 0


def test_pl_27_the_example_says_why_it_is_refused(start, tmp_path):
    protected = Protected(tmp_path, {"demo/gateway": ["play", "wallet"]})
    (tmp_path / "token").write_text("guessed")
    service = start(config=protected.config)
    command = [sys.executable, AGGREGATOR, "--target", service.address]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1 and "refused: TOKEN_UNKNOWN" in ran.stderr, ran.stderr
