import queue
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from motherlode.jackpot.v1 import jackpot_pb2_grpc
from motherlode.ledger.v1 import ledger_pb2, ledger_pb2_grpc
from motherlode.report.v1 import report_pb2_grpc
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2, spin_pb2_grpc

OPERATOR = "acme"
DEPOSIT = 1_000_000


@dataclass
class Refused:
    code: grpc.StatusCode | None = None
    reason: str = ""
    metadata: dict = field(default_factory=dict)
    fields: list = field(default_factory=list)
    retry_delay_ms: int | None = None
    message: str = ""


def read_details(code, status):
    refused = Refused(code=code, message=status.message)
    for packed in status.details:
        info, request, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if packed.Unpack(info):
            assert info.domain == "motherlode"
            refused.reason, refused.metadata = info.reason, dict(info.metadata)
        elif packed.Unpack(request):
            refused.fields = [violation.field for violation in request.field_violations]
            assert all(violation.description for violation in request.field_violations)
        elif packed.Unpack(retry):
            refused.retry_delay_ms = retry.retry_delay.ToMilliseconds()
    return refused


@contextmanager
def refused(code, reason):
    said = Refused()
    with pytest.raises(grpc.RpcError) as raised:
        yield said
    error = raised.value
    status = rpc_status.from_call(error)
    assert status is not None, f"{error.code()} without details: {error.details()}"
    said.__dict__.update(read_details(error.code(), status).__dict__)
    assert (said.code, said.reason) == (code, reason), said
    assert said.message


def account(player, currency="EUR"):
    return round_pb2.Account(operator_id=OPERATOR, player_id=player, currency_code=currency)


def bet(request_id, account, coin_value="0.01", lines=15, coins_per_line=1, **more):
    stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins_per_line)
    request = {"game": "bewitched", "witch": round_pb2.WITCH_WHITE, "stake": stake, **more}
    return spin_pb2.SpinRequest(request_id=request_id, account=account, **request)


def choice_for(awaiting, guess=None):
    if awaiting == round_pb2.AWAITING_PICK:
        return round_pb2.Choice(pick=round_pb2.Choice.Pick(numbers=[6, 2, 4]))
    if awaiting == round_pb2.AWAITING_FREE_SPINS:
        return round_pb2.Choice(start_free_spins=round_pb2.Choice.StartFreeSpins())
    if awaiting == round_pb2.AWAITING_DOUBLE:
        if guess is not None:
            return round_pb2.Choice(double=guess)
        return round_pb2.Choice(collect=round_pb2.Choice.Collect())
    assert awaiting == round_pb2.AWAITING_NOTHING
    return None


class Client:
    def __init__(self, address, credentials=None):
        if credentials:
            self.channel = grpc.secure_channel(address, credentials)
        else:
            self.channel = grpc.insecure_channel(address)
        self.spins = spin_pb2_grpc.SpinServiceStub(self.channel)
        self.ledger = ledger_pb2_grpc.LedgerServiceStub(self.channel)
        self.jackpot = jackpot_pb2_grpc.JackpotServiceStub(self.channel)
        self.reports = report_pb2_grpc.ReportServiceStub(self.channel)

    def close(self):
        self.channel.close()

    def fund(self, player, currency="EUR", amount=DEPOSIT):
        of = account(player, currency)
        self.ledger.OpenAccount(ledger_pb2.OpenAccountRequest(request_id=f"open-{currency}", account=of))
        deposit = ledger_pb2.DepositRequest(request_id=f"deposit-{currency}", account=of, amount_minor=amount)
        self.ledger.Deposit(deposit)
        return of

    def balance(self, account):
        return self.ledger.GetAccount(ledger_pb2.GetAccountRequest(account=account)).balance.amount_minor

    def position(self):
        return self.ledger.GetLogStatus(ledger_pb2.GetLogStatusRequest()).position

    def rounds(self, account, **page):
        return self.ledger.ListRounds(ledger_pb2.ListRoundsRequest(account=account, **page))

    def spin(self, request, **call):
        return self.spins.Spin(request, **call).played

    def choose(self, request_id, round_id, choice, **call):
        request = spin_pb2.ChooseRequest(request_id=request_id, round_id=round_id, choice=choice)
        return self.spins.Choose(request, **call).played

    def round(self, round_id):
        return self.ledger.GetRound(ledger_pb2.GetRoundRequest(round_id=round_id)).round

    def play_out(self, request, guess=None):
        steps = [self.spin(request)]
        while choice := choice_for(steps[-1].outcome.awaiting, guess):
            steps.append(self.choose(f"{request.request_id}.{len(steps)}", steps[0].round_id, choice))
        return steps

    def play_until(self, account, awaiting, rounds_max=20_000, **more):
        numbers = count()
        with Stream(self) as stream:
            for _ in range(rounds_max):
                request_id = f"until-{awaiting}-{next(numbers)}"
                steps = [stream.played(spin=bet(request_id, account, lines=1, **more))]
                while steps[-1].outcome.awaiting != awaiting:
                    choice = choice_for(steps[-1].outcome.awaiting)
                    if choice is None:
                        break
                    request = spin_pb2.ChooseRequest(
                        request_id=f"{request_id}.{len(steps)}", round_id=steps[0].round_id, choice=choice
                    )
                    steps.append(stream.played(choose=request))
                else:
                    return steps
        pytest.fail(f"none of {rounds_max} rounds awaited {round_pb2.Awaiting.Name(awaiting)}")


class Stream:
    def __init__(self, client):
        self.requests = queue.SimpleQueue()
        self.tags = count(1)
        self.answers = client.spins.PlayStream(iter(self.requests.get, None))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.requests.put(None)

    def send(self, **call):
        tag = next(self.tags)
        self.requests.put(spin_pb2.PlayStreamRequest(tag=tag, **call))
        return tag

    def played(self, **call):
        tag = self.send(**call)
        answer = next(self.answers)
        assert answer.tag == tag
        assert answer.WhichOneof("answer") == "played", answer.error
        return answer.played
