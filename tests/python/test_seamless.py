import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import psycopg
import pytest
from conftest import BINARY, ROOT
from client import account, bet, choice_for
from protected import Protected

from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2

WALLET = ROOT / "deploy/examples/wallet"
FUNDS = 100_000
KEY = "a key of the wallet that is long enough"
FAULTS = ["--lose-answer", "6", "--lose-call", "8", "--double", "4", "--fail", "9", "--lie", "5", "--seed", "7"]


def postgres_program(name):
    found = [shutil.which(name), *sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))]
    return next(filter(None, found), None)


@pytest.fixture(scope="session")
def postgres():
    if not (postgres_program("initdb") and postgres_program("postgres")):
        pytest.skip("PostgreSQL is missing (Debian: apt-get install postgresql): the wallet's books are tested only in SQLite")
    # PostgreSQL refuses to run as root.
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="motherlode-postgres-") as folder:
        if user:
            shutil.chown(folder, "postgres")
        place, quiet = {"cwd": folder, **user}, {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([postgres_program("initdb"), "-D", f"{folder}/data", "-A", "trust", "-U", "wallet"], check=True, **place, **quiet)
        command = [postgres_program("postgres"), "-D", f"{folder}/data", "-k", folder, "-c", "listen_addresses="]
        server = subprocess.Popen(command, **place, **quiet)
        url = f"postgresql:///postgres?host={folder}&user=wallet"
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(url).close()
                break
            except psycopg.OperationalError:
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
        yield url
        server.send_signal(signal.SIGINT)
        server.wait()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "wallet.sqlite")
    url = request.getfixturevalue("postgres")
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS balances, transactions, rounds, nonces")
    return url


def read(database, query):
    if database.startswith("postgresql:"):
        with psycopg.connect(database) as connection:
            return connection.execute(query).fetchall()
    connection = sqlite3.connect(database)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.fixture
def wallet(tmp_path, database):
    started = []

    def start(*more, listen="127.0.0.1:0"):
        (tmp_path / "wallet.token").write_text("the wallet's own\n")
        (tmp_path / "wallet.key").write_text(f"{KEY}\n")
        secret = ["--signing-key-file", tmp_path / "wallet.key"] if "--json" in more else ["--token-file", tmp_path / "wallet.token"]
        command = [sys.executable, WALLET, "--listen", listen, "--database", database, *secret, *more]
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
    deadline = time.monotonic() + 60
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            known = error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED)
            if known or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def played(client, account, number):
    request = bet(f"r{number}", account, coin_value="0.10")
    steps = [patient(lambda: client.spin(request))]
    while choice := choice_for(steps[-1].outcome.awaiting):
        named = f"r{number}.{len(steps)}"
        steps.append(patient(lambda: client.choose(named, steps[0].round_id, choice)))
    jackpot = 0
    if steps[0].HasField("jackpot"):
        paid = lambda: patient(lambda: client.spin(request)).jackpot.amount
        deadline = time.monotonic() + 300
        while not paid().amount_minor and time.monotonic() < deadline:
            time.sleep(0.05)
        jackpot = paid().amount_minor
    return steps[-1].win.amount_minor + jackpot - steps[0].bet.amount_minor


def reconciled(database, net):
    expected = {player: FUNDS + of for player, of in net.items()}
    balances = lambda: dict(read(database, "SELECT player, minor FROM balances"))
    deadline = time.monotonic() + 300
    while balances() != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    assert balances() == expected
    moved = "SELECT player, sum(minor) FROM transactions WHERE ended = 'applied' GROUP BY player"
    assert dict(read(database, moved)) == net


