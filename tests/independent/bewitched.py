from fractions import Fraction

import rounds
from chances import count_chances, mean_of_cells
from game_file import GameFile
from rounds import WINDOWS_MAX, expect
from wins import Lines, at_stops, count, scatter_wins, total

ROWS = 3


class Bewitched:
    NAME = "bewitched"
    DECIDES_NOTHING = ()

    def __init__(self, version):
        self.file = GameFile(self.NAME, version)
        self.strips = self.file.strips(self.file.data["reels"]["strips"])
        self.lines = Lines(self.file, ROWS)
        self.scatter = self.file.only("scatter")
        self.merlin = self.file.only("bonus")
        self.multiplier = self.file.data["free_spins"]["multiplier"]

    def returns(self):
        line = mean_of_cells(self.strips, lambda cells: self.lines.best(cells)[0])
        scatters = count_chances(self.strips, [self.scatter], ROWS).items()
        scatter = sum(chance * self.file.pays(self.scatter, number) for number, chance in scatters)
        scatter_spins = sum(chance * self.file.pays(self.scatter, number, "free_spins") for number, chance in scatters)
        merlins = count_chances(self.strips, [self.merlin], ROWS).items()
        bonus = sum(chance for number, chance in merlins if number >= 3)
        prizes = self.file.data["wheel"]["prizes"]
        weight = sum(prize["weight"] for prize in prizes)
        money = bonus * sum(prize.get("multiple", 0) * prize["weight"] for prize in prizes) / weight
        bonus_spins = bonus * sum(prize.get("free_spins", 0) * prize["weight"] for prize in prizes) / weight
        spins = scatter_spins + bonus_spins
        free = spins / (1 - spins) * (self.multiplier * line + scatter + money)
        seed = Fraction(self.file.data["jackpot"]["seed_coins"], self.file.data["jackpot"]["odds"])
        return {"base_lines": line, "scatter": scatter, "bonus": money, "free_spins": free, "jackpot_seed": seed}

    def round(self, stake, terms):
        return Round(self, stake, terms)


class Round(rounds.Round):
    PARTS = ("base_lines", "scatter", "bonus", "free_spins")
    TURNS_MAX = 5

    def __init__(self, game, stake, terms):
        super().__init__(game, stake, terms)
        self.line_coins = 0
        self.bonus_in = None
        self.risked = 0

    def resolve(self, choice, shown):
        match choice[0]:
            case "spin":
                return self.paid_spin(shown)
            case "pick":
                return self.vials(choice[1], shown)
            case "free spins":
                return self.series(shown)
            case "double":
                return self.double(choice[1], shown)
            case "collect":
                self.awaiting = "nothing"
                return self.outcome({})

    def window(self, kind, multiplier, shown):
        window = at_stops(self.game.strips, shown["stops"], ROWS)
        stake = self.stake
        lines = self.game.lines.wins(window, stake["lines"], stake["coins_per_line"] * multiplier, shown["wins"])
        scatters = scatter_wins(self.file, window, self.game.scatter, stake["coins"])
        spins = self.file.pays(self.game.scatter, count(window, [self.game.scatter]), "free_spins")
        bonus = count(window, [self.game.merlin]) >= 3
        spin = self.spin(
            kind, window, lines + scatters, shown, multiplier=multiplier, free_spins_won=spins, bonus=bonus
        )
        self.add(spin)
        self.free_spins += spins
        return spin, total(lines), total(scatters)

    def paid_spin(self, shown):
        expect(len(shown["spins"]) == 1, "one window")
        spin, lines, scatters = self.window(["base"], 1, shown["spins"][0])
        self.line_coins = lines
        self.go_on("base" if spin["bonus"] else None)
        return self.outcome({"base_lines": lines, "scatter": scatters}, spins=[spin])

    def series(self, shown):
        spins, bonus = [], False
        for window in shown["spins"]:
            expect(self.free_spins > 0 and not bonus, "a free spin too many")
            self.free_spins -= 1
            spin, _, _ = self.window(["free"], self.game.multiplier, window)
            bonus = spin["bonus"]
            spins.append(spin)
        expect(self.free_spins == 0 or bonus or len(spins) == WINDOWS_MAX, "a free spin too few")
        self.go_on("free spins" if bonus else None)
        return self.outcome({"free_spins": sum(spin["win_coins"] for spin in spins)}, spins=spins)

    def vials(self, objects, shown):
        expect(len(set(objects)) == 3 and set(objects) <= set(range(self.file.data["bonus"]["vials"])), "vials")
        bonus_in, prizes = self.bonus_in, self.file.data["wheel"]["prizes"]
        prize, coins = shown["prize"], 0
        match prize:
            case ["coins", multiple, _]:
                expect(multiple in [each.get("multiple") for each in prizes], f"a prize of {multiple} bets")
                coins = multiple * self.stake["coins"]
                prize = ["coins", multiple, coins]
            case ["free spins", spins]:
                expect(spins in [each.get("free_spins") for each in prizes], f"a prize of {spins} free spins")
                self.free_spins += spins
            case _:
                expect(prize == ["jackpot"] and self.terms["jackpot"], f"a prize of {prize}")
        self.won_coins += coins
        self.won_minor += self.minor(coins)
        self.go_on(None)
        part = "bonus" if bonus_in == "base" else "free_spins"
        return self.outcome({part: coins}, prize=prize, jackpot=prize == ["jackpot"])

    def go_on(self, bonus_in):
        self.pick = None
        if bonus_in:
            self.awaiting, self.bonus_in = "pick", bonus_in
            self.pick = [self.file.data["bonus"]["needs"], self.file.data["bonus"]["vials"]]
        elif self.free_spins:
            self.awaiting = "free spins"
        elif self.terms["double"] and self.line_coins:
            self.awaiting, self.risked = "double", self.minor(self.line_coins)
        else:
            self.awaiting = "nothing"

    def double(self, guess, shown):
        card = shown["card"]["card"]
        expect({guess, card} <= {"red heart", "black spade"}, f"{guess}, {card}")
        won, risked = guess == card, self.risked
        self.risked = 2 * risked if won else 0
        self.won_minor += self.risked - risked
        self.strip = [card, *self.strip]
        if not won or len(self.strip) == self.TURNS_MAX:
            self.awaiting = "nothing"
        turn = {"guess": guess, "card": card, "won": won, "risked_minor": risked, "minor": self.risked}
        return self.outcome({}, card=turn)
