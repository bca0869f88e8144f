from contextlib import contextmanager
from itertools import count

import pytest
from proxy import Proxy

from motherlode import Client, Policy, Target
from motherlode.ledger.v1.ledger_pb2 import DepositRequest, GetAccountRequest, ListRoundsRequest, OpenAccountRequest
from motherlode.round.v1.round_pb2 import Account, Stake
from motherlode.spin.v1.spin_pb2 import SpinRequest

PLAYERS = count(1)
PATIENT = Policy(total_s=120.0, attempt_s=60.0, first_wait_s=0.01)


@pytest.fixture
def account(service):
    account = Account(operator_id="demo", player_id=f"player-{next(PLAYERS)}", currency_code="EUR")
    with Client(plain(service.address), PATIENT) as client:
        client.ledger.OpenAccount(OpenAccountRequest(account=account))
        client.ledger.Deposit(DepositRequest(account=account, amount_minor=10_000))
    return account


def plain(address):
    return Target(address, plain=True)


def bet(account, request_id="", lines=15):
    stake = Stake(coin_value="0.01", lines=lines, coins_per_line=1)
    return SpinRequest(account=account, game="neptune", stake=stake, request_id=request_id)


@contextmanager
def between(service, *acts, method="Spin"):
    proxy = Proxy(service.address, method, *acts)
    try:
        yield proxy
    finally:
        proxy.close()


def rounds(service, account):
    with Client(plain(service.address), PATIENT) as client:
        return client.ledger.ListRounds(ListRoundsRequest(account=account)).rounds


def balance(service, account):
    with Client(plain(service.address), PATIENT) as client:
        return client.ledger.GetAccount(GetAccountRequest(account=account)).balance.amount_minor
