import rounds
from game_file import GameFile
from rounds import WINDOWS_MAX, expect
from wins import Lines, at_stops
from witch_means import returns

REELS, ROWS = 5, 4
RED, BLUE, GREEN = 1, 2, 3
FEATURES = {
    "high symbols": [RED, BLUE, GREEN],
    "random wilds": [RED, BLUE, BLUE],
    "multiplier": [RED, GREEN, GREEN],
    "mega wild": [BLUE, BLUE, GREEN],
}


class WitchFeature:
    NAME = "witch-feature"
    # Parts of an outcome that affect no other part: a drawn cell that wins nothing; a Potion's position, and its colour if
    # no feature follows; the multiplier of a respin that wins nothing.
    DECIDES_NOTHING = ("spins[].cells[]", "spins[].marks[]", "spins[].marks[][1]", "spins[].marks[][2]",
                       "spins[].multiplier")

    def __init__(self, version):
        self.file = GameFile(self.NAME, version)
        data = self.file.data
        self.strips, self.respin_strips, self.free_strips = (
            self.file.strips(data[reels]["strips"]) for reels in ("reels", "respin_reels", "free_reels")
        )
        self.lines = Lines(self.file, ROWS)
        self.wild = self.file.only("wild")
        self.free_spins = self.file.only("free-spins")
        self.potions = self.file.numbered("collected")
        self.high = {self.file.codes.index(code) for code, _ in data["high_symbols"]["symbols"]}
        self.counts = {
            key: [each for each, _ in data[key]["counts"]] for key in ("random_wilds", "multiplier", "explosion")
        }

    def returns(self):
        return returns(self)

    def round(self, stake, terms):
        return Round(self, stake, terms)


