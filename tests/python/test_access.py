import grpc
import pytest
from client import OPERATOR, account, bet, refused
from protected import Protected

from motherlode.ledger.v1 import ledger_pb2
from motherlode.report.v1 import report_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2

OPERATORS = {
    f"{OPERATOR}/gateway": ["play", "wallet"],
    f"{OPERATOR}/cashier": ["wallet"],
    f"{OPERATOR}/auditor": ["audit"],
    "other/gateway": ["play", "wallet", "support", "audit", "admin"],
}


@pytest.fixture(scope="module")
def protected(tmp_path_factory):
    return Protected(tmp_path_factory.mktemp("protected"), OPERATORS)


@pytest.fixture
def connect(start, protected):
    service = start(config=protected.config)
    clients = []

    def connect(name=None, token=None):
        clients.append(protected.client(service.address, name, token))
        return clients[-1]

    connect.address = service.address
    yield connect
    for client in clients:
        client.close()


def test_pl_27_without_a_valid_token_no_call_is_read_and_nothing_changes(connect):
    good = connect(f"{OPERATOR}/gateway")
    alice = good.fund("alice")
    before = connect(f"{OPERATOR}/auditor").position()
    for client, reason in [(connect(), "TOKEN_MISSING"), (connect(token="guessed"), "TOKEN_UNKNOWN")]:
        for call in [
            lambda: client.spin(bet("r", alice)),
            lambda: client.fund("bob"),
            lambda: client.balance(alice),
            lambda: next(client.spins.Autospin(spin_pb2.AutospinRequest())),
            # Access is checked before the request is validated.
            lambda: client.spin(spin_pb2.SpinRequest()),
            lambda: client.balance(account("nobody")),
        ]:
            with refused(grpc.StatusCode.UNAUTHENTICATED, reason):
                call()
    assert connect(f"{OPERATOR}/auditor").position() == before


def test_pl_27_a_call_needs_its_role(connect):
    alice = connect(f"{OPERATOR}/gateway").fund("alice")
    cashier, auditor = connect(f"{OPERATOR}/cashier"), connect(f"{OPERATOR}/auditor")
    before = auditor.position()
    void = ledger_pb2.VoidRoundRequest(request_id="v", round_id=f"{OPERATOR}/alice/1", reason="r", actor="ann")
    rate = ledger_pb2.SetExchangeRateRequest(request_id="x", currency_code="SEK", eur_per_unit="0.09", source="test")
    for roles, call in [
        ("play", lambda: cashier.spin(bet("r", alice))),
        ("support", lambda: cashier.ledger.VoidRound(void)),
        ("wallet", lambda: auditor.fund("bob")),
        ("audit", lambda: cashier.position()),
    ]:
        with refused(grpc.StatusCode.PERMISSION_DENIED, "ROLE_MISSING") as said:
            call()
        assert said.metadata["roles"] == roles
    with refused(grpc.StatusCode.PERMISSION_DENIED, "ROLE_MISSING") as said:
        connect("other/gateway").ledger.SetExchangeRate(rate)
    assert said.metadata["operator"] == "platform"
    assert auditor.position() == before
    assert cashier.balance(alice) == auditor.balance(alice), "the play and the wallet role can both read the balance"


def test_pl_27_another_operators_player_is_refused_like_an_unknown_one(connect):
    own, other = connect(f"{OPERATOR}/gateway"), connect("other/gateway")
    alice = own.fund("alice")
    # The test uses a game without a pool, because a pool's coordinator would commit seconds later and change the result.
    round_id = own.spin(bet("r", alice, game="neptune", coin_value="0.10", witch=round_pb2.WITCH_UNSPECIFIED)).round_id
    before, played = other.position(), own.round(round_id)
    deposit = ledger_pb2.DepositRequest(request_id="d", account=alice, amount_minor=1)
    void = ledger_pb2.VoidRoundRequest(request_id="v", round_id=round_id, reason="r", actor="ann")
    for reason, call in [
        ("ACCOUNT_UNKNOWN", lambda: other.balance(alice)),
        ("ACCOUNT_UNKNOWN", lambda: other.spin(bet("s", alice))),
        ("ACCOUNT_UNKNOWN", lambda: other.rounds(alice)),
        ("ACCOUNT_UNKNOWN", lambda: other.ledger.Deposit(deposit)),
        ("ROUND_UNKNOWN", lambda: other.round(round_id)),
        ("ROUND_UNKNOWN", lambda: other.ledger.VoidRound(void)),
    ]:
        with refused(grpc.StatusCode.NOT_FOUND, reason):
            call()
    assert other.position() == before
    assert own.round(round_id) == played


def test_pl_27_without_tls_nothing_is_answered_and_a_strange_certificate_is_not_trusted(connect, tmp_path):
    alice = account("alice")
    with pytest.raises(grpc.RpcError) as raised:
        grpc_client = type(connect(f"{OPERATOR}/gateway"))(connect.address)
        grpc_client.balance(alice)
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
    stranger = Protected(tmp_path, OPERATORS).client(connect.address, f"{OPERATOR}/gateway")
    with pytest.raises(grpc.RpcError) as raised:
        stranger.balance(alice)
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE


def test_pl_29_who_may_call_at_all_may_ask_what_the_program_is(connect):
    for name in OPERATORS:
        assert len(connect(name).reports.GetIdentity(report_pb2.GetIdentityRequest()).models) == 10
