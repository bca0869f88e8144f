"""Simulated wallet APIs of operators. Every request and answer is checked against the schemas in the published API
document."""

import base64
import datetime
import json
import re
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import yaml
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT202012

TESTDATA = Path(__file__).parent / "testdata"
FORMATS = FormatChecker()
MINOR = 100


@FORMATS.checks("date-time", raises=ValueError)
def is_time(text):
    return datetime.datetime.fromisoformat(text).tzinfo is not None


class Published:
    def __init__(self, file):
        self.document = yaml.safe_load((TESTDATA / file).read_text())
        self.registry = Registry().with_resource("urn:api", DRAFT202012.create_resource(self.document))

    def check(self, at, value):
        pointer = "/".join(quote(str(key).replace("~", "~0").replace("/", "~1")) for key in at)
        schema = {"$ref": f"urn:api#/{pointer}"}
        Draft202012Validator(schema, registry=self.registry, format_checker=FORMATS).validate(value)

    def resolve(self, at, node):
        while "$ref" in node:
            at = node["$ref"].removeprefix("#/").split("/")
            node = self.document
            for key in at:
                node = node[key]
        return at, node

    def operation(self, method, path):
        for template, operations in self.document["paths"].items():
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template))
            if (found := re.fullmatch(pattern, path)) and method in operations:
                return ["paths", template, method], {name: unquote(text) for name, text in found.groupdict().items()}
        raise AssertionError(f"{method} {path} is not published")

    def request(self, method, target, headers, body):
        url = urlsplit(target)
        at, in_path = self.operation(method, url.path)
        operation = self.document["paths"][at[1]][method]
        given = {"path": in_path, "query": dict(parse_qsl(url.query, strict_parsing=bool(url.query))), "header": headers}
        for number, parameter in enumerate(operation.get("parameters", [])):
            place, parameter = self.resolve([*at, "parameters", number], parameter)
            value = given[parameter["in"]].get(parameter["name"].lower() if parameter["in"] == "header" else parameter["name"])
            assert value is not None or not parameter.get("required"), f"{parameter['name']} is missing"
            if value is not None:
                self.check([*place, "schema"], value)
        schema = [*at, "requestBody", "content", "application/json", "schema"]
        message = json.loads(body)
        self.check(schema, message)
        _, names = self.resolve(schema, operation["requestBody"]["content"]["application/json"]["schema"])
        assert not message.keys() - names["properties"].keys(), f"not published: {message.keys() - names['properties'].keys()}"
        return at, {**given["path"], **given["query"], **given["header"]}, message

    def answer(self, at, status, message):
        responses = self.document["paths"][at[1]][at[2]]["responses"]
        place, response = self.resolve([*at, "responses", str(status)], responses[str(status)])
        assert "application/json" in response["content"]
        self.check([*place, "content", "application/json", "schema"], message)


@dataclass
class Round:
    game: str
    bet: str
    net: int = 0
    jackpots: int = 0
    is_free: bool = False
    is_closed: bool = False
    is_cancelled: bool = False
    is_paid: bool = False
    closings: list = field(default_factory=list)


class Operator:

    def __init__(self, document, sessions, funds):
        self.published = Published(document)
        self.sessions = sessions
        self.balances = {player: funds for player in sessions.values()}
        self.transactions, self.rounds = {}, {}
        self.faults, self.violations, self.calls = [], [], []
        self.lock = threading.Lock()

    def serve(self):
        operator = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = operator.answer(self.path, {name.lower(): text for name, text in self.headers.items()}, body)
                if answer is None:
                    self.close_connection = True
                    return
                status, message = answer
                body = json.dumps(message).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, target, headers, body):
        """Returns the HTTP status and the message, or None if a simulated fault loses the call or the answer."""
        with self.lock:
            try:
                at, given, message = self.published.request("post", target, headers, body)
                kind = self.kind(target, message)
                self.calls.append((kind, self.id_of(message)))
                fault = next((fault for fault in self.faults if fault[0] == kind), None)
                if fault:
                    self.faults.remove(fault)
                if fault and fault[1] == "lost call":
                    return None
                status, answer = self.applied(kind, given, message, body)
                self.published.answer(at, status, answer)
                return None if fault else (status, answer)
            except Exception as error:
                self.violations.append(f"{target} {body}: {error!r}")
                return 500, {}

    def open(self, name, player, round, game, minor, is_free=False):
        content = (player, round, game, -minor)
        if name in self.transactions:
            return "ok" if self.transactions[name] == content else "duplicate"
        if self.balances[player] < minor:
            return "poor"
        assert round not in self.rounds, "a round has one bet"
        self.move(name, content)
        self.rounds[round] = Round(game, name, -minor, is_free=is_free)
        return "ok"

    def pay(self, name, player, round, game, minor, closes, jackpot=0):
        content = (player, round, game, minor)
        if name in self.transactions:
            return "ok" if self.transactions[name] == content else "duplicate"
        if self.balances[player] + minor < 0:
            return "poor"
        self.move(name, content)
        of = self.rounds[round]
        of.net += minor - jackpot
        of.jackpots += jackpot
        of.is_paid |= minor > jackpot
        self.ends(of, name, closes)
        return "ok"

    def cancel(self, name, player, round, closes):
        of = self.rounds[round]
        _, _, game, minor = self.transactions[of.bet]
        self.move(name, (player, round, game, -minor))
        of.net -= minor
        of.is_cancelled = True
        self.ends(of, name, closes)

    def move(self, name, content):
        self.transactions[name] = content
        self.balances[content[0]] += content[3]

    def ends(self, of, name, closes):
        if closes:
            of.is_closed = True
            of.closings.append(name)


