"""The reference wallet, as its README says: bets and wins by way of an operator's own SQLite file, while much goes wrong."""

import re
import sqlite3
import subprocess
import sys
import time

import grpc
import pytest
from conftest import BINARY, ROOT
from client import account, bet, choice_for
from protected import Protected

from motherlode.ledger.v1 import ledger_pb2

WALLET = ROOT / "deploy/examples/wallet"
FUNDS = 100_000
FAULTS = ["--lose-answer", "6", "--lose-call", "8", "--double", "4", "--fail", "9", "--lie", "5", "--seed", "7"]


@pytest.fixture
def wallet(tmp_path):
    """Starts reference wallets on one file; whatever still runs at the end is killed."""
    started = []

    def start(*more, listen="127.0.0.1:0"):
        (tmp_path / "wallet.token").write_text("the wallet's own\n")
        database = ["--database", tmp_path / "wallet.sqlite", "--token-file", tmp_path / "wallet.token"]
        command = [sys.executable, WALLET, "--listen", listen, *database, *more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        process.address = process.stdout.readline().removeprefix("wallet listens on ").strip()
        assert process.address
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def patient(call):
    """A call is repeated as it was until its outcome is known, as an operator's game server does."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            known = error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED)
            if known or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def config(protected, address, tmp_path):
    seamless = f"wallet = 'seamless'\nseamless = {{ url = 'http://{address}', token_file = '{tmp_path}/wallet.token' }}\n"
    return protected.config.replace('id = "acme"\n', f'id = "acme"\n{seamless}', 1)


def test_pl_31_rounds_on_the_reference_wallet_come_out_to_the_cent_whatever_is_lost(start, wallet, tmp_path):
    protected = Protected(tmp_path, {"acme/gateway": ["play", "wallet"]})
    kept = wallet("--give", f"alice:EUR:{FUNDS}", *FAULTS)
    service = start(config=config(protected, kept.address, tmp_path))
    client = protected.client(service.address, "acme/gateway")
    alice = account("alice")
    client.ledger.OpenAccount(ledger_pb2.OpenAccountRequest(request_id="open", account=alice))
    staked = won = 0
    for number in range(30):
        request = bet(f"r{number}", alice, coin_value="0.10")
        steps = [patient(lambda: client.spin(request))]
        while choice := choice_for(steps[-1].outcome.awaiting):
            named = f"r{number}.{len(steps)}"
            steps.append(patient(lambda: client.choose(named, steps[0].round_id, choice)))
        staked += steps[0].bet.amount_minor
        won += steps[-1].win.amount_minor
        if number == 15:
            # The wallet dies, and comes back on the same file.
            kept.kill()
            kept.wait()
            kept = wallet(*FAULTS, listen=kept.address)
    expected = FUNDS - staked + won
    database = sqlite3.connect(tmp_path / "wallet.sqlite")
    balance = "SELECT minor FROM balances WHERE player = 'alice'"
    deadline = time.monotonic() + 60
    while database.execute(balance).fetchone()[0] != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    assert database.execute(balance).fetchone()[0] == expected
    moved = "SELECT sum(minor) FROM transactions WHERE ended = 'applied'"
    assert database.execute(moved).fetchone()[0] == won - staked
    database.close()
    client.close()
    kept.terminate()
    said = kept.stdout.read()
    assert sum(map(int, re.findall(r"\d+", said))) > 0, f"something went wrong on purpose: {said}"
    assert service.terminate() == 0
    assert subprocess.run([BINARY, "audit", service.place], capture_output=True).returncode == 0
