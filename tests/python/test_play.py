import grpc
import pytest
from client import DEPOSIT, OPERATOR, Stream, bet, choice_for, read_details, refused

from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2

CODES = {code.value[0]: code for code in grpc.StatusCode}


def effect(steps):
    jackpots = sum(step.jackpot.amount.amount_minor for step in steps)
    return steps[-1].win.amount_minor + jackpots - steps[0].bet.amount_minor


def test_bw_01_bw_10_rounds_settle_and_the_balance_is_what_they_add_up_to(client, player):
    alice = client.fund(player)
    expected = DEPOSIT
    for number in range(100):
        steps = client.play_out(bet(f"r{number}", alice, coin_value="0.05", lines=7, coins_per_line=3))
        assert steps[-1].state == round_pb2.ROUND_STATE_SETTLED
        assert steps[0].bet.amount_minor == 5 * 7 * 3
        assert steps[-1].win.amount_minor == 5 * steps[-1].outcome.round_win_coins
        expected += effect(steps)
        for spin in (spin for step in steps for spin in step.outcome.spins):
            assert len(spin.cells) == 15 and spin.rows == 3
            assert spin.win_coins == sum(win.coins for win in spin.wins)
            assert len({win.line for win in spin.wins if win.line}) == len([win for win in spin.wins if win.line])
            assert all(win.line <= 7 for win in spin.wins)
    assert client.balance(alice) == expected


def test_pl_11_a_repeated_bet_gives_the_same_answer_and_no_second_effect(client, player):
    alice = client.fund(player)
    request = bet("same", alice)
    first = client.spin(request)
    assert [client.spin(request) for _ in range(5)] == [first] * 5
    assert client.ledger.GetAccount(ledger_pb2.GetAccountRequest(account=alice)).position == first.position
    steps = client.play_out(request)
    assert client.spin(request) == first, "a repeated request gets the answer of its step, even if the round has continued"
    assert len(client.rounds(alice).rounds) == 1
    assert client.balance(alice) == DEPOSIT + effect(steps)


