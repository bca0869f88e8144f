import grpc
import pytest
from client import account, bet, refused

from motherlode.jackpot.v1 import jackpot_pb2
from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2

INVALID = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND = grpc.StatusCode.NOT_FOUND
PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"request_id": ""}, "request_id"),
        ({"request_id": "a b"}, "request_id"),
        ({"request_id": "steward/1"}, "request_id"),
        ({"request_id": "x" * 65}, "request_id"),
        ({"account": None}, "account"),
        ({"account": round_pb2.Account(player_id="p", currency_code="EUR")}, "account.operator_id"),
        ({"account": round_pb2.Account(operator_id="o", currency_code="EUR")}, "account.player_id"),
        ({"account": account("p", "XXX")}, "account.currency_code"),
        ({"account": account("p", "eur")}, "account.currency_code"),
        ({"stake": None}, "stake"),
        ({"coin_value": ""}, "stake.coin_value"),
        ({"coin_value": "1e-2"}, "stake.coin_value"),
        ({"coin_value": "-0.01"}, "stake.coin_value"),
        ({"coin_value": "0.0000001"}, "stake.coin_value"),
        ({"witch": 7}, "witch"),
    ],
    ids=str,
)
def test_pl_12_a_malformed_bet_names_its_field(client, change, field):
    parts = {"request_id": "x", "account": account("nobody"), **change}
    with refused(INVALID, "INVALID_FIELD") as said:
        client.spin(bet(parts.pop("request_id"), parts.pop("account"), **parts))
    assert said.fields == [field]


@pytest.mark.parametrize(
    "change",
    [
        {"coin_value": "0.03"},
        {"coin_value": "0"},
        {"coin_value": "20"},
        {"lines": 0},
        {"lines": 16},
        {"lines": 2**32 - 1},
        {"coins_per_line": 0},
        {"coins_per_line": 11},
    ],
    ids=str,
)
def test_bw_01_a_stake_that_is_not_offered_is_refused_with_what_is(client, player, change):
    alice = client.fund(player)
    with refused(INVALID, "INVALID_STAKE") as said:
        client.spin(bet("x", alice, **change))
    assert said.metadata["lines_max"] == "15" and said.metadata["coins_per_line_max"] == "10"
    assert "0.01" in said.metadata["coin_values"].split()


def test_pl_12_unknown_games_versions_and_accounts_are_not_found(client, player):
    alice = client.fund(player)
    for change in [{"game": "poker"}, {"game": ""}, {"rules_version": "0.1"}]:
        with refused(NOT_FOUND, "GAME_UNKNOWN"):
            client.spin(bet("x", alice, **change))
    for nobody in [account("nobody"), account(player, "USD")]:
        with refused(NOT_FOUND, "ACCOUNT_UNKNOWN"):
            client.spin(bet("x", nobody))
    with refused(NOT_FOUND, "GAME_UNKNOWN"):
        client.spins.GetGame(spin_pb2.GetGameRequest(game="poker"))
    with refused(NOT_FOUND, "POOL_UNKNOWN"):
        client.jackpot.GetPool(jackpot_pb2.GetPoolRequest(pool_id="poker"))
    with refused(NOT_FOUND, "POOL_UNKNOWN"):
        list(client.jackpot.WatchCounters(jackpot_pb2.WatchCountersRequest(pool_id="poker")))
    with refused(NOT_FOUND, "POOL_UNKNOWN"):
        client.jackpot.ListAwards(jackpot_pb2.ListAwardsRequest(pool_id="poker"))


def test_bw_05_a_witch_is_picked_before_the_first_spin_and_remembered(client, player):
    alice = client.fund(player)
    unpicked = bet("one", alice, witch=round_pb2.WITCH_UNSPECIFIED)
    with refused(PRECONDITION, "WITCH_NOT_PICKED") as said:
        client.spin(unpicked)
    assert said.metadata == {"game": "bewitched"}
    client.play_out(bet("two", alice, witch=round_pb2.WITCH_DARK))
    assert client.play_out(unpicked)[-1].state == round_pb2.ROUND_STATE_SETTLED


