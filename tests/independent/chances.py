from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod


def mean_of_cells(strips, value):
    combinations = product(*(Counter(strip).items() for strip in strips))
    parts = (prod(times for _, times in cells) * value(tuple(symbol for symbol, _ in cells)) for cells in combinations)
    return Fraction(sum(parts), prod(len(strip) for strip in strips))


def count_chances(strips, symbols, rows):
    chances = {0: Fraction(1)}
    for strip in strips:
        stops = range(len(strip))
        on_reel = Counter(sum(strip[(stop + row) % len(strip)] in symbols for row in range(rows)) for stop in stops)
        after = Counter()
        for (before, chance), (more, times) in product(chances.items(), on_reel.items()):
            after[before + more] += chance * Fraction(times, len(strip))
        chances = after
    return chances
