"""Wins of a window. A window is a list of reels from left to right; a reel is a list of symbols from top to bottom."""

from fractions import Fraction
from functools import cache
from math import prod
from operator import itemgetter


def at_stops(strips, stops, rows):
    return [
        [strip[(stop + row) % len(strip)] for row in range(rows)] for strip, stop in zip(strips, stops, strict=True)
    ]


def flat(window):
    return [symbol for reel in window for symbol in reel]


def count(window, symbols):
    return sum(symbol in symbols for symbol in flat(window))


def minor(coins, coin_micros, minor_micros):
    return round(coins * Fraction(coin_micros) / minor_micros)


class Lines:
    def __init__(self, file, rows):
        self.file = file
        self.wilds = file.numbered("wild")
        self.paying = file.numbered("regular") + self.wilds
        self.on = [itemgetter(*(reel * rows + row for reel, row in enumerate(line))) for line in file.lines]
        self.best = cache(self.best)

    def best(self, cells):
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
        named = {line: (symbol, length) for kind, line, symbol, length, _ in shown if kind == "line"}
        cells, wins = flat(window), []
        for line, on_line in enumerate(self.on[:lines]):
            pays, ways = self.best(on_line(cells))
            if pays:
                symbol, length = named[line] if named.get(line) in ways else ways[0]
                wins.append(["line", line, symbol, length, pays * coins])
        return wins


def scatter_wins(file, window, symbol, coins):
    shown = count(window, [symbol])
    pays = file.pays(symbol, shown)
    return [["scatter", 0, symbol, shown, pays * coins]] if pays else []


def ways_wins(file, window, symbols):
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
    return sum(win[-1] for win in wins)
