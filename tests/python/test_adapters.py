import subprocess
import sys
import time
import uuid
from hashlib import sha256

import grpc
import pytest
from client import account, bet, choice_for, read_details
from conftest import BINARY, ROOT, SCRIPTED
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from grpc_status import rpc_status
from operators import Caleta, Pam
from protected import Protected

from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import campaign_pb2
from motherlode.wallet.v1 import wallet_pb2, wallet_pb2_grpc

FUNDS = 100_000
SESSION, POOR = "6c1c9a52-3b6f-4f2a-9d1b-0a4f6f1f2a11", "0f8a1c35-9a55-4f0c-8a61-5f3f0a3e7b22"
SESSIONS = {SESSION: "alice", POOR: "poor"}


def pam(folder):
    (folder / "pam.token").write_text(f"{Pam.TOKEN}\n")
    return Pam(SESSIONS, FUNDS), ["--token-file", folder / "pam.token"]


def caleta(folder):
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    forms = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "caleta.pem").write_bytes(key.private_bytes(*forms))
    return Caleta(SESSIONS, FUNDS, key.public_key()), ["--key-file", folder / "caleta.pem"]


@pytest.fixture(params=[pam, caleta], ids=["pam", "caleta"])
def operator(request, tmp_path):
    api, secret = request.param(tmp_path)
    url, started = api.serve(), []

    def restart(listen="127.0.0.1:0"):
        for process in started:
            process.kill()
            process.wait()
            process.stdout.close()
        more = ["--listen", listen, "--url", url, "--database", tmp_path / "adapter.sqlite", "--late-seconds", "0.5"]
        folder = ROOT / "deploy/adapters" / request.param.__name__
        started[:] = [subprocess.Popen([sys.executable, folder, *more, *secret], stdout=subprocess.PIPE, text=True)]
        api.address = started[0].stdout.readline().removeprefix("wallet listens on ").strip()
        assert api.address

    api.restart = restart
    restart()
    yield api
    started[0].kill()
    started[0].wait()
    started[0].stdout.close()
    api.close()


class Rounds:
    def __init__(self, client):
        self.client, self.played = client, {}
        for player in SESSIONS.values():
            client.ledger.OpenAccount(ledger_pb2.OpenAccountRequest(request_id="open", account=account(player)))

    def spin(self, name, wish, session=SESSION, seconds=60, **more):
        metadata = [("motherlode-force", wish)] if wish else None
        request = bet(name, account(SESSIONS.get(session, "alice")), operator_session=session, **more)
        deadline = time.monotonic() + seconds
        while True:
            try:
                played = self.client.spin(request, metadata=metadata, timeout=seconds)
                self.played[name] = played.round_id
                return played
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > deadline:
                    raise

    def refused(self, name, session):
        with pytest.raises(grpc.RpcError) as raised:
            self.spin(name, "loss", session)
        return read_details(raised.value.code(), rpc_status.from_call(raised.value))

    def finish(self, name, last):
        first = last.round_id
        while choice := choice_for(last.outcome.awaiting):
            last = self.client.choose(f"{name}.{last.step}", first, choice)
        return last

    def void(self, name, played):
        void = ledger_pb2.VoidRoundRequest(request_id=f"void-{name}", round_id=played.round_id, reason="a fault", actor="support")
        self.client.ledger.VoidRound(void)

    def cancel(self, name):
        cancel = ledger_pb2.CancelRequestRequest(account=account("alice"), request_id=name)
        get = ledger_pb2.GetRequestRequest(account=account("alice"), request_id=name)
        outcome = self.client.ledger.CancelRequest(cancel).outcome
        deadline = time.monotonic() + 60
        while outcome.state == ledger_pb2.RequestOutcome.STATE_PENDING and time.monotonic() < deadline:
            time.sleep(0.02)
            outcome = self.client.ledger.GetRequest(get).outcome
        return outcome


def uuid_of(text):
    digits = list(sha256(text.encode()).hexdigest()[:32])
    digits[12], digits[16] = "8", "89ab"[int(digits[16], 16) % 4]
    return str(uuid.UUID("".join(digits)))


def play(rounds, operator):
    rounds.spin("won", "win LINE, over")
    rounds.spin("lost", "loss")
    stake = {"coins_per_line": 10, "coin_value": "0.20"}
    opened = rounds.spin("jackpot", "pick", **stake)
    hit = rounds.client.choose("hit", opened.round_id, choice_for(opened.outcome.awaiting), metadata=[("motherlode-force", "jackpot")])
    rounds.finish("jackpot", hit)
    operator.faults[:] = [("bet", "lost call"), ("bet", "lost answer"), ("win", "lost answer"), ("win", "lost call")]
    rounds.spin("repeated", "win LINE, over")
    grant(rounds.client)
    rounds.spin("free-won", "win LINE, over", campaign_id="spring", stake=None)
    rounds.spin("free-lost", "loss", campaign_id="spring", stake=None)