@pytest.mark.parametrize(
    "change",
    [
        {"coin_value": "0.02"},
        {"lines": 14},
        {"coins_per_line": 2},
        {"witch": round_pb2.WITCH_DARK},
        {"offer_double": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_pl_11_the_same_id_with_another_content_is_refused(client, player, change):
    alice = client.fund(player)
    client.play_out(bet("same", alice))
    balance = client.balance(alice)
    with refused(grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED") as said:
        client.spin(bet("same", alice, **change))
    assert said.metadata["request_id"] == "same"
    assert client.balance(alice) == balance


def test_bw_06_a_bonus_round_waits_for_three_vials(client, player):
    alice = client.fund(player)
    spun = client.play_until(alice, round_pb2.AWAITING_PICK)[-1]
    assert spun.state == round_pb2.ROUND_STATE_OPEN
    opened = client.ledger.GetAccount(ledger_pb2.GetAccountRequest(account=alice)).open_round_ids
    assert list(opened) == [spun.round_id]
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "ROUND_IN_PROGRESS") as said:
        client.spin(bet("another", alice))
    assert said.metadata["round_id"] == spun.round_id
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "CHOICE_NOT_AWAITED") as said:
        client.choose("c", spun.round_id, round_pb2.Choice(collect=round_pb2.Choice.Collect()))
    assert said.metadata["round_id"] == spun.round_id and said.metadata["awaiting"] == "Pick"
    for numbers in [[], [1, 2], [1, 2, 2], [0, 1, 2], [5, 6, 7], [1, 2, 3, 4]]:
        vials = round_pb2.Choice(pick=round_pb2.Choice.Pick(numbers=numbers))
        with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as said:
            client.choose("c", spun.round_id, vials)
        assert said.fields == ["choice"]
    played = client.choose("vials", spun.round_id, choice_for(round_pb2.AWAITING_PICK))
    kind = played.outcome.prize.WhichOneof("kind")
    assert kind in ("multiple", "free_spins", "jackpot")
    if kind == "multiple":
        assert 15 <= played.outcome.prize.multiple <= 300
        assert played.outcome.prize.coins == played.outcome.prize.multiple, "one coin was bet"
    if kind == "free_spins":
        assert 15 <= played.outcome.prize.free_spins <= 60
    assert client.choose("vials", spun.round_id, choice_for(round_pb2.AWAITING_PICK)) == played


def test_bw_07_bw_25_free_spins_wait_to_be_started_and_double_line_wins(client, player):
    alice = client.fund(player)
    steps = client.play_until(alice, round_pb2.AWAITING_FREE_SPINS)
    waiting = steps[-1]
    assert waiting.outcome.free_spins_left > 0 and waiting.state == round_pb2.ROUND_STATE_OPEN
    played = client.choose("go", waiting.round_id, choice_for(round_pb2.AWAITING_FREE_SPINS))
    assert played.outcome.spins and all(spin.kind == round_pb2.SPIN_KIND_FREE for spin in played.outcome.spins)
    for spin in played.outcome.spins:
        assert spin.multiplier == 2
        assert all(win.coins % 2 == 0 for win in spin.wins if win.line)
    gained = played.outcome.round_win_coins - waiting.outcome.round_win_coins
    assert gained == sum(spin.win_coins for spin in played.outcome.spins), "the balance must change only by the spins"
    if played.outcome.awaiting == round_pb2.AWAITING_NOTHING:
        assert played.outcome.free_spins_left == 0 and played.state == round_pb2.ROUND_STATE_SETTLED


def test_bw_22_bw_24_a_line_win_can_be_doubled_card_by_card(client, player):
    alice = client.fund(player)
    right = wrong = 0
    for number in range(1_000):
        steps = client.play_out(bet(f"d{number}", alice, lines=3, offer_double=True), round_pb2.CARD_RED_HEART)
        # Scatter wins cannot be gambled (BW-23).
        lines = sum(win.coins for spin in steps[0].outcome.spins for win in spin.wins if win.line)
        strip = []
        for before, step in zip(steps, steps[1:]):
            if not step.outcome.HasField("card"):
                continue
            card = step.outcome.card
            assert card.guess == round_pb2.CARD_RED_HEART and card.won == (card.drawn == card.guess)
            strip.insert(0, card.drawn)
            assert list(step.outcome.double_strip) == strip, "the strip of cards must begin with the latest"
            at_stake = lines << (len(strip) - 1)
            assert step.win.amount_minor - before.win.amount_minor == (at_stake if card.won else -at_stake)
            right, wrong = right + card.won, wrong + (not card.won)
        assert len(strip) <= 5
        if strip:
            assert all(card == round_pb2.CARD_RED_HEART for card in strip[1:]), "a wrong guess must end the gamble"
        if right >= 5 and wrong >= 5:
            return
    pytest.fail(f"only {right} right and {wrong} wrong guesses in a thousand rounds")


def test_bw_22_collecting_keeps_the_win(client, player):
    alice = client.fund(player)
    waiting = client.play_until(alice, round_pb2.AWAITING_DOUBLE, offer_double=True)[-1]
    balance = client.balance(alice)
    collected = client.choose("take", waiting.round_id, choice_for(round_pb2.AWAITING_DOUBLE))
    assert collected.state == round_pb2.ROUND_STATE_SETTLED
    assert collected.win == waiting.win and collected.win.amount_minor > 0
    assert client.balance(alice) == balance + waiting.win.amount_minor
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "ALREADY_SETTLED"):
        client.choose("more", waiting.round_id, choice_for(round_pb2.AWAITING_DOUBLE))


def test_bw_28_bw_19_an_open_round_is_voided_and_refunded(client, player):
    alice = client.fund(player)
    spun = client.play_until(alice, round_pb2.AWAITING_PICK)[0]
    balance = client.balance(alice)
    void = ledger_pb2.VoidRoundRequest(request_id="void", round_id=spun.round_id, reason="reel 3 stuck", actor="ann")
    voided = client.ledger.VoidRound(void)
    assert voided.refund == spun.bet
    assert client.balance(alice) == voided.balance.amount_minor == balance + spun.bet.amount_minor
    assert client.ledger.VoidRound(void) == voided
    assert client.round(spun.round_id).state == round_pb2.ROUND_STATE_VOIDED
    assert client.balance(alice) == balance + spun.bet.amount_minor
    with refused(grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"):
        client.ledger.VoidRound(ledger_pb2.VoidRoundRequest(**dict(fields(void), actor="bob")))
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "ALREADY_VOIDED"):
        client.ledger.VoidRound(ledger_pb2.VoidRoundRequest(**dict(fields(void), request_id="again")))
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "ALREADY_SETTLED"):
        client.choose("c", spun.round_id, choice_for(round_pb2.AWAITING_PICK))
    client.play_out(bet("next", alice))


