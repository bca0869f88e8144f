"""The games that are implemented a second time."""

from bewitched import Bewitched

GAMES = [Bewitched]
