import hashlib
import tomllib
from fractions import Fraction
from pathlib import Path

GAMES = Path(__file__).resolve().parents[2] / "engine/slots/golden"


def ladders(game):
    of_game = tomllib.loads((GAMES.parent / "ladders.toml").read_text())[game]
    return {currency: ladder["coin_values"].split() for currency, ladder in of_game.items()}


def micros(values):
    return [Fraction(text) * 1_000_000 for text in values]


class GameFile:
    def __init__(self, name, version):
        content = (GAMES / name / f"{version}.toml").read_bytes()
        self.version = version
        self.hash = hashlib.sha256(content).hexdigest()
        self.data = tomllib.loads(content.decode())
        self.symbols = self.data["symbols"]
        self.codes = [symbol["code"] for symbol in self.symbols]
        stake = self.data["stake"]
        offered = ladders(stake.get("ladders", name))
        own = {currency: stake["coin_values"] for currency in offered} if "coin_values" in stake else offered
        self.coin_micros = {currency: micros(values) for currency, values in own.items()}
        self.lines = [[int(row) for row in rows] for rows in self.data.get("lines", {}).get("rows", [])]

    def numbered(self, role):
        return [number for number, symbol in enumerate(self.symbols) if symbol["role"] == role]

    def only(self, role):
        (number,) = self.numbered(role)
        return number

    def pays(self, symbol, count, key="pays"):
        row = self.symbols[symbol].get(key, [])
        return row[count - 1] if 0 < count <= len(row) else 0

    def strips(self, texts):
        return [[self.codes.index(code) for code in text.split()] for text in texts]