def grant(client):
    stake = round_pb2.Stake(coin_value="0.01", lines=15, coins_per_line=1)
    grant = campaign_pb2.GrantCampaignRequest(
        request_id="grant", account=account("alice"), campaign_id="spring", game="bewitched", stake=stake, rounds=2
    )
    grant.expire_time.FromSeconds(int(time.time()) + 3600)
    client.spins.GrantCampaign(grant)


def void(rounds):
    rounds.void("void-lost", rounds.spin("void-lost", "loss"))
    rounds.void("void-open", rounds.spin("void-open", "pick"))
    above = rounds.spin("void-above", "win LINE, over", lines=1)
    rounds.void("void-above", above)
    assert above.win.amount_minor > above.bet.amount_minor
    for number in range(100):
        below = rounds.spin(f"void-below-{number}", "win LINE, over")
        if below.win.amount_minor < below.bet.amount_minor:
            rounds.void(f"void-below-{number}", below)
            return
    pytest.fail("no round won less than its bet")


def roll_back(rounds, operator):
    for name, fault in [("taken", "lost answer"), ("never", "lost call")]:
        operator.faults[:] = [("bet", fault)] * 1_000
        with pytest.raises(grpc.RpcError):
            rounds.spin(name, "loss", seconds=0.3)
        outcome = rounds.cancel(name)
        operator.faults.clear()
        assert (outcome.state, outcome.reason) == (ledger_pb2.RequestOutcome.STATE_CANCELLED, "DEBIT_ROLLED_BACK")


def refuse(rounds):
    poor = rounds.refused("poor", POOR)
    assert (poor.code, poor.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "INSUFFICIENT_FUNDS")
    for session in ["", "another session of nobody, 36 letters"]:
        assert rounds.refused(f"session-{len(session)}", session).metadata["wallet_reason_code"] == "SESSION_INVALID"


def reconcile(rounds, operator):
    expected = {}
    for name, round_id in rounds.played.items():
        round = rounds.client.round(round_id)
        assert round.state in (round_pb2.ROUND_STATE_SETTLED, round_pb2.ROUND_STATE_VOIDED)
        is_voided = round.state == round_pb2.ROUND_STATE_VOIDED
        is_free = name.startswith("free-")
        jackpots = sum(won.amount.amount_minor for won in round.jackpots)
        net = 0 if is_voided else round.win.amount_minor - (0 if is_free else round.bet.amount_minor)
        opening = f"{'open' if is_free else 'debit'}/acme/alice/{name}"
        ends = 2 if is_voided and name != "void-open" else 1
        expected[uuid_of(f"round/{opening}")] = (round.game, net, jackpots, is_free, ends)
    seen = lambda: {
        name: (of.game, of.net, of.jackpots, of.is_free, len(of.closings)) for name, of in operator.rounds.items() if of.closings
    }
    deadline = time.monotonic() + 60
    while seen() != expected and time.monotonic() < deadline:
        time.sleep(0.02)
    assert seen() == expected
    others = {name: of for name, of in operator.rounds.items() if name not in expected}
    assert [(of.bet, of.is_cancelled, of.net) for of in others.values()] == [(uuid_of("debit/acme/alice/taken"), True, 0)]
    moved = sum(net + jackpots for _, net, jackpots, *_ in expected.values())
    assert operator.balances == {"alice": FUNDS + moved, "poor": 0}


def test_pl_39_rounds_on_a_published_operator_api_come_out_to_the_cent(operator, start, tmp_path):
    operator.balances["poor"] = 0
    protected = Protected(tmp_path, {"acme/all": ["play", "wallet", "support", "audit"]})
    seamless = f"wallet = 'seamless'\nseamless = {{ url = 'http://{operator.address}', open_free_rounds = true }}\n"
    service = start(protected.config.replace('id = "acme"\n', f'id = "acme"\n{seamless}', 1), SCRIPTED)
    client = protected.client(service.address, "acme/all")
    rounds = Rounds(client)
    play(rounds, operator)
    void(rounds)
    roll_back(rounds, operator)
    refuse(rounds)
    reconcile(rounds, operator)
    assert operator.violations == [] and operator.faults == []
    bets = [name for kind, name in operator.calls if kind == "bet"]
    assert bets.count(uuid_of("debit/acme/alice/repeated")) == 3, "a lost call and a lost answer"
    client.close()
    assert service.terminate() == 0
    assert subprocess.run([BINARY, "audit", *service.log_arguments], capture_output=True).returncode == 0

    operator.restart()
    with grpc.insecure_channel(operator.address) as channel:
        late = wallet_pb2.DebitRequest(transaction_id="debit/acme/alice/never", account=account("alice"))
        result = wallet_pb2_grpc.WalletServiceStub(channel).Debit(late).result
    assert (result.outcome, result.reason_code) == (wallet_pb2.OUTCOME_REFUSED, wallet_pb2.REASON_CODE_ROLLED_BACK)
