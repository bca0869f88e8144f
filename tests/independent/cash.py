"""Exact effect of rounding to minor units on a ways game's return (DM-17, DM-19).

With a coin of n fifths of a minor unit, the rounding of a win depends only on the win in coins modulo 5.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product
from math import factorial, lcm, prod

from expanding import CRYSTALS

FIFTHS = 5
# Decimal places in ISO 4217 of currencies that do not have 2.
DIGITS = {"JPY": 0, "KWD": 3}


def minor_micros(currency):
    return 10 ** (6 - DIGITS.get(currency, 2))


def coin(currency, value):
    return Fraction(value) * 1_000_000 / minor_micros(currency)


def rounded(coins, worth):
    return round(coins * worth) - coins * worth


class Drawn:
    def __init__(self, cells, number, symbols):
        self.number, self.all = number, sum(cells.symbols.values())
        chances = [self.landing(cells, before) for before in range(CRYSTALS + 1)]
        self.of = lcm(*(chance.denominator for row in chances for chance in row)) * self.all**number
        self.landed = [
            [int(chance * self.of / self.all ** (number - n)) for n, chance in enumerate(row)] for row in chances
        ]
        weights = [cells.symbols.get(symbol, 0) for symbol in symbols]
        self.shown = [shown(number - crystals, weights, self.all - sum(weights)) for crystals in range(number + 1)]

    def landing(self, cells, before):
        chances = {0: Fraction(1)}
        for _ in range(self.number):
            after = Counter()
            for landed, chance in chances.items():
                left = (CRYSTALS - before - landed) * cells.crystal
                after[landed] += chance * Fraction(self.all, self.all + left)
                after[landed + 1] += chance * Fraction(left, self.all + left)
            chances = after
        return [chances.get(landed, Fraction(0)) for landed in range(self.number + 1)]


def shown(cells, weights, others):
    ways = {}
    for counts in product(range(cells + 1), repeat=len(weights)):
        rest = cells - sum(counts)
        if rest >= 0:
            orders = factorial(cells) // prod(map(factorial, (*counts, rest)))
            number = orders * prod(w**n for w, n in zip(weights, counts, strict=True)) * others**rest
            if number:
                ways[counts] = number
    return ways


def residues(reels, pays, cells=None, grown=0):
    pays = {symbol: [pay % FIFTHS for pay in row] for symbol, row in pays.items()}
    symbols = [symbol for symbol, row in pays.items() if any(row)]
    rows = [pays[symbol] for symbol in symbols]
    drawn = Drawn(cells, grown, symbols) if grown else None
    states = {(0, 0, packed([1] * len(symbols))): 1}
    number = 1
    for length, columns in enumerate(reels):
        contents, seen = contents_of(columns, symbols, drawn), {}
        number *= len(columns) * (drawn.of if drawn else 1)
        after = defaultdict(int)
        ends = [(place, row[length]) for place, row in enumerate(rows) if row[length]]
        goes_on = packed([1 if any(row[length + 1 :]) else 0 for row in rows]) & RUNS
        for (landed, won, ways), times in states.items():
            runs = ways & RUNS
            if runs not in seen:
                seen[runs] = [projected(of, runs, goes_on) for of in contents]
            exponents = ways & EXPONENTS
            for crystals, of in enumerate(seen[runs]):
                chance = times * drawn.landed[landed][crystals] if drawn else times
                if not chance:
                    continue
                for (counts, shown), often in of.items():
                    on = runs & counts
                    more = won
                    for place, pay in ends:
                        if runs >> BITS * place & ~shown >> BITS * place & RUN:
                            more += pay * unpacked(ways, place)
                    now = on | (exponents + (counts & EXPONENTS)) & (on >> 2 | on >> 3)
                    after[landed + crystals, more % FIFTHS, now] += chance * often
        states = after
    left = [0] * FIFTHS
    for (_, won, ways), times in states.items():
        won += sum(unpacked(ways, place) * row[len(reels)] for place, row in enumerate(rows))
        left[won % FIFTHS] += times
    assert sum(left) == number
    return [Fraction(ways, number) for ways in left]


POWERS = [1, 2, 4, 3]
BITS, RUN, SYMBOLS = 4, 8, 8
RUNS = sum(RUN << BITS * place for place in range(SYMBOLS))
EXPONENTS = sum(3 << BITS * place for place in range(SYMBOLS))


def packed(figures):
    assert len(figures) <= SYMBOLS
    places = ((place, figure % FIFTHS) for place, figure in enumerate(figures))
    return sum((RUN | POWERS.index(figure)) << BITS * place for place, figure in places if figure)


def unpacked(figures, place):
    figure = figures >> BITS * place
    return POWERS[figure & 3] if figure & RUN else 0


def contents_of(columns, symbols, drawn):
    of_strip = Counter(tuple(map(column.count, symbols)) for column in columns)
    contents = []
    for cells in drawn.shown if drawn else [{(0,) * len(symbols): 1}]:
        both = Counter()
        for (above, times), (below, ways) in product(of_strip.items(), cells.items()):
            counts = tuple(map(sum, zip(above, below, strict=True)))
            both[packed(counts), packed([min(count, 1) for count in counts])] += times * ways
        contents.append(both)
    return contents


def projected(contents, runs, goes_on):
    on, seen = runs & goes_on, Counter()
    on |= on >> 2 | on >> 3
    for (counts, shown), times in contents.items():
        seen[counts & on, shown & runs] += times
    return seen
