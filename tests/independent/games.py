"""The games that are implemented a second time."""

from bewitched import Bewitched
from dwarf_mine import DwarfMine
from mystery_elves import MysteryElves
from neptune import Neptune
from witch_feature import WitchFeature

GAMES = [Bewitched, DwarfMine, MysteryElves, Neptune, WitchFeature]
