from xml.etree import ElementTree

import grpc
import pytest
from client import OPERATOR, refused

from motherlode.ledger.v1 import ledger_pb2
from motherlode.report.v1 import report_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2

STAKES = {
    "bewitched": ("0.01", 15, 1),
    "dwarf-mine": ("0.04", 1, 25),
    "mystery-elves": ("0.01", 10, 1),
    "neptune": ("0.01", 15, 1),
    "witch-feature": ("0.01", 50, 1),
}


def page_of(client, round_id):
    answer = client.reports.GetRoundPage(report_pb2.GetRoundPageRequest(round_id=round_id))
    assert answer.media_type == "text/html; charset=utf-8"
    written = answer.content.decode("utf-8")
    assert "http" not in written and "<script" not in written, "the page must not load other files"
    page = ElementTree.fromstring(written.removeprefix("<!DOCTYPE html>"))
    return " ".join(" ".join(page.find("body").itertext()).split()), ["".join(pre.itertext()) for pre in page.iter("pre")]


def cash(money):
    return f"{money.amount_minor / 100:,.2f} {money.currency_code}"


@pytest.mark.parametrize("game", STAKES)
def test_pl_19_the_page_of_a_round_says_what_the_round_says(client, player, game):
    alice = client.fund(player)
    coin_value, lines, coins = STAKES[game]
    stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins)
    witch = round_pb2.WITCH_WHITE if game == "bewitched" else round_pb2.WITCH_UNSPECIFIED
    stake.buy_feature = game == "mystery-elves"
    request = spin_pb2.SpinRequest(request_id="r", account=alice, game=game, stake=stake, witch=witch)
    played = client.spin(request)
    if played.state == round_pb2.ROUND_STATE_OPEN:
        text, _ = page_of(client, played.round_id)
        assert "State open" in text and "Seed shown when the round is over" in text
        client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id="skip", round_id=played.round_id))
    round = client.round(played.round_id)
    text, drawings = page_of(client, played.round_id)
    for said in [
        f"Round {OPERATOR}/{player}/1",
        f"Game {game} {round.rules_version}",
        f"Model {round.model_hash}",
        f"Bet {cash(round.bet)}",
        f"Balance before {cash(round.balance_before)}",
        f"State settled Win {cash(round.win)} Balance after {cash(round.balance_after)}",
    ]:
        assert said in text
    assert len(drawings) == len(round.steps)
    for step, drawn in zip(round.steps, drawings):
        assert f"Seed {step.seed.hex()}" in text and f"Log position {step.position}" in text
        waits = step.outcome.awaiting != round_pb2.AWAITING_NOTHING
        standing = "waits for" if waits else "The round wins" if step.outcome.round_win_coins else "No win."
        assert standing in drawn
    assert "│" in drawings[0], "the paid window has a frame"
    assert ("the player skipped" in text) == (len(round.steps) > 1)


def test_pl_04_pl_19_the_page_of_a_void_round_says_by_whom_and_why(client, player):
    alice = client.fund(player)
    stake = round_pb2.Stake(coin_value="0.01", lines=15, coins_per_line=1)
    round_id = client.spin(spin_pb2.SpinRequest(request_id="r", account=alice, game="neptune", stake=stake)).round_id
    reason = "<b>reel 3</b> & more"
    client.ledger.VoidRound(
        ledger_pb2.VoidRoundRequest(request_id="v", round_id=round_id, reason=reason, actor="ann")
    )
    text, _ = page_of(client, round_id)
    assert "State void" in text and f"Voided by (anyone) Reference ann Reason {reason}" in text and "Refunded 0.15 EUR" in text


def test_pl_12_the_page_of_no_round_is_refused(client, player):
    client.fund(player)
    with refused(grpc.StatusCode.NOT_FOUND, "ROUND_UNKNOWN"):
        page_of(client, f"{OPERATOR}/{player}/1")
    with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD") as said:
        page_of(client, "a/b")
    assert said.fields == ["round_id"]