def rounds_reconciled(database, client, player):
    """Checks that wallet and service list the same rounds, and that the wallet opened and closed each of them once
    (PL-39)."""
    of, page_token, rounds = account(player), "", {}
    while True:
        request = ledger_pb2.ListRoundsRequest(account=of, page_size=100, page_token=page_token)
        page = client.ledger.ListRounds(request)
        rounds |= {round.round_id: round for round in page.rounds}
        page_token = page.next_page_token
        if not page_token:
            break
    assert all(round.state == round_pb2.ROUND_STATE_SETTLED for round in rounds.values())
    logged = sorted(
        (
            round.game,
            round.bet.amount_minor,
            round.win.amount_minor,
            sum(jackpot.amount.amount_minor for jackpot in round.jackpots),
        )
        for round in rounds.values()
    )
    columns = "game, bet, won, jackpots, refunded, voided, ended, closings, opened, closed"
    deadline = time.monotonic() + 300
    while True:
        kept = [tuple(row) for row in read(database, f"SELECT {columns} FROM rounds WHERE player = '{player}'")]
        if all(closed for *_, closed in kept) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert sorted(row[:4] for row in kept) == logged
    for *_, refunded, voided, ended, closings, opened, closed in kept:
        assert (refunded, voided, ended, closings) == (0, "", "PLAYED", 1), closed
        assert opened.startswith(f"debit/acme/{player}/") and closed.startswith(("credit/", "close/"))
    opened = {row[8] for row in kept}
    debits = read(database, f"SELECT id, ended FROM transactions WHERE player = '{player}' AND id LIKE 'debit/%'")
    assert opened == {name for name, ended in debits if ended == "applied"}


def config(protected, address, tmp_path, face):
    secret = f"protocol = 'json', signing_key_file = '{tmp_path}/wallet.key'" if face else f"token_file = '{tmp_path}/wallet.token'"
    seamless = f"wallet = 'seamless'\nseamless = {{ url = 'http://{address}', {secret} }}\n"
    return protected.config.replace('id = "acme"\n', f'id = "acme"\n{seamless}', 1)


@pytest.mark.parametrize("face", [[], ["--json"]], ids=["grpc", "json"])
def test_pl_31_rounds_on_the_reference_wallet_come_out_to_the_cent_whatever_is_lost(start, wallet, database, tmp_path, face):
    protected = Protected(tmp_path, {"acme/gateway": ["play", "wallet", "audit"]})
    kept = wallet("--give", f"alice:EUR:{FUNDS}", *FAULTS, *face)
    service = start(config=config(protected, kept.address, tmp_path, face))
    client = protected.client(service.address, "acme/gateway")
    alice = account("alice")
    client.ledger.OpenAccount(ledger_pb2.OpenAccountRequest(request_id="open", account=alice))
    net = 0
    rounds = int(os.environ.get("MOTHERLODE_WALLET_ROUNDS", "30"))
    for number in range(rounds):
        net += played(client, alice, number)
        if number == rounds // 2:
            kept.kill()
            kept.wait()
            kept = wallet(*FAULTS, *face, listen=kept.address)
    reconciled(database, {"alice": net})
    rounds_reconciled(database, client, "alice")
    client.close()
    kept.terminate()
    said = kept.stdout.read()
    assert sum(map(int, re.findall(r"\d+", said))) > 0, f"the injected faults must occur: {said}"
    assert service.terminate() == 0
    assert subprocess.run([BINARY, "audit", *service.log_arguments], capture_output=True).returncode == 0


