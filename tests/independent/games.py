from functools import cache, partial

from bewitched import Bewitched
from dwarf_mine import DwarfMine
from mystery_elves import MysteryElves
from neptune import Neptune
from witch_feature import WitchFeature

VERSIONS = {
    Bewitched: ["1.6", "1.6.1"],
    DwarfMine: ["1.0", "1.0.1"],
    MysteryElves: ["1.0", "1.0.1"],
    Neptune: ["1.0", "1.0.1"],
    WitchFeature: ["1.0", "1.0.1"],
}
GAMES = {f"{game.NAME} {version}": partial(game, version) for game, all in VERSIONS.items() for version in all}
LATEST = {f"{game.NAME} {all[-1]}" for game, all in VERSIONS.items()}


@cache
def returns(name):
    return GAMES[name]().returns()