def round_of_bet(operator, reference):
    return next((round for round, of in operator.rounds.items() if of.bet == reference), None)


class Pam(Operator):
    TOKEN = "the PAM's token"

    def __init__(self, sessions, funds):
        super().__init__("pam_api.yml", sessions, funds)

    def kind(self, target, message):
        return {"WITHDRAW": "bet", "DEPOSIT": "win", "CANCEL": "rollback"}.get(message["transactionType"], "promo")

    def id_of(self, message):
        return message["providerTransactionId"]

    def applied(self, kind, given, message, body):
        assert given["authorization"] == f"Bearer {self.TOKEN}"
        player = given["playerId"]
        assert message["provider"] == given["provider"]
        if self.sessions.get(given["x-player-token"]) != player:
            return 401, {"status": "ERROR", "error": {"code": "PAM_ERR_SESSION_NOT_FOUND", "message": "no such session"}}
        code = self.code(player, message)
        cash = {"cashAmount": self.balances[player] / MINOR, "bonusAmount": 0, "promoAmount": 0}
        result = {"transactionResult": {"transactionId": f"pam-{len(self.transactions)}", "balance": cash}}
        if code == "ok":
            return 200, {"status": "OK", **result}
        return 200, {"status": "ERROR", "error": {"code": f"PAM_ERR_{code}", "message": "refused"}, **result}

    def code(self, player, message):
        kind, name, round = message["transactionType"], message["providerTransactionId"], message["providerRoundId"]
        game, closes = message["providerGameId"], message["isGameOver"]
        minor = int(Decimal(str(message["cashAmount"])) * MINOR)
        jackpot = sum(int(Decimal(str(won["jackpotAmount"])) * MINOR) for won in message.get("jackpots", []))
        codes = {"ok": "ok", "poor": "CASH_OVERDRAFT", "duplicate": "DUPLICATE_TRANS"}
        of = self.rounds.get(round)
        if name in self.transactions and kind.endswith("CANCEL"):
            return "ok"
        if kind in ("WITHDRAW", "PROMOWITHDRAW"):
            if message.get("betCode") == "reversal":
                return codes[self.pay(name, player, round, game, -minor, closes)]
            return codes[self.open(name, player, round, game, minor, kind == "PROMOWITHDRAW")]
        if kind in ("CANCEL", "PROMOCANCEL"):
            of = self.rounds.get(round_of_bet(self, message["providerBetRef"]))
            if of is None:
                return "CANCEL_NOT_FOUND"
            if of.is_cancelled:
                return "TRANS_ALREADY_CANCELLED"
            if of.is_closed or of.is_paid:
                return "TRANS_ALREADY_SETTLED"
            self.cancel(name, player, round, closes)
            return "ok"
        if kind == "DEPOSIT" and name not in self.transactions:
            if of is None or of.is_cancelled or of.is_closed:
                return "TRANS_NOT_FOUND" if of is None else "TRANS_ALREADY_CANCELLED" if of.is_cancelled else "TRANS_ALREADY_SETTLED"
        return codes[self.pay(name, player, round, game, minor, closes, jackpot)]


class Caleta(Operator):
    UNIT = 1_000

    def __init__(self, sessions, funds, public_key):
        super().__init__("caleta-1.5.yml", sessions, funds)
        self.public_key = public_key

    def kind(self, target, message):
        return target.removeprefix("/wallet/")

    def id_of(self, message):
        return message["transaction_uuid"]

    def applied(self, kind, given, message, body):
        signature = base64.b64decode(given["x-auth-signature"])
        self.public_key.verify(signature, body, padding.PKCS1v15(), hashes.SHA256())
        answer = {"request_uuid": message["request_uuid"]}
        player = self.sessions.get(message["token"])
        if player is None or message.get("supplier_user", message.get("user")) != player:
            return 200, {**answer, "status": "RS_ERROR_INVALID_TOKEN"}
        code = self.code(kind, player, message)
        status = "RS_OK" if code == "ok" else f"RS_ERROR_{code}"
        return 200, {**answer, "status": status, "user": player, "currency": "EUR", "balance": self.balances[player] * self.UNIT}

    def code(self, kind, player, message):
        name, round, game = message["transaction_uuid"], message["round"], message["game_code"]
        closes, minor = message["round_closed"], message.get("amount", 0) // self.UNIT
        codes = {"ok": "ok", "poor": "NOT_ENOUGH_MONEY", "duplicate": "DUPLICATE_TRANSACTION"}
        if kind == "bet":
            if message.get("bet") == "reversal":
                return codes[self.pay(name, player, round, game, -minor, closes)]
            return codes[self.open(name, player, round, game, minor, message["is_free"])]
        of = self.rounds.get(round_of_bet(self, message["reference_transaction_uuid"]))
        if of is None:
            return "TRANSACTION_DOES_NOT_EXIST"
        if kind == "win":
            if of.is_cancelled and name not in self.transactions:
                return "TRANSACTION_ROLLED_BACK"
            jackpot = message.get("jackpot_win", 0) // self.UNIT
            return codes[self.pay(name, player, round, game, minor, closes, jackpot)]
        if not of.is_cancelled:
            self.cancel(name, player, round, closes)
        return "ok"
