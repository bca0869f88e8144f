"""Exact value of Hold and Win in bets, over all respins (ME-04 to ME-12)."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

MIDDLE, OUTER, RESPINS = 3, 12, 3


def mean(weighted):
    return Fraction(sum(value * weight for value, weight in weighted), sum(weight for _, weight in weighted))


class HoldAndWin:
    def __init__(self, data):
        strip = data["feature"]["strip"].split()
        self.lands = Fraction(strip.count("Bo"), len(strip))
        values, mystery, multiplying = (data["bonus"][key] for key in ("values", "mystery", "multiplying"))
        specials = [(special["bets"], special["weight"]) for special in data["mysteries"]]
        factors = [(factor["times"], factor["weight"]) for factor in data["factors"]]
        self.multiplying = Fraction(multiplying, sum(values) + mystery + multiplying)
        self.mystery = Fraction(mystery, sum(values) + mystery)
        self.value = mean(list(enumerate(values, 1)))
        self.special = mean(specials)
        grand, weight = max(specials)
        self.grand = self.mystery * Fraction(weight, sum(weight for _, weight in specials))
        self.grand_bets = grand
        self.factor, self.factor_beside_grand = mean(factors), mean([pair for pair in factors if pair[0] <= 2])
        self.from_here = cache(self.from_here)

    def starting(self, chances):
        return sum(chance * self.from_here(*held, RESPINS) for held, chance in chances.items() if sum(held) >= 6)

    def from_here(self, outer, middle, left):
        if not left or (outer, middle) == (OUTER, MIDDLE):
            return self.ended(outer, middle)
        paid = Fraction(0)
        for more in product(range(OUTER - outer + 1), range(MIDDLE - middle + 1)):
            chance = self.landing(OUTER - outer, more[0]) * self.landing(MIDDLE - middle, more[1])
            paid += chance * self.from_here(outer + more[0], middle + more[1], RESPINS if any(more) else left - 1)
        return paid

    def landing(self, of, number):
        return comb(of, number) * self.lands**number * (1 - self.lands) ** (of - number)

    def ended(self, outer, middle):
        paid = Fraction(0)
        for multiplying in range(middle + 1):
            chance = comb(middle, multiplying) * self.multiplying**multiplying
            chance *= (1 - self.multiplying) ** (middle - multiplying)
            paid += chance * self.functions(outer + middle - multiplying, multiplying)
        return paid * 2 if (outer, middle) == (OUTER, MIDDLE) else paid

    def functions(self, others, multiplying):
        each = (1 - self.mystery) * self.value + self.mystery * self.special
        no_grand = others * (each - self.grand * self.grand_bets) * (1 - self.grand) ** (others - 1)
        beside_grand = others * each - no_grand
        turned = (multiplying + others * self.mystery) * self.value
        return no_grand * self.factor**multiplying + beside_grand * self.factor_beside_grand**multiplying + turned
