import re
from itertools import cycle

import pytest
from browsing import CONSOLE, SIZES, browser, enter, look, needs_chromium, patient
from conftest import ROOT, SCRIPTED
from scripted import ELSEWHERE, KINDS, SCRIPTS, all_kinds, declared, kinds_of, play, shown_by
from test_page import STAKES, cash

from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2


def test_pl_19_every_kind_that_the_contract_has_is_somebodys_to_show():
    shared_out = [kind for who in KINDS for kind in kinds_of(who)]
    assert len(shared_out) == len(set(shared_out)), "each feature belongs to one game"
    assert set(shared_out) == all_kinds()
    assert set(SCRIPTS) == set(STAKES) == set(ELSEWHERE)


@pytest.mark.parametrize("game", SCRIPTS)
def test_pl_19_every_rule_of_a_game_has_its_round_or_is_none_that_a_round_shows(game):
    prefix = {"bewitched": "BW", "dwarf-mine": "DM", "mystery-elves": "ME", "neptune": "NP", "witch-feature": "WF"}[game]
    rules = set(re.findall(rf"\b{prefix}-\d\d\b", (ROOT / "docs/rules.md").read_text()))
    named = {rule for script in SCRIPTS[game].values() for rule in script.rules.split()}
    assert named.isdisjoint(ELSEWHERE[game].split())
    assert named | set(ELSEWHERE[game].split()) == rules


@needs_chromium
@pytest.mark.parametrize("game", SCRIPTS)
def test_pl_19_the_page_of_every_feature_shows_all_of_it_fits_and_axe_finds_nothing(browser, start, game):
    service = start(CONSOLE, SCRIPTED)
    client = service.client()
    names = client.spins.ListGames(spin_pb2.ListGamesRequest()).games
    assert {summary.game for summary in names} == set(SCRIPTS), "each game has scripted rounds"
    rounds = {name: client.round(play(client, name, game, script)) for name, script in SCRIPTS[game].items()}
    described = client.spins.GetGame(spin_pb2.GetGameRequest(game=game))
    shown = set().union(*(shown_by(described, round) for round in rounds.values()))
    assert declared(described) - shown == set(), "a declared feature has no scripted round"
    assert kinds_of(game) - shown == set(), "these features have no scripted round"
    context = patient(browser)
    page = enter(context, service.console)
    ways = cycle([[SIZES[0], SIZES[3]], [SIZES[1], SIZES[2]]])
    for name, round in rounds.items():
        assert page.goto(f"{service.console}round/{round.round_id}").status == 200, name
        windows = sum(len(step.outcome.spins) for step in round.steps)
        assert len(page.content()) <= 25_000 + 4_000 * (len(round.steps) + windows), name
        holds(page, name, game, SCRIPTS[game][name], round)
        look(page, f"{game}-{name}", next(ways))
    context.close()
    client.close()


def holds(page, name, game, script, round):
    content = page.content()
    for words in script.shows:
        assert words.lower() in content.lower(), f"{name} shows {words}"
    windows = sum(len(step.outcome.spins) for step in round.steps)
    assert page.locator("svg.reels").count() == windows, name
    text = page.get_by_role("main").inner_text()
    for step in round.steps:
        part = page.locator(f"#step-{step.number}").inner_text()
        for money in [step.balance_before, step.balance_after, step.win]:
            assert cash(money) in part, f"{name}, step {step.number}"
    assert cash(round.bet) in text and cash(round.balance_before) in text
    for won in round.jackpots:
        assert cash(won.amount) in text, name
    if round.state == round_pb2.ROUND_STATE_OPEN:
        assert page.get_by_text("shown when the round is over").count() == len(round.steps), "hidden objects must not be shown (NP-12)"
