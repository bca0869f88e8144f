"""The games that are implemented a second time."""

from bewitched import Bewitched
from dwarf_mine import DwarfMine
from mystery_elves import MysteryElves
from neptune import Neptune

GAMES = [Bewitched, DwarfMine, MysteryElves, Neptune]
