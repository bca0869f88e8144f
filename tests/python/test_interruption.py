import grpc
from client import OPERATOR, refused

from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2


def waiting(client, player):
    alice = client.fund(player)
    stake = round_pb2.Stake(coin_value="0.01", lines=10, coins_per_line=1, buy_feature=True)
    bought = {"game": "mystery-elves", "stake": stake, "offer_double": True}
    request = spin_pb2.SpinRequest(request_id="buy", account=alice, **bought)
    played = client.spin(request)
    assert played.outcome.awaiting == round_pb2.AWAITING_FEATURE
    return alice, played


def causes(client, played):
    return [step.automatic.cause for step in client.round(played.round_id).steps]


def open_rounds(client, player):
    request = spin_pb2.ListOpenRoundsRequest(operator_id=OPERATOR, player_id=player)
    return client.spins.ListOpenRounds(request).rounds


def test_dm_21_a_round_is_skipped_to_its_result_once(client, player):
    alice, played = waiting(client, player)
    (listed,) = open_rounds(client, player)
    assert listed.round.round_id == played.round_id
    # ME-20.
    assert listed.resolve_time.seconds - listed.round.steps[-1].time.seconds == 120 * 3600
    request = spin_pb2.SkipRoundRequest(request_id="skip", round_id=played.round_id)
    skipped = client.spins.SkipRound(request)
    last = skipped.steps[-1]
    assert last.state == round_pb2.ROUND_STATE_SETTLED
    assert client.balance(alice) == played.balance.amount_minor + last.win.amount_minor
    assert client.spins.SkipRound(request) == skipped
    assert client.balance(alice) == played.balance.amount_minor + last.win.amount_minor
    assert causes(client, played) == [0, *[round_pb2.Automatic.CAUSE_SKIPPED] * len(skipped.steps)]
    assert not open_rounds(client, player)


def test_pl_20_a_round_is_closed_by_the_operator_with_actor_and_reason(client, player):
    _, played = waiting(client, player)
    request = {"round_id": played.round_id, "reason": "asked by mail", "actor": "ann"}
    closed = client.spins.CloseRound(spin_pb2.CloseRoundRequest(request_id="close", **request))
    assert causes(client, played) == [0, *[round_pb2.Automatic.CAUSE_CLOSED] * len(closed.steps)]
    by = client.round(played.round_id).steps[-1].automatic
    assert (by.actor, by.reason) == ("(anyone)", "asked by mail")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "ALREADY_SETTLED"):
        client.spins.CloseRound(spin_pb2.CloseRoundRequest(request_id="again", **request))
    with refused(grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"):
        client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id="close", round_id=played.round_id))
