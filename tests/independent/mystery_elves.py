from itertools import product
from math import prod

import rounds
from chances import count_chances, mean_of_cells
from game_file import GameFile
from hold_and_win import HoldAndWin
from rounds import expect
from wins import Lines, at_stops, count

REELS, ROWS = 5, 3
CELLS = REELS * ROWS
VALUES = range(1, 19)
READING_ORDER = [reel * ROWS + row for row in range(ROWS) for reel in range(REELS)]
COLOURS = {"red heart": "red", "red diamond": "red", "black spade": "black", "black club": "black"}
TURNS_MAX = 10


class MysteryElves:
    NAME = "mystery-elves"
    # Parts of an outcome that do not affect the win, and are therefore not compared: a card's symbol other than its colour
    # (ME-17), symbols that are not held, and Bonus symbols outside the feature.
    DECIDES_NOTHING = ("card.card", "spins[].cells[]", "spins[].marks[][2]")

    def __init__(self, version):
        self.file = GameFile(self.NAME, version)
        data = self.file.data
        self.strips = self.file.strips(data["reels"]["strips"])
        self.bought_strips = self.file.strips(data["buy"]["strips"])
        (self.feature_strip,) = self.file.strips([data["feature"]["strip"]])
        self.lines = Lines(self.file, ROWS)
        self.bonus = self.file.only("bonus")
        self.mysteries = {special["name"]: special["bets"] for special in data["mysteries"]}
        self.factors = [factor["times"] for factor in data["factors"]]
        self.gamble = data.get("gamble", {"limit_on": "result", "half": "kept"})

    def returns(self):
        """Returns the exact return by component: in bets, or for the bought feature relative to its price."""
        bought = sum(self.spin_returns(self.bought_strips).values()) / self.file.data["buy"]["bets"]
        return {**self.spin_returns(self.strips), "buy_feature": bought}

    def spin_returns(self, strips):
        middle = count_chances(strips[2:3], [self.bonus], ROWS)
        outer = count_chances(strips[:2] + strips[3:], [self.bonus], ROWS)
        held = {(a, b): outer[a] * middle[b] for a, b in product(outer, middle)}
        return {
            "base_lines": mean_of_cells(strips, lambda cells: self.lines.best(cells)[0]),
            "hold_and_win": HoldAndWin(self.file.data).starting(held),
        }

    def round(self, stake, terms):
        return Round(self, stake, terms)


