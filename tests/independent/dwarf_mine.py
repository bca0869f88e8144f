from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod

import rounds
from cash import FIFTHS, residues, rounded
from expanding import Cells, mean_ways_win, windows_of
from game_file import GameFile
from rounds import expect
from wins import at_stops, count, minor, ways_wins

REELS, ROWS, FREE_ROWS = 5, 4, 7
BET = 25
RESIDUES = {}
COLOURS = ("green", "yellow", "blue", "red")


class DwarfMine:
    NAME = "dwarf-mine"
    DECIDES_NOTHING = ("spins[].cells[]",)

    def __init__(self, version):
        self.file = GameFile(self.NAME, version)
        reels = self.file.data["reels"]
        self.base = self.file.strips(reels["base"])
        self.bonus = self.file.only("free-spins")
        self.crystals = self.file.numbered("collected")
        self.super_high = self.file.numbered("super-high")
        self.paying = [symbol for symbol in range(len(self.file.symbols)) if self.file.pays(symbol, REELS)]
        expansion = self.file.data["expansion"]
        weights = {self.file.codes.index(each["code"]): each["weight"] for each in expansion["symbols"]}
        self.cells = Cells(weights, expansion["crystal"])
        self.fractions = Counter()

    def free(self, super_high=None):
        mark, symbol = "*", "" if super_high is None else self.file.codes[super_high]
        return self.file.strips(text.replace(mark, symbol) for text in self.file.data["reels"]["free"])

    def returns(self):
        """Returns the long-run return by component, in bets. Every fifth crystal of a colour completes a collection."""
        base = sum(chance * self.mean_win(reels, grown) for chance, reels, grown in self.windows())
        free, collection = self.spins()
        won = base, free * self.mean_free_win(), collection * sum(map(self.mean_free_win, self.super_high))
        return dict(zip(Round.PARTS, (of / BET for of in won), strict=True))

    def rounding(self):
        paid, free, collected = self.residues()

        def added(worth):
            expect(FIFTHS % worth.denominator == 0, "fifths of a minor unit")

            def mean(all):
                return sum(chance * rounded(coins, worth) for of in all for coins, chance in enumerate(of))

            spins, collection = self.spins()
            parts = mean(paid), spins * mean([free]), collection * mean(collected)
            return dict(zip(Round.PARTS, (of / (BET * worth) for of in parts), strict=True))

        return added

    def residues(self):
        """Returns the distributions of the wins in coins modulo 5 for a paid spin, a free spin and Collection Free Spins."""
        pays = {s: [self.file.pays(s, length) for length in range(REELS + 1)] for s in self.paying}
        odds = repr((self.base, self.free(), vars(self.cells), pays))
        if odds not in RESIDUES:

            def of_free(super_high=None):
                return residues([windows_of(strip, FREE_ROWS) for strip in self.free(super_high)], pays)

            paid = [
                [chance * part for part in residues(reels, pays, self.cells, grown)]
                for chance, reels, grown in self.windows()
            ]
            RESIDUES[odds] = paid, of_free(), [of_free(super_high) for super_high in self.super_high]
        return RESIDUES[odds]

    def windows(self):
        columns = [windows_of(strip, ROWS) for strip in self.base]
        for shows in product((True, False), repeat=REELS):
            reels = [
                [each for each in of if (self.bonus in each) == show] for of, show in zip(columns, shows, strict=True)
            ]
            chance = prod(Fraction(len(some), len(of)) for some, of in zip(reels, columns, strict=True))
            if chance:
                yield chance, reels, sum(shows)

    def spins(self):
        free = crystals = Fraction(0)
        for chance, _, grown in self.windows():
            landed = self.cells.drawn(REELS * grown, 0, None).items()
            crystals += chance * sum(number * likely for (number, _), likely in landed)
            if grown == 3:
                free += chance * self.file.data["free_spins"]["spins"]
        collection = self.file.data["collection"]
        return free, crystals / len(self.crystals) / collection["needs"] * collection["spins"]

    def mean_win(self, reels, grown=0):
        wins = (mean_ways_win(reels, s, partial(self.file.pays, s), self.cells, grown) for s in self.paying)
        return sum(wins)

    def mean_free_win(self, super_high=None):
        return self.mean_win([windows_of(strip, FREE_ROWS) for strip in self.free(super_high)])

    def round(self, stake, terms):
        return Round(self, stake, terms)


