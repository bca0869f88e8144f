"""Exact chances of what reels show when every stop of every reel is equally likely: counted, not derived."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod


def mean_of_cells(strips, value):
    """The mean of `value(cells)` over every combination of one symbol a reel, each as frequent as on its strip: that is
    what any row of a reel shows."""
    combinations = product(*(Counter(strip).items() for strip in strips))
    parts = (prod(times for _, times in cells) * value(tuple(symbol for symbol, _ in cells)) for cells in combinations)
    return Fraction(sum(parts), prod(len(strip) for strip in strips))


def count_chances(strips, symbols, rows):
    """The chance of each number of these symbols anywhere in the window: every stop of each reel, reel after reel."""
    chances = {0: Fraction(1)}
    for strip in strips:
        stops = range(len(strip))
        on_reel = Counter(sum(strip[(stop + row) % len(strip)] in symbols for row in range(rows)) for stop in stops)
        after = Counter()
        for (before, chance), (more, times) in product(chances.items(), on_reel.items()):
            after[before + more] += chance * Fraction(times, len(strip))
        chances = after
    return chances
