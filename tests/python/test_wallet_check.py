import subprocess

import pytest
from conftest import BINARY
from test_seamless import KEY, database, postgres, wallet  # noqa: F401

PLAYERS = """
operator = "acme"
player = "alice"
other_player = "bob"
session = "a session"
currencies = { JPY = "yuki", KWD = "omar" }
"""


@pytest.mark.parametrize("face", [[], ["--json"]], ids=["grpc", "json"])
def test_pl_39_the_reference_wallet_passes_the_conformance_kit(wallet, tmp_path, face):  # noqa: F811
    kept = wallet("--give", "alice:EUR:1234", "--give", "bob:EUR:5", *face)
    (tmp_path / "players.toml").write_text(PLAYERS)
    secret = ["--signing-key-file", tmp_path / "wallet.key"] if face else ["--token-file", tmp_path / "wallet.token"]
    command = [BINARY, "wallet", "check", "--url", f"http://{kept.address}", "--players", tmp_path / "players.toml", *secret]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert " 0 failed" in checked.stdout and "contract: " in checked.stdout
    skipped = [line.split(":")[0].split()[1] for line in checked.stdout.splitlines() if ": skipped" in line]
    unsettable = ["blocked_player_refused", "expired_session_refused", "limit_refused", "after_session_end"]
    later = ["credit_after_session_end", "blocked_player_still_paid", "wallet_restart_keeps_ids"]
    assert skipped == unsettable + later + ([] if face else ["stale_timestamp_401", "replayed_nonce_401"])


def test_pl_39_a_wallet_that_is_not_there_fails_and_unusable_input_is_named(tmp_path):
    players = tmp_path / "players.toml"
    players.write_text(PLAYERS)

    def checked(*more, file=players):
        command = [BINARY, "wallet", "check", "--url", "http://127.0.0.1:1", "--players", file, *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    failed = checked("--case", "applied_once")
    assert failed.returncode == 1 and "applied_once: FAILED" in failed.stdout
    assert checked("--case", "none").returncode == 2
    assert checked("--players", tmp_path / "absent").returncode == 2
    players.write_text("operator = 7")
    assert checked().returncode == 2