@pytest.mark.parametrize("fault", ["request_id", "round_id", "reason", "actor"])
def test_pl_12_a_malformed_void_is_refused(client, fault):
    good = dict(request_id="v", round_id=f"{OPERATOR}/nobody/1", reason="r", actor="a")
    bad = {"reason": ["", "x" * 257, "a\nb"], "actor": ["x" * 65, "a\nb"], "round_id": ["", "a/b", "a/b/0", "a/b/c/1"]}
    for value in bad.get(fault, ["", "a/b"]):
        with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as said:
            client.ledger.VoidRound(ledger_pb2.VoidRoundRequest(**{**good, fault: value}))
        assert said.fields == [fault]


def test_pl_11_an_exceeded_deadline_and_its_repetition_have_one_effect(start):
    service = start()
    client = service.client()
    alice = client.fund("alice")
    expected = DEPOSIT
    for number in range(20):
        request = bet(f"r{number}", alice)
        # The process is suspended after it received the call. When resumed, it may execute or drop the call.
        with service.held(), pytest.raises(grpc.RpcError) as raised:
            client.spin(request, timeout=0.05)
        assert raised.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        expected += effect(client.play_out(request))
    assert client.rounds(alice).rounds[0].round_id == f"{OPERATOR}/alice/20"
    assert client.balance(alice) == expected


def test_pl_11_deadlines_at_all_places_of_a_call_leave_one_effect(client, player):
    alice = client.fund(player)
    expected = DEPOSIT
    for number in range(100):
        request = bet(f"r{number}", alice)
        try:
            client.spin(request, timeout=0.00005 * (number + 1))
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, "the outcome must not be CANCELLED, since the caller cancelled nothing"
        expected += effect(client.play_out(request))
    assert client.rounds(alice).rounds[0].round_id == f"{OPERATOR}/{player}/100"
    assert client.balance(alice) == expected


def test_pl_11_a_stream_answers_by_tag_as_the_unary_calls_do(client, player):
    players = [client.fund(f"{player}.{number}") for number in range(20)]
    with Stream(client) as stream:
        requests = {stream.send(spin=bet("s", of)): bet("s", of) for of in players}
        answers = {answer.tag: answer.played for answer in (next(stream.answers) for _ in requests)}
        assert answers.keys() == requests.keys()
        for tag, request in requests.items():
            assert client.spin(request) == answers[tag]
        assert stream.played(spin=requests[1]) == answers[1]
        for call, code, reason in [
            ({"spin": bet("s", players[0], lines=2)}, grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED"),
            ({"spin": bet("x", players[0], lines=16)}, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_STAKE"),
            ({"spin": bet("", players[0])}, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),
            ({"choose": spin_pb2.ChooseRequest()}, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),
            ({}, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),
        ]:
            tag = stream.send(**call)
            answer = next(stream.answers)
            said = read_details(CODES[answer.error.code], answer.error)
            assert (answer.tag, said.code, said.reason) == (tag, code, reason)
    assert list(stream.answers) == [], "the stream ends after the caller's last message"


def fields(message):
    return [(descriptor.name, value) for descriptor, value in message.ListFields()]
