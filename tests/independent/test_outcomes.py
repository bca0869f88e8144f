"""Recomputes every step of 20,000 rounds per game and 4,000 per older version (`tests/run games`: more), and detects
any changed figure."""

import os
from collections import Counter, defaultdict
from copy import deepcopy
from random import Random

import pytest
from games import GAMES, LATEST
from rounds import played

ROUNDS = int(os.environ.get("MOTHERLODE_TESTS_ROUNDS", "20000"))
ROUNDS_OF_OLD = ROUNDS // 5
SEARCHED, TAKEN, CHANGED = 20_000, 2, 10

each_game = pytest.mark.parametrize("name", GAMES)


def judge(game, steps):
    game.round(steps[0]["stake"], steps[0]["terms"]).judge(steps)


@each_game
def test_every_step_worked_out_again_is_the_same(name):
    game = GAMES[name]()
    number = ROUNDS if name in LATEST else ROUNDS_OF_OLD
    rounds = played(game, number, seed=1)
    assert next(rounds)["model_hash"] == game.file.hash
    windows = 0
    for steps in rounds:
        judge(game, steps)
        windows += sum(len(step["outcome"]["spins"]) for step in steps)
    assert windows >= number
    if game.NAME == "dwarf-mine":
        assert len(game.fractions) > 10, "the rounds must include wins of free spins with many fractions of a minor unit (DM-17)"


@each_game
def test_every_kind_of_figure_is_noticed_when_it_is_another(name):
    game, random = GAMES[name](), Random(1)
    places, seen = figures(varied(game))
    noticed, unnoticed = Counter(), Counter()
    for kind, where in places.items():
        for steps, number, path in random.sample(where, min(CHANGED, len(where))):
            for value in others(at(steps[number]["outcome"], path), seen[kind], random):
                changed = deepcopy(steps)
                at(changed[number]["outcome"], path[:-1])[path[-1]] = value
                try:
                    judge(game, changed)
                    unnoticed[kind] += 1
                except Exception:
                    noticed[kind] += 1
    assert set(noticed) == set(places)
    assert set(unnoticed) <= set(game.DECIDES_NOTHING), unnoticed


def varied(game):
    rounds = played(game, SEARCHED, seed=2)
    next(rounds)
    taken = defaultdict(list)
    for steps in rounds:
        kinds = (sorted({spin["kind"][0] for spin in step["outcome"]["spins"]}) for step in steps)
        course = tuple((step["choice"][0], *shown) for step, shown in zip(steps, kinds))
        if len(taken[course]) < TAKEN:
            taken[course].append(steps)
    return [steps for of_course in taken.values() for steps in of_course]


def figures(rounds):
    places, seen = defaultdict(list), defaultdict(list)

    def walk(steps, number, value, path, kind):
        if path:
            places[kind].append((steps, number, path))
            if len(seen[kind]) < CHANGED and value not in seen[kind]:
                seen[kind].append(value)
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(steps, number, inner, (*path, key), f"{kind}.{key}" if kind else key)
        if isinstance(value, list):
            for place, inner in enumerate(value):
                # The elements of a named list, such as spins, have the same kind. In a list within a list, each place has
                # its own kind.
                walk(steps, number, inner, (*path, place), f"{kind}[{'' if isinstance(path[-1], str) else place}]")

    for steps in rounds:
        for number, step in enumerate(steps):
            walk(steps, number, step["outcome"], (), "")
    return places, seen


def at(value, path):
    for key in path:
        value = value[key]
    return value


def others(value, seen, random):
    """Returns wrong values for a figure: the value of another place, and adjacent numbers. Never returns another
    window, because that window could also be right."""
    elsewhere = [
        other for other in seen if other != value and not (isinstance(value, dict) and isinstance(other, dict))
    ]
    yield random.choice(elsewhere or ["another"])
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield value - 1
    elif isinstance(value, list) and value:
        yield value[:-1]
        yield [*value, value[-1]]