class Round(rounds.Round):
    PARTS = ("base_ways", "free_spins", "collections")

    def __init__(self, game, stake, terms):
        super().__init__(game, stake, terms)
        self.carried = dict(terms["carried"])
        self.series = []

    def resolve(self, choice, shown):
        return self.paid_spin(shown) if choice[0] == "spin" else self.free_series(shown)

    def paid_spin(self, shown):
        (spin,) = shown["spins"]
        window = at_stops(self.game.base, spin["stops"], ROWS)
        bonuses = [reel.count(self.game.bonus) for reel in window]
        expect(max(bonuses) <= 1 and not bonuses[1] and not bonuses[3], "Bonus on reels 1, 3, 5, one a reel (DM-06)")
        grown = sum(bonuses)
        window = [reel + self.drawn(spin, number, grown) for number, reel in enumerate(window)]
        crystals = self.collect(window)
        expect(all(count(window, [crystal]) <= 1 for crystal in self.game.crystals), "a crystal twice (DM-09)")
        if grown == 3:
            spins = self.file.data["free_spins"]["spins"]
            self.series.insert(0, (["free"], spins, self.game.free(), Fraction(self.stake["coin_value_micros"])))
        won = sum(spins for _, spins, _, _ in self.series)
        wins = ways_wins(self.file, window, self.game.paying)
        spin = self.spin(["base"], window, wins, spin, marks=crystals, free_spins_won=won)
        self.add(spin)
        self.go_on()
        carried = self.carried if self.carried != self.terms["carried"] else None
        return self.outcome({"base_ways": spin["win_coins"]}, spins=[spin], carried=carried)

    def drawn(self, spin, reel, grown):
        rows = ROWS + grown
        cells = spin["cells"][reel * rows + ROWS : (reel + 1) * rows]
        expect(
            len(cells) == grown and set(cells) <= {*self.game.cells.symbols, *self.game.crystals},
            "possible symbols of the expanded rows",
        )
        return cells

    def collect(self, window):
        carried = self.carried
        if not carried["given"]:
            carried["given"] = 1
            carried["red"] = carried["red_gifted"] = self.file.data["collection"]["gift"]
        marks = []
        for number, reel in enumerate(window):
            for row, symbol in enumerate(reel):
                if symbol in self.game.crystals:
                    marks.append(["crystal", number * len(reel) + row, symbol])
        for colour, crystal, super_high in zip(COLOURS, self.game.crystals, self.game.super_high, strict=True):
            if crystal not in [symbol for _, _, symbol in marks]:
                continue
            micros = f"{colour}_micros"
            carried[colour] += 1
            carried[micros] += self.stake["coin_value_micros"]
            if carried[colour] == self.file.data["collection"]["needs"]:
                gifted = carried["red_gifted"] if colour == "red" else 0
                mean = Fraction(carried[micros], carried[colour] - gifted)
                spins = self.file.data["collection"]["spins"]
                self.series.append((["collection", super_high], spins, self.game.free(super_high), mean))
                carried[colour] = carried[micros] = 0
                carried["red_gifted"] -= gifted
        return marks

    def free_series(self, shown):
        kind, number, strips, coin_micros = self.series.pop(0)
        expect(len(shown["spins"]) == number, f"{len(shown['spins'])} free spins of {number}")
        spins = []
        for spin in shown["spins"]:
            window = at_stops(strips, spin["stops"], FREE_ROWS)
            wins = ways_wins(self.file, window, self.game.paying)
            spin = self.spin(kind, window, wins, spin)
            spin["win_minor"] = minor(spin["win_coins"], coin_micros, self.terms["minor_micros"])
            self.game.fractions[spin["win_coins"] * coin_micros / self.terms["minor_micros"] % 1] += 1
            spins.append(spin)
        self.add(*spins)
        self.go_on()
        part = "free_spins" if kind == ["free"] else "collections"
        return self.outcome({part: sum(spin["win_coins"] for spin in spins)}, spins=spins)

    def go_on(self):
        self.free_spins = self.series[0][1] if self.series else 0
        self.awaiting = "free spins" if self.series else "nothing"
