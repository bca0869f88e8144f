import json
import urllib.error
import urllib.request

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

CONSOLE = '[console]\nlisten = "127.0.0.1:0"\n'
ALICE = {"operatorId": "demo", "playerId": "alice", "currencyCode": "EUR"}
STAKE = {"coinValue": "0.1", "lines": 15, "coinsPerLine": 1}
MINE = {"game": "dwarf-mine", "stake": {"coinValue": "0.01", "lines": 1, "coinsPerLine": 25}}


class Caller:
    def __init__(self, address):
        self.address = address.rstrip("/")
        with urllib.request.urlopen(f"{self.address}/openapi.json") as answer:
            self.document = json.load(answer)
        self.registry = Registry().with_resource("urn:openapi", DRAFT202012.create_resource(self.document))

    def check(self, value, *place):
        pointer = "/".join(part.replace("~", "~0").replace("/", "~1") for part in place)
        validator = Draft202012Validator({"$ref": f"urn:openapi#/{pointer}"}, registry=self.registry)
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
        assert not errors, errors

    def call(self, path, message, code=200):
        place = ["paths", path, "post"]
        if code != 400:
            self.check(message, *place, "requestBody", "content", "application/json", "schema")
        request = urllib.request.Request(
            self.address + path, json.dumps(message).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request) as answer:
                status, media_type, text = answer.status, answer.headers["content-type"], answer.read()
        except urllib.error.HTTPError as refused:
            status, media_type, text = refused.code, refused.headers["content-type"], refused.read()
        assert status == code, text
        answers = [json.loads(line) for line in text.splitlines()]
        for answer in answers:
            kind = "200" if status == 200 else "default"
            self.check(answer, *place, "responses", kind, "content", media_type, "schema")
        return answers if media_type == "application/jsonl" else answers[0]


@pytest.fixture
def caller(start):
    return Caller(start(CONSOLE).console)


def test_the_document_is_one_of_openapi_3_1(caller):
    document = caller.document
    assert document["openapi"] == "3.1.0"
    for name, schema in document["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert schema.get("type") in ("object", "string"), name
    names = [call["post"]["operationId"] for call in document["paths"].values()]
    assert len(names) == len(set(names)) > 50
    tags = {tag["name"] for tag in document["tags"]}
    assert all(set(call["post"]["tags"]) <= tags and call["post"]["description"] for call in document["paths"].values())


def test_pl_11_rounds_money_history_and_reports_are_as_the_document_says(caller):
    ledger, spins, reports = "/v1/LedgerService/", "/v1/SpinService/", "/v1/ReportService/"
    caller.call(f"{ledger}OpenAccount", {"requestId": "open", "account": ALICE})
    caller.call(f"{ledger}Deposit", {"requestId": "in", "account": ALICE, "amountMinor": "100000"})
    bet = {"account": ALICE, "game": "neptune", "stake": STAKE}
    played = caller.call(f"{spins}Spin", {"requestId": "r1", **bet})["played"]
    assert caller.call(f"{spins}Spin", {"requestId": "r1", **bet})["played"]["position"] == played["position"]
    round_id = played["roundId"]
    if played["state"] == "ROUND_STATE_OPEN":
        caller.call(f"{spins}SkipRound", {"requestId": "skip", "roundId": round_id})
    told = caller.call(f"{ledger}GetRound", {"roundId": round_id})["round"]
    assert told["roundId"] == round_id and told["bet"] == {"amountMinor": "150", "currencyCode": "EUR"}
    for path, message in [
        (f"{ledger}GetAccount", {"account": ALICE}),
        (f"{ledger}ListRounds", {"account": ALICE}),
        (f"{ledger}GetLogStatus", {}),
        (f"{spins}ListGames", {}),
        (f"{spins}GetGame", {"game": "bewitched"}),
        ("/v1/JackpotService/GetPool", {"poolId": "bewitched"}),
        (f"{reports}GetIdentity", {}),
        (f"{reports}ListReturns", {}),
        (f"{reports}ListSignificantEvents", {}),
    ]:
        assert caller.call(path, message), path
    lines = caller.call(f"{spins}Autospin", {"requestId": "series", "spins": 2, **bet | MINE})
    assert lines and all("result" in line for line in lines)


def test_pl_12_what_the_document_does_not_allow_is_refused(caller):
    for message, reason in [
        ({"roundId": 1}, "MESSAGE_MALFORMED"),
        ({"roundID": "a/b/1"}, "MESSAGE_MALFORMED"),
        ({"roundId": "a b"}, "INVALID_FIELD"),
        ([], "MESSAGE_MALFORMED"),
    ]:
        refusal = caller.call("/v1/LedgerService/GetRound", message, 400)
        assert refusal["details"][0]["reason"] == reason, refusal
    refusal = caller.call("/v1/LedgerService/GetRound", {"roundId": "demo/nobody/1"}, 404)
    assert (refusal["code"], refusal["details"][0]["reason"]) == (5, "ROUND_UNKNOWN")
