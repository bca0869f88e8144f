from decimal import Decimal

import grpc
import pytest
from client import DEPOSIT, OPERATOR, account, bet, refused

from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2


def test_pl_15_the_wallet_books_each_transfer_once_and_finds_it_again(client, player):
    alice = client.fund(player, amount=5_000)
    withdraw = ledger_pb2.WithdrawRequest(request_id="w1", account=alice, amount_minor=1_234)
    first = client.ledger.Withdraw(withdraw).transaction
    assert client.ledger.Withdraw(withdraw).transaction == first
    assert first.kind == ledger_pb2.Transaction.KIND_WITHDRAWAL
    assert (first.amount.amount_minor, first.balance.amount_minor, first.account) == (1_234, 3_766, alice)
    found = client.ledger.GetTransaction(ledger_pb2.GetTransactionRequest(account=alice, request_id="w1"))
    assert found.transaction == first
    shown = client.ledger.GetAccount(ledger_pb2.GetAccountRequest(account=alice))
    assert (shown.balance.amount_minor, shown.balance.currency_code) == (3_766, "EUR")
    assert shown.position == first.position and not shown.open_round_ids


def test_pl_15_openings_and_deposits_are_transactions_as_well(client, player):
    alice = client.fund(player, "KWD", 7)
    kinds = ledger_pb2.Transaction
    for request_id, kind, amount, balance in [
        ("open-KWD", kinds.KIND_OPENED, 0, 0),
        ("deposit-KWD", kinds.KIND_DEPOSIT, 7, 7),
    ]:
        get = ledger_pb2.GetTransactionRequest(account=alice, request_id=request_id)
        found = client.ledger.GetTransaction(get).transaction
        assert (found.kind, found.amount.amount_minor, found.balance.amount_minor) == (kind, amount, balance)
        assert found.amount.currency_code == "KWD" and found.time.seconds > 0


def test_pl_15_one_player_holds_an_account_in_each_currency(client, player):
    accounts = {code: client.fund(player, code, index) for index, code in enumerate(["EUR", "JPY", "KWD"], 1)}
    assert [client.balance(of) for of in accounts.values()] == [1, 2, 3]
    with refused(grpc.StatusCode.NOT_FOUND, "TRANSACTION_UNKNOWN"):
        get = ledger_pb2.GetTransactionRequest(account=accounts["JPY"], request_id="deposit-EUR")
        client.ledger.GetTransaction(get)


def test_pl_11_a_deposit_with_the_id_of_another_is_refused(client, player):
    alice = client.fund(player)
    for changed in [
        ledger_pb2.DepositRequest(request_id="deposit-EUR", account=alice, amount_minor=DEPOSIT + 1),
        ledger_pb2.DepositRequest(request_id="open-EUR", account=alice, amount_minor=DEPOSIT),
    ]:
        with refused(grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED") as said:
            client.ledger.Deposit(changed)
        assert said.metadata["request_id"] == changed.request_id
    assert client.balance(alice) == DEPOSIT


def test_pl_15_a_second_opening_under_another_id_is_refused(client, player):
    alice = client.fund(player)
    with refused(grpc.StatusCode.ALREADY_EXISTS, "ACCOUNT_EXISTS"):
        client.ledger.OpenAccount(ledger_pb2.OpenAccountRequest(request_id="again", account=alice))


def test_pl_09_a_withdrawal_above_the_balance_is_refused(client, player):
    alice = client.fund(player, amount=100)
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "INSUFFICIENT_FUNDS") as said:
        client.ledger.Withdraw(ledger_pb2.WithdrawRequest(request_id="w", account=alice, amount_minor=101))
    wanted = {"balance_minor": "100", "needed_minor": "101", "currency_code": "EUR"}
    assert wanted.items() <= said.metadata.items()
    assert client.balance(alice) == 100


@pytest.mark.parametrize("amount", [10**15 + 1, 2**63 - 1])
def test_uf_01_amounts_above_the_ceiling_are_refused_with_the_limit(client, player, amount):
    alice = client.fund(player, amount=100)
    for call, request, limit in [
        (client.ledger.Deposit, ledger_pb2.DepositRequest, 10**13),
        (client.ledger.Withdraw, ledger_pb2.WithdrawRequest, 10**15),
    ]:
        with refused(grpc.StatusCode.FAILED_PRECONDITION, "AMOUNT_ABOVE_LIMIT") as said:
            call(request(request_id="x", account=alice, amount_minor=amount))
        assert said.metadata["limit_minor"] == str(limit)
    assert client.balance(alice) == 100


@pytest.mark.parametrize("amount", [0, -1])
def test_pl_12_amounts_out_of_range_are_refused(client, player, amount):
    alice = client.fund(player, amount=100)
    for call, request in [
        (client.ledger.Deposit, ledger_pb2.DepositRequest),
        (client.ledger.Withdraw, ledger_pb2.WithdrawRequest),
    ]:
        with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as said:
            call(request(request_id="x", account=alice, amount_minor=amount))
        assert said.fields == ["amount_minor"]
    assert client.balance(alice) == 100


