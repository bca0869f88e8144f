"""Exact return of Witch Feature in bets. Except with Mega Wilds, all lines have the same mean, so one line is
computed."""

from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

from chances import count_chances, mean_of_cells
from wins import at_stops

REELS, ROWS, FEATURES = 5, 4, 4


def mean(weighted):
    return Fraction(sum(value * weight for value, weight in weighted), sum(weight for _, weight in weighted))


def chance(figures):
    return Fraction(figures["times"], figures["of"])


class Means:
    def __init__(self, game):
        self.game, self.data = game, game.file.data
        high = self.data["high_symbols"]["symbols"]
        self.high = [[game.file.codes.index(code) for code, weight in high for _ in range(weight)]] * REELS
        self.of_wilds = self.replaced(game.respin_strips, [[game.wild]] * REELS)
        self.respin = self.line(game.respin_strips)

    def line(self, strips):
        return mean_of_cells(strips, lambda cells: self.game.lines.best(cells)[0])

    def replaced(self, strips, by):
        sets = [some for number in range(REELS + 1) for some in combinations(range(REELS), number)]
        return {s: self.line([by[reel] if reel in s else strips[reel] for reel in range(REELS)]) for s in sets}

    def scattered(self, means, number):
        elsewhere = REELS * ROWS - REELS
        ways = sum(mean * comb(elsewhere, number - len(on)) for on, mean in means.items() if len(on) <= number)
        return Fraction(ways, comb(REELS * ROWS, number))

    def scattered_any(self, means, counts):
        return mean([(self.scattered(means, number), weight) for number, weight in counts])

    def mega_wild(self):
        figures = self.data["mega_wild"]
        one = [self.laid(wild) for wild in squares(3)]
        two = [self.laid(a | b) for a, b in combinations(squares(2), 2) if not a & b]
        kinds = (one, figures["one_of_three"]), (two, figures["two_of_two"])
        return mean([(sum(means) / len(means), weight) for means, weight in kinds])

    def laid(self, wilds):
        lines = self.game.file.lines
        on = [tuple(reel for reel, row in enumerate(line) if (reel, row) in wilds) for line in lines]
        return sum(self.of_wilds[cells] for cells in on) / len(lines)

    def winning(self):
        strips = self.game.respin_strips[:3]
        masks = [[self.standing(reel, strip, stop) for stop in range(len(strip))] for reel, strip in enumerate(strips)]
        wins = sum(any(a & b & c for a, b, c in zip(*stops, strict=True)) for stops in product(*masks))
        return Fraction(wins, prod(map(len, strips)))

    def standing(self, reel, strip, stop):
        (column,) = at_stops([strip], [stop], ROWS)
        shows = [column[line[reel]] for line in self.game.file.lines]
        paying, wild = self.game.lines.paying, self.game.wild
        return [sum(1 << line for line, shown in enumerate(shows) if shown in (symbol, wild)) for symbol in paying]


def squares(side):
    corners = product(range(REELS - side + 1), range(ROWS - side + 1))
    return [frozenset((x + right, y + down) for right in range(side) for down in range(side)) for x, y in corners]


def returns(game):
    """Return by component with all features unlocked, and total return while 1, 2 or 3 features are unlocked (WF-21)."""
    means, data = Means(game), game.file.data
    times = mean(data["multiplier"]["counts"])
    features = {
        "high_symbols": means.line(means.high),
        "random_wilds": means.scattered_any(means.of_wilds, data["random_wilds"]["counts"]),
        "multiplier": times * means.respin / means.winning(),
        "mega_wild": means.mega_wild(),
    }
    exploded = means.scattered_any(means.replaced(game.strips, means.high), data["explosion"]["counts"])
    often = chance(data["potions"]["chance"])
    red, blue, green = (Fraction(weight, sum(data["potions"]["colours"])) for weight in data["potions"]["colours"])
    chances = 6 * red * blue * green, 3 * red * blue**2, 3 * red * green**2, 3 * blue**2 * green
    made = dict(zip(features, chances, strict=True))

    def unlocked(number):
        some = list(features)[:number]
        parts = {name: often * made[name] * features[name] for name in some}
        others = often * (1 - sum(made[name] for name in some))
        return {**parts, "explosion": others * chance(data["explosion_chance"]) * exploded}

    always = {"base_lines": means.line(game.strips), "free_spins": free_spins(game, features, times, means)}
    locked = {f"unlocked_{n}": sum({**always, **unlocked(n)}.values()) for n in range(1, FEATURES)}
    return {**always, **unlocked(FEATURES), **locked}


def free_spins(game, features, times, means):
    data = game.file.data["free_spins"]
    high, wilds, multiplier, mega = features.values()
    following = (high, wilds, multiplier, mega, high * times, wilds * times, mega * times)
    feature = mean(list(zip(following, data["features"], strict=True)))
    each = means.line(game.free_strips) + chance(data["feature_chance"]) * feature

    def both(strips):
        shows = [1 - count_chances([strip], [game.free_spins], ROWS)[0] for strip in (strips[0], strips[-1])]
        return prod(shows), sum(shows) - 2 * prod(shows)

    two, one = both(game.free_strips)
    again = two * data["both"] + one * data["one"]
    return both(game.strips)[0] * data["awarded"] / (1 - again) * each
