"""Exact mean win of windows whose reels grow by drawn cells, where each crystal lands at most once (DM-03, DM-07 to
DM-09)."""

from collections import Counter
from fractions import Fraction
from itertools import product

CRYSTALS = 4


def windows_of(strip, rows):
    return [[strip[(stop + row) % len(strip)] for row in range(rows)] for stop in range(len(strip))]


class Cells:
    def __init__(self, symbols, crystal):
        self.symbols, self.crystal = symbols, crystal

    def drawn(self, number, landed, symbol):
        chances = {(landed, 0): Fraction(1)}
        for _ in range(number):
            after = Counter()
            for (crystals, shown), chance in chances.items():
                new, of_symbol = (CRYSTALS - crystals) * self.crystal, self.symbols.get(symbol, 0)
                weight = sum(self.symbols.values()) + new
                after[crystals + 1, shown] += chance * Fraction(new, weight)
                after[crystals, shown + 1] += chance * Fraction(of_symbol, weight)
                after[crystals, shown] += chance * Fraction(weight - new - of_symbol, weight)
            chances = {state: chance for state, chance in after.items() if chance}
        return chances


def mean_ways_win(reels, symbol, pays, cells=None, grown=0):
    running = {0: Fraction(1)}
    won = Fraction(0)
    for length in range(len(reels) + 1):
        if length == len(reels):
            return won + pays(length) * sum(running.values())
        on, off = Counter(), Counter()
        of_strip = Counter(column.count(symbol) for column in reels[length])
        for landed, before in running.items():
            drawn = cells.drawn(grown, landed, symbol) if grown else {(landed, 0): Fraction(1)}
            for (shown, times), ((after, more), chance) in product(of_strip.items(), drawn.items()):
                weight = before * chance * Fraction(times, len(reels[length]))
                if shown + more:
                    on[after] += weight * (shown + more)
                else:
                    off[after] += weight
        won += pays(length) * sum(off.values())
        running = on
