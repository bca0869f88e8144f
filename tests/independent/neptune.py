import rounds
from chances import count_chances, mean_of_cells
from game_file import GameFile
from rounds import WINDOWS_MAX, expect
from wins import Lines, at_stops, count, flat, scatter_wins, total

ROWS = 3
TREASURES = 3


class Neptune:
    NAME = "neptune"
    DECIDES_NOTHING = ()

    def __init__(self, version):
        self.file = GameFile(self.NAME, version)
        self.strips = self.file.strips(self.file.data["reels"]["strips"])
        self.lines = Lines(self.file, ROWS)
        self.mermaid = self.file.only("scatter")
        self.treasure = self.file.only("bonus")
        self.multiplier = self.file.data["free_spins"]["multiplier"]

    def run(self, cells):
        length = next((reel for reel, symbol in enumerate(cells) if symbol != self.treasure), len(cells))
        return length if length >= TREASURES else 0

    def returns(self):
        line = mean_of_cells(self.strips, lambda cells: self.lines.best(cells)[0])
        mermaids = count_chances(self.strips, [self.mermaid], ROWS).items()
        scatter = sum(chance * self.file.pays(self.mermaid, number) for number, chance in mermaids)
        spins = sum(chance * self.file.pays(self.mermaid, number, "free_spins") for number, chance in mermaids)
        amounts = self.file.data["treasure"]["amounts"]
        weight = sum(amount["weight"] for amount in amounts)
        objects = mean_of_cells(self.strips, self.run)
        treasure = objects * sum(amount["coins"] * amount["weight"] for amount in amounts) / weight
        free = spins / (1 - spins) * (self.multiplier * line + scatter + treasure)
        return {"base_lines": line, "scatter": scatter, "treasure": treasure, "free_spins": free}

    def round(self, stake, terms):
        return Round(self, stake, terms)


class Round(rounds.Round):
    PARTS = ("base_lines", "scatter", "treasure", "free_spins")

    def __init__(self, game, stake, terms):
        super().__init__(game, stake, terms)
        self.treasures = []
        self.treasure_part = None

    def resolve(self, choice, shown):
        match choice[0]:
            case "spin":
                return self.paid_spin(shown)
            case "pick":
                return self.objects(choice[1], shown)
            case "free spins":
                return self.series(shown)

    def window(self, kind, multiplier, shown):
        window = at_stops(self.game.strips, shown["stops"], ROWS)
        stake, cells = self.stake, flat(window)
        lines = self.game.lines.wins(window, stake["lines"], stake["coins_per_line"] * multiplier, shown["wins"])
        scatters = scatter_wins(self.file, window, self.game.mermaid, stake["coins"])
        spins = 10 if count(window, [self.game.mermaid]) >= 3 else 0
        runs = [self.game.run(on_line(cells)) for on_line in self.game.lines.on[: stake["lines"]]]
        self.treasures = [run for run in runs if run]
        self.free_spins += spins
        spin = self.spin(
            kind,
            window,
            lines + scatters,
            shown,
            multiplier=multiplier,
            free_spins_won=spins,
            bonus=bool(self.treasures),
        )
        self.add(spin)
        return spin, total(lines), total(scatters)

    def paid_spin(self, shown):
        expect(len(shown["spins"]) == 1, "one window")
        spin, lines, scatters = self.window(["base"], 1, shown["spins"][0])
        self.treasure_part = "treasure"
        self.go_on()
        return self.outcome({"base_lines": lines, "scatter": scatters}, spins=[spin])

    def series(self, shown):
        spins = []
        for window in shown["spins"]:
            expect(self.free_spins > 0 and not self.treasures, "a free spin too many")
            self.free_spins -= 1
            spins.append(self.window(["free"], self.game.multiplier, window)[0])
        full = len(spins) == WINDOWS_MAX
        expect(self.free_spins == 0 or self.treasures or full, "a free spin too few")
        self.treasure_part = "free_spins"
        self.go_on()
        return self.outcome({"free_spins": sum(spin["win_coins"] for spin in spins)}, spins=spins)

    def objects(self, objects, shown):
        """Checks the amounts of the objects picked for the first pending treasure line, and pays them (NP-10, NP-11)."""
        run, data, coins = self.treasures.pop(0), self.file.data["treasure"], self.stake["coins_per_line"]
        expect(len(set(objects)) == run and set(objects) <= set(range(data["objects"])), f"objects {objects}")
        amounts = [coins_shown for _, coins_shown in shown["reveals"]]
        expect({amount / coins for amount in amounts} <= {amount["coins"] for amount in data["amounts"]}, "an amount")
        expect(sum(amounts) <= 2_500 * coins, "the picks win more than the cap")
        won = sum(amounts)
        self.won_coins += won
        self.won_minor += self.minor(won)
        self.go_on()
        reveals = [[number, amount] for number, amount in zip(objects, amounts, strict=True)]
        return self.outcome({self.treasure_part: won}, reveals=reveals)

    def go_on(self):
        self.pick = [self.treasures[0], self.file.data["treasure"]["objects"]] if self.treasures else None
        self.awaiting = "pick" if self.treasures else "free spins" if self.free_spins else "nothing"
