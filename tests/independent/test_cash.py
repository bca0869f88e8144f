"""The engine, the PAR sheet and this recomputation agree on the exact cash return of every coin value (DM-19, PL-13,
PL-35)."""

import json
import os
import subprocess
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import pytest
from cash import coin, minor_micros
from game_file import ladders
from games import GAMES, LATEST, returns
from rounds import ROOT, played

BINARY = os.environ.get("MOTHERLODE_BIN") or ROOT / "target/debug/motherlode"
APART = Fraction(5, 10_000)
WITHIN = Fraction(1, 10**10)
PLAY_MONEY = "XTS"
OTHERS = {"buy_feature", "unlocked_1", "unlocked_2", "unlocked_3"}


def in_cash(name, game):
    parts = {part: rtp for part, rtp in returns(name).items() if part not in OTHERS}
    known = {}

    def adds(worth):
        if worth.denominator == 1:
            return Fraction(0)
        if not known:
            known["rounding"] = game.rounding()
        if worth not in known:
            known[worth] = sum(known["rounding"](worth).values())
        return known[worth]

    return parts, adds


@pytest.fixture(scope="module")
def counted():
    games = {}

    def of(name):
        if name not in games:
            game = GAMES[name]()
            games[name] = game, *in_cash(name, game)
        return games[name]

    return of


def stated(fraction, places):
    exactly = Decimal(fraction.numerator) / Decimal(fraction.denominator)
    return str(exactly.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN))


@pytest.mark.parametrize("name", GAMES)
def test_dm_19_pl_35_the_exact_cash_return_of_every_coin_value_is_the_engines(counted, name):
    game, parts, adds = counted(name)
    (header,) = played(game, 0, seed=1)
    in_coins = sum(parts.values()) - parts.get("jackpot_seed", 0)
    published = Fraction(game.file.data["rtp"])
    offered = {}
    for currency, value, (added, within) in header["cash"]:
        worth = Fraction(value, minor_micros(currency))
        offered.setdefault(currency, []).append(value)
        assert abs(Fraction(added) - adds(worth)) <= Fraction(within) <= WITHIN, (currency, value)
        assert (Fraction(within) == 0) == (worth.denominator == 1)
        assert abs(in_coins + adds(worth) - published) <= APART, (currency, value)

    def holds(currency, value):
        """Returns whether current rules allow a coin value; older files also contain other values."""
        worth = value / minor_micros(currency)
        whole_bets = hasattr(game, "rounding") and worth.denominator == 5
        return worth.denominator == 1 or whole_bets and abs(in_coins + adds(worth) - published) <= APART

    for currency, values in game.file.coin_micros.items():
        expected = values if name in LATEST else [value for value in values if holds(currency, value)]
        assert offered.pop(currency, []) == expected, currency
    assert not offered


@pytest.mark.parametrize("name", sorted(LATEST))
def test_dm_19_pl_13_the_par_sheet_states_the_exact_cash_returns(counted, name):
    game, parts, adds = counted(name)
    rtp = sum(parts.values())
    command = [BINARY, "par", game.NAME, "--format", "json"]
    sheet = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    places = len(sheet["rtp"].split(".")[1])
    said = [(of["currency"], of["coin_value"], of["rtp"], of["rounds_wins"]) for of in sheet["cash"]]
    expected = []
    for currency, values in sorted(ladders(game.NAME).items()):
        for value in values:
            worth = coin(currency, value)
            jackpot = parts.get("jackpot_seed", 0) if currency == PLAY_MONEY else 0
            expected.append((currency, value, stated(rtp - jackpot + adds(worth), places), worth.denominator > 1))
    assert sorted(said) == sorted(expected)