@pytest.mark.parametrize("face", [[], ["--json"]], ids=["grpc", "json"])
def test_pl_31_pl_32_a_wallet_that_is_killed_under_load_again_and_again_agrees_to_the_cent(start, wallet, database, tmp_path, face):
    players, rounds, kills = [f"p{number}" for number in range(4)], 10, 4
    protected = Protected(tmp_path, {"acme/gateway": ["play", "wallet", "audit"]})
    given = [word for player in players for word in ("--give", f"{player}:EUR:{FUNDS}")]
    kept = wallet(*given, *face)
    service = start(config=config(protected, kept.address, tmp_path, face))
    over = threading.Semaphore(0)

    def play(player):
        client, of = protected.client(service.address, "acme/gateway"), account(player)
        client.ledger.OpenAccount(ledger_pb2.OpenAccountRequest(request_id="open", account=of))
        net = 0
        for number in range(rounds):
            net += played(client, of, number)
            over.release()
        client.close()
        return net

    with ThreadPoolExecutor(len(players)) as pool:
        playing = {player: pool.submit(play, player) for player in players}
        for _ in range(kills):
            for _ in range(len(players) * rounds // (kills + 1)):
                assert over.acquire(timeout=60)
            kept.kill()
            kept.wait()
            kept = wallet(*face, listen=kept.address)
        net = {player: of.result() for player, of in playing.items()}
    reconciled(database, net)
    client = protected.client(service.address, "acme/gateway")
    for player in players:
        rounds_reconciled(database, client, player)
    client.close()
    assert service.terminate() == 0
    assert subprocess.run([BINARY, "audit", *service.log_arguments], capture_output=True).returncode == 0


def sent(address, path, body, *, key=KEY, moment=None, nonce="0" * 32, signed=None):
    moment = str(moment if moment is not None else time.time_ns() // 1_000_000)
    digest = hashlib.sha256((signed or body).encode()).hexdigest()
    text = f"motherlode/wallet/v1\nPOST\n{path}\n{moment}\n{nonce}\n{digest}\n"
    headers = {
        "Motherlode-Timestamp": moment,
        "Motherlode-Nonce": nonce,
        "Motherlode-Signature": hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest(),
    }
    request = urllib.request.Request(f"http://{address}{path}", data=body.encode(), headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_pl_31_a_request_that_is_old_changed_repeated_or_anothers_moves_no_money(wallet):
    kept = wallet("--give", "alice:EUR:1000", "--json")
    path = "/v1/WalletService/Debit"
    of = {"operatorId": "acme", "playerId": "alice", "currencyCode": "EUR"}
    debit = {"transactionId": "debit/acme/alice/r", "account": of, "amount": {"amountMinor": "100", "currencyCode": "EUR"}}
    body, now = json.dumps(debit), time.time_ns() // 1_000_000
    dearer = body.replace('"100"', '"999"')
    for wrong in [
        {"key": KEY + "x"},
        {"moment": now - 60_000},
        {"moment": now + 60_000},
        {"moment": "soon"},
        {"signed": dearer},
    ]:
        assert sent(kept.address, path, body, **wrong)[0] == 401, wrong
    assert sent(kept.address, path, "{", nonce="1" * 32)[0] == 400
    assert sent(kept.address, path, "x" * 20_000, nonce="2" * 32)[0] == 400
    assert sent(kept.address, "/v1/WalletService/Gift", body, nonce="3" * 32)[0] == 400
    nonce = "4" * 32
    status, answer = sent(kept.address, path, body, nonce=nonce)
    assert (status, answer["result"]) == (200, {"outcome": "OUTCOME_DONE", "balanceMinor": "900"})
    assert sent(kept.address, path, body, nonce=nonce)[0] == 401, "the same request again"
    status, answer = sent(kept.address, path, body, nonce="5" * 32)
    assert (status, answer["result"]) == (200, {"outcome": "OUTCOME_DONE_BEFORE", "balanceMinor": "900"})
    kept.kill()
    kept.wait()
    kept = wallet("--json", listen=kept.address)
    assert sent(kept.address, path, body, nonce=nonce)[0] == 401
    balance = json.dumps({"account": of})
    assert sent(kept.address, "/v1/WalletService/GetBalance", balance, nonce="6" * 32)[1] == {"balanceMinor": "900"}


def test_uf_02_a_wallet_in_json_has_places_for_so_many_connections(wallet):
    host, port = wallet("--json", "--connections-max", "2").address.rsplit(":", 1)
    asked = b"POST /v1/WalletService/Debit HTTP/1.1\r\nContent-Length: 0\r\n\r\n"

    def connect():
        connection = socket.create_connection((host, int(port)), timeout=60)
        connection.sendall(asked)
        return connection

    def answer(connection):
        try:
            return connection.recv(12)
        except ConnectionError:
            return b""

    first, second = connect(), connect()
    assert answer(first) == answer(second) == b"HTTP/1.1 401"
    third = connect()
    assert answer(third) == b""
    first.close()
    deadline, again = time.monotonic() + 60, b""
    while not again and time.monotonic() < deadline:
        again = answer(connect())
    assert again == b"HTTP/1.1 401"
