"""The games that are implemented a second time."""

from bewitched import Bewitched
from dwarf_mine import DwarfMine

GAMES = [Bewitched, DwarfMine]