class Round(rounds.Round):
    PARTS = ("base_lines", "high_symbols", "random_wilds", "multiplier", "mega_wild", "explosion", "free_spins")

    def __init__(self, game, stake, terms):
        super().__init__(game, stake, terms)
        carried = terms["carried"]
        self.collected = [potion for potion in (carried["potion_1"], carried["potion_2"]) if potion]
        self.unlocked = max(carried["unlocked"], 1)
        self.until_win = None

    def resolve(self, choice, shown):
        self.left = list(shown["spins"])
        self.spins, self.parts, carried = [], {}, None
        if choice[0] == "spin":
            carried = self.paid_spin()
        else:
            self.go_on(choice[0])
        expect(not self.left, "the step has a window too many")
        self.awaiting = "feature" if self.until_win else "free spins" if self.free_spins else "nothing"
        return self.outcome(self.parts, spins=self.spins, carried=carried)

    def window(self, kind, window, shown, part, **more):
        multiplier = more.get("multiplier", 1)
        coins = self.stake["coins_per_line"] * multiplier
        wins = self.game.lines.wins(window, self.stake["lines"], coins, shown["wins"])
        spin = self.spin([kind], window, wins, shown, **more)
        self.add(spin)
        self.spins.append(spin)
        self.parts[part] = self.parts.get(part, 0) + spin["win_coins"]
        return wins

    def paid_spin(self):
        spin = self.left.pop(0)
        window = at_stops(self.game.strips, spin["stops"], ROWS)
        both = all(self.game.free_spins in reel for reel in (window[0], window[-1]))
        won = self.file.data["free_spins"]["awarded"] if both else 0
        reels = [cell // ROWS for _, cell, _ in spin["marks"]]
        expect(all(kind == "potion" for kind, _, _ in spin["marks"]), "Potions")
        expect(reels == sorted(set(reels)) and set(reels) <= {1, 2, 3}, "Potions on reels 2, 3, 4, one a reel (WF-05)")
        self.window("base", window, spin, "base_lines", marks=spin["marks"], free_spins_won=won)
        self.free_spins += won
        before = list(self.collected), self.unlocked
        triggered = self.collect([self.game.potions.index(symbol) + 1 for _, _, symbol in spin["marks"]])
        if triggered == "explosion":
            self.explosion(window)
        elif triggered == "multiplier":
            self.start_respins("multiplier")
        elif triggered:
            self.respin(triggered, triggered.replace(" ", "_"), 1)
        if (self.collected, self.unlocked) == before:
            return None
        first, second = (*self.collected, 0, 0)[:2]
        return {"potion_1": first, "potion_2": second, "unlocked": self.unlocked}

    def collect(self, potions):
        triggered = None
        for potion in potions:
            self.collected.append(potion)
            if len(self.collected) < 3:
                continue
            made, self.collected = sorted(self.collected), []
            features = list(FEATURES)
            feature = next((place for place, name in enumerate(features) if FEATURES[name] == made), len(features))
            if feature < self.unlocked:
                triggered = features[feature]
                self.unlocked = min(max(self.unlocked, feature + 2), len(features))
            else:
                triggered = "explosion"
        return triggered

    def explosion(self, window):
        if not self.left:
            return
        spin = self.left.pop(0)
        cells = [cell for _, cell, _ in spin["marks"]]
        expect(all(kind == "question" for kind, _, _ in spin["marks"]), "Question marks")
        expect(len(set(cells)) == len(cells) in self.game.counts["explosion"], "number of Question marks")
        exploded = [list(reel) for reel in window]
        for _, cell, symbol in spin["marks"]:
            expect(symbol in self.game.high, "a Question mark's symbol")
            exploded[cell // ROWS][cell % ROWS] = symbol
        self.window("explosion", exploded, spin, "explosion", stops=self.spins[0]["stops"], marks=spin["marks"])

    def respin(self, kind, part, multiplier):
        spin = self.left.pop(0)
        marks = [] if kind == "high symbols" else spin["marks"]
        if kind == "high symbols":
            expect(not spin["stops"] and set(spin["cells"]) <= self.game.high, "high symbols only (WF-07)")
            window = [spin["cells"][reel * ROWS : (reel + 1) * ROWS] for reel in range(REELS)]
        else:
            window = at_stops(self.game.respin_strips, spin["stops"], ROWS)
            sides = [side for _, _, side in marks]
            covered = [cell for _, corner, side in marks for cell in square(corner, side)]
            expect(all(name == "placed wild" for name, _, _ in marks), "Wilds")
            expect(len(set(covered)) == len(covered), "Wilds one on the other")
            if kind == "random wilds":
                expect(set(sides) == {1} and len(sides) in self.game.counts["random_wilds"], "single Wilds (WF-08)")
            else:
                expect(sides in ([3], [2, 2]), "one of 3x3 or two of 2x2 (WF-10)")
            for reel, row in covered:
                window[reel][row] = self.game.wild
        self.window(kind, window, spin, part, multiplier=multiplier, marks=marks)

    def start_respins(self, part):
        self.until_win, self.respins_part = self.left[0]["multiplier"], part
        expect(self.until_win in self.game.counts["multiplier"], "a multiplier")
        self.respins()

    def respins(self):
        while self.until_win and len(self.spins) < WINDOWS_MAX:
            spin = self.left.pop(0)
            window = at_stops(self.game.respin_strips, spin["stops"], ROWS)
            if self.window("multiplier", window, spin, self.respins_part, multiplier=self.until_win):
                self.until_win = None

    def go_on(self, choice):
        expect(choice == "feature" or not self.until_win, "respins first")
        self.respins()
        while self.free_spins and len(self.spins) < WINDOWS_MAX and not self.until_win:
            self.free_spin()

    def free_spin(self):
        spin = self.left.pop(0)
        window = at_stops(self.game.free_strips, spin["stops"], ROWS)
        number = sum(self.game.free_spins in reel for reel in (window[0], window[-1]))
        won = [0, self.file.data["free_spins"]["one"], self.file.data["free_spins"]["both"]][number]
        self.free_spins += won - 1
        self.window("free", window, spin, "free_spins", free_spins_won=won)
        if not self.left or self.left[0]["kind"] == ["free"]:
            return
        (kind,) = self.left[0]["kind"]
        multiplier = self.left[0]["multiplier"]
        if kind == "multiplier":
            self.start_respins("free_spins")
        else:
            expect(kind in FEATURES and multiplier in (1, *self.game.counts["multiplier"]), "a feature")
            self.respin(kind, "free_spins", multiplier)


def square(corner, side):
    reel, row = divmod(corner, ROWS)
    expect(reel + side <= REELS and row + side <= ROWS, "a Wild within the window")
    return [(reel + right, row + down) for right in range(side) for down in range(side)]
