"""Adapter from Motherlode's wallet calls to Caleta's operator API 1.5."""

import base64
import json
import sys
import uuid
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from adapter import NotFound, Unanswered, done, opening_of, parser, post, refused, serve, unknown  # noqa: E402

REASONS = {
    "RS_ERROR_NOT_ENOUGH_MONEY": "INSUFFICIENT_FUNDS",
    "RS_ERROR_BET_LIMIT_EXCEEDED": "LIMIT_REACHED",
    "RS_ERROR_USER_DISABLED": "PLAYER_BLOCKED",
    "RS_ERROR_INVALID_TOKEN": "SESSION_INVALID",
    "RS_ERROR_TOKEN_EXPIRED": "SESSION_INVALID",
    "RS_ERROR_INVALID_GAME": "GAME_NOT_ALLOWED",
    "RS_ERROR_WRONG_CURRENCY": "CURRENCY_MISMATCH",
    "RS_ERROR_TRANSACTION_ROLLED_BACK": "ROLLED_BACK",
    "RS_ERROR_DUPLICATE_TRANSACTION": "DUPLICATE_CONTENT",
    "RS_ERROR_INVALID_SIGNATURE": "UNAUTHENTICATED",
}
UNKNOWN = ("RS_ERROR_UNKNOWN", "RS_ERROR_TIMEOUT")
DIGITS = 5


class Caleta:
    def __init__(self, url, key, answer_seconds):
        self.url, self.key, self.answer_seconds = url.rstrip("/"), key, answer_seconds

    def bet(self, request):
        return self.result(request, self.send(request, "bet", request.amount))

    def free_round(self, request):
        return self.result(request, self.send(request, "bet"))

    def win(self, request):
        return self.result(request, self.send(request, "win", request.amount))

    def jackpot(self, request):
        jackpot = {"jackpot_win": units(request, request.amount)}
        return self.result(request, self.send(request, "win", request.amount, **jackpot))

    def refund(self, request):
        if request.amount == request.round.bet_total:
            return self.result(request, self.cancel(request))
        return self.result(request, self.send(request, "win", request.amount, bet="refund"))

    def reversal(self, request):
        return self.result(request, self.send(request, "bet", request.amount, bet="reversal"))

    def close(self, request):
        return self.result(request, self.send(request, "win"))

    def roll_back(self, request):
        answer = self.cancel(request)
        if answer["status"] == "RS_ERROR_TRANSACTION_DOES_NOT_EXIST":
            raise NotFound
        return done() if answer["status"] == "RS_ERROR_TRANSACTION_ROLLED_BACK" else self.result(request, answer)

    def cancel(self, request):
        return self.call(request, "rollback", {"reference_transaction_uuid": opening_of(request), "user": request.account.player_id})

    def send(self, request, kind, money=None, **more):
        body = {
            "amount": units(request, money),
            "currency": request.account.currency_code,
            "supplier_user": request.account.player_id,
            **more,
        }
        if kind == "win":
            body["reference_transaction_uuid"] = opening_of(request)
        return self.call(request, kind, body)

    def call(self, request, kind, body):
        context, round = request.context, request.round
        if not context.operator_session:
            return {"status": "RS_ERROR_INVALID_TOKEN"}
        if round.campaign_id and kind != "rollback":
            body["campaign_uuid"] = round.campaign_id
        body |= {
            "token": context.operator_session,
            "transaction_uuid": context.transaction_uuid,
            "request_uuid": str(uuid.uuid4()),
            "round": round.round_uuid,
            "round_closed": round.closed,
            "game_code": round.game,
            "is_free": bool(round.campaign_id),
        }
        sent = json.dumps(body).encode()
        signature = base64.b64encode(self.key.sign(sent, padding.PKCS1v15(), hashes.SHA256())).decode()
        status, answer = post(f"{self.url}/wallet/{kind}", sent, {"X-Auth-Signature": signature}, self.answer_seconds)
        try:
            answer = json.loads(answer)
            if status != 200 or answer["request_uuid"] != body["request_uuid"] or not answer["status"].startswith("RS_"):
                raise ValueError(f"HTTP status {status}, or the answer has a different request_uuid or no status")
            return answer
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Unanswered(str(error)) from error

    def result(self, request, answer):
        status, balance = answer["status"], answer.get("balance")
        if status in UNKNOWN:
            return unknown()
        if status != "RS_OK":
            return refused(REASONS.get(status, "INVALID_REQUEST"), status)
        return done(balance // unit(request) if isinstance(balance, int) else None)


def unit(request):
    return 10 ** (DIGITS - request.context.currency_digits)


def units(request, money):
    return money.amount_minor * unit(request) if money else 0


options = parser(__doc__)
options.add_argument("--key-file", type=Path, required=True, help="RSA key (PEM) that signs the requests")
given = options.parse_args()
key = serialization.load_pem_private_key(given.key_file.read_bytes(), password=None)
serve(Caleta(given.url, key, given.answer_seconds), given)
