import json
import os
import subprocess
from itertools import groupby
from pathlib import Path

from cash import minor_micros
from wins import flat, minor, total

ROOT = Path(__file__).resolve().parents[2]
PLAYER = Path(os.environ.get("MOTHERLODE_EXAMPLES") or ROOT / "target/debug/examples") / "outcomes"
# Per step.
WINDOWS_MAX = 100

CHOICES = {
    "spin": {"spin"},
    "pick": {"pick"},
    "free spins": {"free spins"},
    "feature": {"feature"},
    "double": {"double", "halve", "collect"},
    "nothing": set(),
}


class Disagreement(AssertionError):
    """Raised if the engine and this implementation give different results."""


def expect(holds, what):
    if not holds:
        raise Disagreement(what)


def played(game, rounds, seed):
    command = [PLAYER, game.NAME, game.file.version, str(rounds), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield json.loads(process.stdout.readline())
        for _, steps in groupby(map(json.loads, process.stdout), lambda step: step["round"]):
            yield list(steps)
    assert process.returncode == 0, process.returncode


def differences(expected, shown, at="outcome"):
    if expected == shown:
        return []
    if isinstance(expected, dict) and isinstance(shown, dict) and expected.keys() == shown.keys():
        return [line for key in expected for line in differences(expected[key], shown[key], f"{at}.{key}")]
    if isinstance(expected, list) and isinstance(shown, list) and len(expected) == len(shown):
        pairs = enumerate(zip(expected, shown, strict=True))
        return [line for place, (a, b) in pairs for line in differences(a, b, f"{at}[{place}]")]
    return [f"{at}: expected {expected}, shown {shown}"]


class Round:
    PARTS = ()

    def __init__(self, game, stake, terms):
        self.game, self.file, self.stake, self.terms = game, game.file, stake, terms
        self.awaiting = "spin"
        self.pick = None
        self.won_coins = 0
        self.won_minor = 0
        self.free_spins = 0
        self.strip = []

    def minor(self, coins):
        return minor(coins, self.stake["coin_value_micros"], self.terms["minor_micros"])

    def spin(self, kind, window, wins, shown, **more):
        coins = total(wins)
        return {
            "kind": kind,
            "stops": shown["stops"],
            "reels": len(window),
            "rows": len(window[0]),
            "cells": flat(window),
            "multiplier": 1,
            "wins": wins,
            "marks": [],
            "win_coins": coins,
            "win_minor": self.minor(coins),
            "free_spins_won": 0,
            "bonus": False,
            **more,
        }

    def add(self, *spins):
        self.won_coins += sum(spin["win_coins"] for spin in spins)
        self.won_minor += sum(spin["win_minor"] for spin in spins)

    def outcome(self, parts, **more):
        return {
            "spins": [],
            "prize": None,
            "reveals": [],
            "pick": self.pick,
            "card": None,
            "jackpot": False,
            "awaiting": self.awaiting,
            "free_spins_left": self.free_spins,
            "double_strip": self.strip,
            "round_win_coins": self.won_coins,
            "round_win_minor": self.won_minor,
            "credited_minor": 0,
            "carried": None,
            "part_coins": {part: parts.get(part, 0) for part in self.PARTS},
            **more,
        }

    def check_stake(self):
        value, lines, coins = (self.stake[key] for key in ("coin_value_micros", "lines", "coins_per_line"))
        currency = self.terms["currency"]
        expect(self.terms["minor_micros"] == minor_micros(currency), "the worth of a minor unit")
        expect(value in self.file.coin_micros[currency], "coin value")
        for key in ("lines", "coins_per_line"):
            low, high = self.file.data["stake"][key]
            expect(low <= self.stake[key] <= high, key)
        self.bet = lines * coins
        expect(self.bet * value % minor_micros(currency) == 0, "the bet must be whole minor units (DM-19)")
        price = self.file.data["buy"]["bets"] if self.stake["buy_feature"] else 1
        expect(self.stake["coins"] == self.bet * price, "coins of the stake")

    def offers(self, choice):
        return choice[0] in CHOICES[self.awaiting]

    def judge(self, steps):
        self.check_stake()
        for step in steps:
            expect(not any(map(self.offers, step["refused"])), f"{step['refused']} are offered")
            expect(self.offers(step["choice"]), f"the choice {step['choice']} is not offered while the round awaits {self.awaiting}")
            different = differences(self.resolve(step["choice"], step["outcome"]), step["outcome"])
            if different:
                raise Disagreement(f"round {step['round']} step {step['step']}:\n" + "\n".join(different))
        expect(self.awaiting == "nothing", f"the round ends although it awaits {self.awaiting}")