def test_bw_11_rates_are_set_listed_and_price_contributions(client, player):
    rates = {"SEK": Decimal("0.0875"), "JPY": Decimal("0.0061"), "KWD": Decimal("3.01")}
    for code, rate in rates.items():
        request = ledger_pb2.SetExchangeRateRequest(
            request_id=f"{player}-{code}", currency_code=code, eur_per_unit=str(rate), source="test"
        )
        first = client.ledger.SetExchangeRate(request)
        assert client.ledger.SetExchangeRate(request) == first
    listed = client.ledger.ListExchangeRates(ledger_pb2.ListExchangeRatesRequest()).rates
    assert [of.currency_code for of in listed] == sorted(of.currency_code for of in listed)
    shown = {of.currency_code: Decimal(of.eur_per_unit) for of in listed}
    assert shown["EUR"] == 1 and rates.items() <= shown.items()
    minor_digits = {"SEK": 2, "JPY": 0, "KWD": 3}
    for code, rate in rates.items():
        of = client.fund(player, code, 10**6)
        steps = client.play_out(bet(f"r-{code}", of, coin_value="1"))
        bet_minor = 15 * 10 ** minor_digits[code]
        assert steps[0].bet == round_pb2.Money(amount_minor=bet_minor, currency_code=code)
        round = client.round(steps[0].round_id)
        assert Decimal(round.contribution_eur) == 15 * rate * Decimal("0.005")
        assert Decimal(round.exchange_rate) == rate


@pytest.mark.parametrize("fault", ["currency_code", "eur_per_unit", "source", "request_id"])
def test_pl_12_a_malformed_rate_is_refused(client, player, fault):
    good = dict(request_id=player, currency_code="SEK", eur_per_unit="0.09", source="test")
    bad = {"currency_code": ["EUR", "XXX", ""], "eur_per_unit": ["0", "-1", "1e3", "", "a"], "source": [""]}
    for value in bad.get(fault, ["", "a b", "x" * 65]):
        with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as said:
            client.ledger.SetExchangeRate(ledger_pb2.SetExchangeRateRequest(**{**good, fault: value}))
        assert said.fields == [fault]


def test_bw_30_pl_05_pl_21_history_is_paged_the_latest_first_with_the_whole_picture(client, player):
    alice = client.fund(player)
    played = [client.play_out(bet(f"r{number}", alice)) for number in range(23)]
    game = client.spins.GetGame(spin_pb2.GetGameRequest(game="bewitched")).summary
    names, sizes, token = [], [], ""
    while True:
        page = client.rounds(alice, page_token=token)
        sizes.append(len(page.rounds))
        names += [round.round_id for round in page.rounds]
        token = page.next_page_token
        if not token:
            break
    assert sizes == [10, 10, 3]
    assert names == [f"{OPERATOR}/{player}/{number}" for number in range(23, 0, -1)]
    balance = DEPOSIT
    for steps in played:
        round = client.round(steps[0].round_id)
        assert round.account == alice and round.state == round_pb2.ROUND_STATE_SETTLED
        assert [(step.outcome, step.win) for step in round.steps] == [(step.outcome, step.win) for step in steps]
        assert all(len(step.seed) == 32 and step.choice.WhichOneof("kind") for step in round.steps)
        assert len({step.seed for step in round.steps}) == len(round.steps)
        times = [(step.time.seconds, step.time.nanos) for step in round.steps]
        assert times == sorted(times) and times[0] == (round.start_time.seconds, round.start_time.nanos)
        assert (round.game, round.rules_version, round.model_hash) == (game.game, game.rules_version, game.model_hash)
        assert round.awaiting == round_pb2.AWAITING_NOTHING
        assert Decimal(round.contribution_eur) == Decimal("0.00075") and Decimal(round.exchange_rate) == 1
        assert round.stake == round_pb2.Stake(coin_value="0.01", lines=15, coins_per_line=1)
        assert round.balance_before.amount_minor == balance
        jackpots = sum(won.amount.amount_minor for won in round.jackpots)
        balance += round.win.amount_minor - round.bet.amount_minor
        assert round.balance_after.amount_minor in (balance, balance + jackpots)
        balance += jackpots
    assert client.balance(alice) == balance
    assert len(client.rounds(alice, page_size=100).rounds) == 23
    assert not client.rounds(alice, game="poker").rounds


def test_pl_12_what_is_not_there_is_not_found(client, player):
    alice = client.fund(player)
    for reason, call in {
        "ACCOUNT_UNKNOWN": lambda: client.balance(account("nobody")),
        "ROUND_UNKNOWN": lambda: client.round(f"{OPERATOR}/{player}/1"),
        "TRANSACTION_UNKNOWN": lambda: client.ledger.GetTransaction(
            ledger_pb2.GetTransactionRequest(account=alice, request_id="never")
        ),
    }.items():
        with refused(grpc.StatusCode.NOT_FOUND, reason):
            call()
    for bad in [{"page_size": -1}, {"page_token": "x"}]:
        with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as said:
            client.rounds(alice, **bad)
        assert said.fields == list(bad)