def test_bw_29_pl_10_a_bet_above_the_balance_names_the_minimum_bet(client, player):
    alice = client.fund(player, amount=100)
    with refused(PRECONDITION, "INSUFFICIENT_FUNDS") as said:
        client.spin(bet("x", alice, coin_value="1"))
    assert said.metadata == {
        "balance_minor": "100",
        "bet_minor": "1500",
        "minimum_bet_minor": "1",
        "currency_code": "EUR",
    }
    assert client.balance(alice) == 100 and not client.rounds(alice).rounds
    assert client.spin(bet("y", alice, lines=1)).bet.amount_minor == 1


def test_bw_11_without_a_rate_nothing_is_bet(start):
    client = start().client()
    alice = client.fund("alice", "SEK")
    with refused(PRECONDITION, "RATE_UNKNOWN") as said:
        client.spin(bet("x", alice))
    assert said.metadata == {"currency_code": "SEK"}
    rate = ledger_pb2.SetExchangeRateRequest(
        request_id="r", currency_code="SEK", eur_per_unit="0.0875", source="test"
    )
    client.ledger.SetExchangeRate(rate)
    assert client.play_out(bet("x", alice))[-1].state == round_pb2.ROUND_STATE_SETTLED


def test_pl_09_a_coin_that_is_no_whole_minor_unit_is_refused(client, player):
    alice = client.fund(player, "JPY")
    with refused(INVALID, "INVALID_STAKE") as said:
        client.spin(bet("x", alice, coin_value="0.5"))
    assert said.metadata["currency_code"] == "JPY"


def test_pl_12_the_first_of_several_faults_is_named_in_the_documented_order(client, player):
    alice, poor = client.fund(player), client.fund(f"{player}.poor", amount=1)
    client.play_out(bet("used", alice))
    none = round_pb2.WITCH_UNSPECIFIED
    exists = grpc.StatusCode.ALREADY_EXISTS
    for request, code, reason in [
        (bet("a b", account("nobody"), game="poker", lines=16), INVALID, "INVALID_FIELD"),
        (bet("used", alice, game="poker", lines=16), NOT_FOUND, "GAME_UNKNOWN"),
        (bet("used", alice, lines=16), INVALID, "INVALID_STAKE"),
        (bet("used", alice, lines=14, witch=none), exists, "REQUEST_ID_REUSED"),
        (bet("x", account("nobody"), lines=16), INVALID, "INVALID_STAKE"),
        (bet("x", account("nobody"), witch=none), NOT_FOUND, "ACCOUNT_UNKNOWN"),
        (bet("x", poor, witch=none), PRECONDITION, "WITCH_NOT_PICKED"),
        (bet("x", poor), PRECONDITION, "INSUFFICIENT_FUNDS"),
    ]:
        with refused(code, reason):
            client.spin(request)


def test_pl_12_refusals_change_nothing(start):
    service = start()
    client = service.client()
    alice = client.fund("alice", amount=5)
    position = client.position()
    for request in [bet("x", alice), bet("x", account("bob")), bet("", alice), bet("x", alice, lines=16)]:
        with pytest.raises(grpc.RpcError):
            client.spin(request)
    for request in [
        ledger_pb2.WithdrawRequest(request_id="w", account=alice, amount_minor=6),
        ledger_pb2.WithdrawRequest(request_id="w", account=account("bob"), amount_minor=1),
    ]:
        with pytest.raises(grpc.RpcError):
            client.ledger.Withdraw(request)
    assert client.position() == position


def test_pl_12_a_message_above_the_limit_is_refused_and_the_connection_goes_on(client, player):
    alice = client.fund(player)
    request = bet("x", alice, game="x" * 65 * 1024)
    with pytest.raises(grpc.RpcError) as raised:
        client.spin(request)
    assert raised.value.code() == grpc.StatusCode.OUT_OF_RANGE
    assert client.play_out(bet("x", alice))[-1].state == round_pb2.ROUND_STATE_SETTLED


def test_pl_12_a_full_queue_says_when_to_try_again(start):
    service = start(config="[limits]\nqueue_length_max = 1\nbatch_commits_max = 1\n")
    client = service.client()
    accounts = [client.fund(f"p{number}") for number in range(32)]
    busy = []
    for attempt in range(50):
        calls = [client.spins.Spin.future(bet(f"r{attempt}", of)) for of in accounts]
        busy = [call.exception() for call in calls if call.exception() is not None]
        busy = [error for error in busy if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED]
        if busy:
            break
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL") as said:
        raise busy[0]
    assert said.retry_delay_ms == 100
