import subprocess

import pytest
from conftest import EXAMPLES, STORE


def printed(name, *arguments):
    command = [EXAMPLES / name, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.skipif(bool(STORE), reason="the example audits a log in a folder")
def test_a_first_round_is_played_once_however_often_it_is_asked_for_and_then_audited(start, tmp_path):
    service = start()
    first = printed("play", f"http://{service.address}")
    assert first.startswith("round demo/carol/1 at log position ")
    assert "bet 10, win " in first
    assert printed("play", f"http://{service.address}") == first
    assert service.terminate() == 0
    audited = printed("audit", service.place / "log" / "0")
    assert audited.startswith("verified to position ")
    assert "dwarf-mine: 1 rounds, bets 10, wins " in audited


def test_a_seed_resolves_to_the_same_outcome_every_time():
    first = printed("resolve", "neptune", 7)
    assert first == printed("resolve", "neptune", 7)
    assert first != printed("resolve", "neptune", 8)