class Round(rounds.Round):
    PARTS = ("base_lines", "hold_and_win")

    def __init__(self, game, stake, terms):
        super().__init__(game, stake, terms)
        self.held = {}
        self.risked = None

    def resolve(self, choice, shown):
        match choice[0]:
            case "spin":
                return self.paid_spin(shown)
            case "feature":
                return self.hold_and_win(shown)
            case "double":
                return self.double(choice[1], shown)
            case "halve":
                half = (self.risked + 1) // 2
                self.risked -= half
                self.offer_gamble()
                return self.outcome({}, credited_minor=half if self.game.gamble["half"] == "credited" else 0)
            case "collect":
                self.awaiting = "nothing"
                return self.outcome({})

    def paid_spin(self, shown):
        (spin,) = shown["spins"]
        bought = self.stake["buy_feature"]
        window = at_stops(self.game.bought_strips if bought else self.game.strips, spin["stops"], ROWS)
        wins = self.game.lines.wins(window, self.stake["lines"], self.stake["coins_per_line"], spin["wins"])
        self.held = self.landed(spin, {})
        starts = count(window, [self.game.bonus]) >= 6
        expect(starts or not bought, "a bought feature starts")
        spin = self.spin(["base"], window, wins, spin, marks=self.marks(), bonus=starts)
        self.add(spin)
        if starts:
            self.awaiting = "feature"
        else:
            self.offer_gamble()
        return self.outcome({"base_lines": spin["win_coins"]}, spins=[spin])

    def landed(self, spin, held):
        marks = {cell: (kind, value) for kind, cell, value in spin["marks"]}
        bonuses = [cell for cell, symbol in enumerate(spin["cells"]) if symbol == self.game.bonus]
        expect(
            set(held) <= set(marks) == set(bonuses), "held symbols stay, and each Bonus symbol has a value or function"
        )
        for cell in set(marks) - set(held):
            kind, value = marks[cell]
            expect(
                (kind == "bonus" and value in VALUES) or (kind in ("mystery", "multiplier") and not value), "a Bonus"
            )
            expect(kind != "multiplier" or cell // ROWS == REELS // 2, "Multiplying on the middle reel")
        return {cell: held.get(cell, mark) for cell, mark in marks.items()}

    def marks(self):
        return [[self.held[cell][0], cell, self.held[cell][1]] for cell in READING_ORDER if cell in self.held]

    def hold_and_win(self, shown):
        spins, left = [], 3
        windows = iter(shown["spins"])
        while left and len(self.held) < CELLS:
            spin = next(windows)
            before = len(self.held)
            self.held = self.landed(spin, self.held)
            left = 3 if len(self.held) > before else left - 1
            spins.append(self.held_window(spin))
        bets = self.functions(windows, spins)
        expect(next(windows, None) is None, "a window too many")
        spins[-1]["multiplier"] = 2 if len(self.held) == CELLS else 1
        bets *= spins[-1]["multiplier"]
        coins = bets * self.bet
        self.won_coins += coins
        self.won_minor += self.minor(coins)
        self.offer_gamble()
        return self.outcome({"hold_and_win": coins}, spins=spins, prize=["coins", bets, coins])

    def held_window(self, spin):
        cells = spin["cells"]
        expect(len(cells) == CELLS and set(cells) <= set(self.game.feature_strip), "symbols of the feature's reels")
        window = [cells[reel * ROWS : (reel + 1) * ROWS] for reel in range(REELS)]
        return self.spin(["hold and win"], window, [], spin, stops=[], marks=self.marks())

    def functions(self, windows, spins):
        """Applies ME-05 to ME-08, and returns the payment in bets."""
        acting = [cell for cell in READING_ORDER if cell in self.held and self.held[cell][0] != "bonus"]
        if not acting:
            return sum(value for _, value in self.held.values())
        spin, cells = next(windows), spins[-1]["cells"]
        revealed = {cell: (kind, value) for kind, cell, value in spin["marks"]}
        for cell in acting:
            kind, value = self.held[cell][0], revealed[cell][1]
            expect(value in (self.game.mysteries.values() if kind == "mystery" else self.game.factors), "a function")
            self.held[cell] = kind, value
        factors = [value for kind, value in self.held.values() if kind == "multiplier"]
        grand = ("mystery", max(self.game.mysteries.values())) in self.held.values()
        expect(not grand or max(factors, default=2) <= 2, "GRAND with a factor above 2 (ME-07)")
        paid = sum(value for kind, value in self.held.values() if kind != "multiplier") * prod(factors)
        spins.append({**self.held_window(spin), "cells": cells})
        spin = next(windows)
        turned = {cell: value for _, cell, value in spin["marks"]}
        for cell in acting:
            expect(turned[cell] in VALUES, "a value")
            self.held[cell] = "bonus", turned[cell]
        spins.append({**self.held_window(spin), "cells": cells})
        return paid + sum(turned[cell] for cell in acting)

    def offer_gamble(self):
        """Offers the gamble (ME-14)."""
        if self.risked is None:
            self.risked = self.won_minor
        within = 0 < self.risked <= self.terms["gamble_max_minor"]
        self.awaiting = "double" if self.terms["double"] and within else "nothing"

    def offers(self, choice):
        """Returns whether the round awaits this choice (ME-15, ME-16)."""
        without = {"double": self.passes, "halve": lambda: self.risked < 2}.get(choice[0])
        return super().offers(choice) and not (without and without())

    def passes(self):
        """Returns whether the gamble's limit is exceeded: by the win at risk or, in version 1.0, by the doubled win."""
        counts = {"win": self.risked, "result": 2 * self.risked}[self.game.gamble["limit_on"]]
        return counts > self.terms["gamble_max_minor"]

    def double(self, guess, shown):
        """Resolves a guess (ME-15, ME-17)."""
        card, won = shown["card"]["card"], shown["card"]["won"]
        right = [face for face, colour in COLOURS.items() if colour == COLOURS[guess]]
        expect(
            card in [*right, "joker"] if won else card in COLOURS and card not in right, f"{card} for {guess}, {won}"
        )
        risked = self.risked
        self.risked = 2 * risked if won else 0
        self.won_minor += self.risked - risked
        self.strip = [card, *self.strip]
        if not won or len(self.strip) == TURNS_MAX or self.passes():
            self.awaiting = "nothing"
        turn = {"guess": guess, "card": card, "won": won, "risked_minor": risked, "minor": self.risked}
        return self.outcome({}, card=turn)
