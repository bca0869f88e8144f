from fractions import Fraction

import pytest
from dwarf_mine import DwarfMine
from first_spins import first_spins
from games import GAMES
from highest import columns, highest_lines, highest_ways
from rounds import played
from witch_feature import WitchFeature


def named(game):
    return [name for name in GAMES if name.startswith(game.NAME)]


@pytest.mark.parametrize("name", named(WitchFeature))
def test_the_highest_round_of_witch_feature_is_the_engines(name):
    game = GAMES[name]()
    (header,) = played(game, 0, seed=1)

    def most(strips, shows):
        reels = columns(strips, 4)
        outer = {reel: [of for of in reels[reel] if (game.free_spins in of) == shows] for reel in (0, 4)}
        return highest_lines(game.lines, [outer.get(reel, of) for reel, of in enumerate(reels)], game.wild)

    lines, wilds = len(game.file.lines), game.file.pays(game.wild, 5)
    times = max(game.counts["multiplier"])
    respin = highest_lines(game.lines, columns(game.respin_strips, 4), game.wild)
    paid = Fraction(most(game.strips, True), lines) + max(wilds, times * Fraction(respin, lines))
    spins = game.file.data["free_spins"]["awarded"]
    each = Fraction(most(game.free_strips, False), lines) + wilds * times
    assert Fraction(header["highest"]["bets"]) == paid + spins * each


@pytest.mark.parametrize("name", named(WitchFeature))
def test_a_new_players_first_spins_of_witch_feature_are_the_engines(name):
    game = GAMES[name]()
    (header,) = played(game, 0, seed=1)
    found = {**header["returns"], **header["rates"]}
    for key, figure in first_spins(game).items():
        assert float(Fraction(found[key])) == pytest.approx(figure, abs=1e-8), key


@pytest.mark.parametrize("name", named(DwarfMine))
def test_the_highest_free_spins_of_dwarf_mine_are_the_engines(name):
    game = GAMES[name]()
    (header,) = played(game, 0, seed=1)

    def most(super_high):
        pays = {symbol: [game.file.pays(symbol, number) for number in range(6)] for symbol in game.paying}
        return highest_ways(pays, columns(game.free(super_high), 7))

    data = game.file.data
    _, free = header["highest"]["own"]
    assert free == [data["free_spins"]["spins"], most(None)]
    collected = [[data["collection"]["spins"], most(symbol)] for symbol in game.super_high]
    assert header["highest"]["collected"] == collected
