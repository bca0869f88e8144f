"""What a window wins, by the words of the rules and in the slowest way.

A window is a list of reels from the left, each a list of symbols from the top.
"""

from fractions import Fraction
from functools import cache
from math import prod
from operator import itemgetter


def at_stops(strips, stops, rows):
    """The window that shows when each strip's stop is in the top row."""
    return [[strip[(stop + row) % len(strip)] for row in range(rows)] for strip, stop in zip(strips, stops, strict=True)]


def flat(window):
    """The cells reel by reel, as outcomes list them."""
    return [symbol for reel in window for symbol in reel]


def count(window, symbols):
    """How many of these symbols the window shows anywhere."""
    return sum(symbol in symbols for symbol in flat(window))


def minor(coins, coin_micros, minor_micros):
    """Coins in minor units, halves to the even one (DM-17), which is how Python rounds a fraction."""
    return round(coins * Fraction(coin_micros) / minor_micros)


class Lines:
    """Line wins from left to right with a wild: the highest of each line, and each line's alone."""

    def __init__(self, file, rows):
        self.file = file
        self.wilds = file.numbered("wild")
        self.paying = file.numbered("regular") + self.wilds
        # For each line its cells among all of the window's.
        self.on = [itemgetter(*(reel * rows + row for reel, row in enumerate(line))) for line in file.lines]
        self.best = cache(self.best)

    def best(self, cells):
        """The highest payment of these cells from the left, and every (symbol, count) that is paid as much."""
        found = {}
        for symbol in self.paying:
            length = 0
            for cell in cells:
                if cell != symbol and cell not in self.wilds:
                    break
                length += 1
            found.setdefault(self.file.pays(symbol, length), []).append((symbol, length))
        highest = max(found)
        return highest, found[highest]

    def wins(self, window, lines, coins, shown):
        """The wins of the first so many lines at so many coins each. Where two ways of counting pay a line the same,
        such as wilds alone or wilds for another symbol, it's the one of them that was shown."""
        named = {line: (symbol, length) for kind, line, symbol, length, _ in shown if kind == "line"}
        cells, wins = flat(window), []
        for line, on_line in enumerate(self.on[:lines]):
            pays, ways = self.best(on_line(cells))
            if pays:
                symbol, length = named[line] if named.get(line) in ways else ways[0]
                wins.append(["line", line, symbol, length, pays * coins])
        return wins


def scatter_wins(file, window, symbol, coins):
    """What so many of a scatter anywhere pay at so many coins in all."""
    shown = count(window, [symbol])
    pays = file.pays(symbol, shown)
    return [["scatter", 0, symbol, shown, pays * coins]] if pays else []


def ways_wins(file, window, symbols):
    """Each symbol's win on neighbouring reels from the left: its payment times the product of its counts (DM-03)."""
    wins = []
    for symbol in symbols:
        counts = []
        for reel in window:
            if symbol not in reel:
                break
            counts.append(reel.count(symbol))
        pays = file.pays(symbol, len(counts))
        if pays:
            wins.append(["ways", prod(counts), symbol, len(counts), pays * prod(counts)])
    return wins


def total(wins):
    """Coins of all these wins."""
    return sum(win[-1] for win in wins)
