"""Adapter from Motherlode's wallet calls to the open PAM API 0.7.0 (valkyrie-fnd/valkyrie, pam/pam_api.yml)."""

import json
import sys
import uuid
from decimal import Decimal, InvalidOperation
from pathlib import Path
from urllib.parse import quote, urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from adapter import NotFound, Unanswered, done, opening_of, parser, post, refused, serve, unknown, uuid_of  # noqa: E402

REASONS = {
    "PAM_ERR_CASH_OVERDRAFT": "INSUFFICIENT_FUNDS",
    "PAM_ERR_BONUS_OVERDRAFT": "INSUFFICIENT_FUNDS",
    "PAM_ERR_PROMO_OVERDRAFT": "INSUFFICIENT_FUNDS",
    "PAM_ERR_SESSION_NOT_FOUND": "SESSION_INVALID",
    "PAM_ERR_SESSION_EXPIRED": "SESSION_INVALID",
    "PAM_ERR_BET_NOT_ALLOWED": "PLAYER_BLOCKED",
    "PAM_ERR_ACC_NOT_FOUND": "PLAYER_BLOCKED",
    "PAM_ERR_PLAYER_NOT_FOUND": "PLAYER_BLOCKED",
    "PAM_ERR_GAME_NOT_FOUND": "GAME_NOT_ALLOWED",
    "PAM_ERR_TRANS_CURRENCY": "CURRENCY_MISMATCH",
    "PAM_ERR_TRANS_ALREADY_CANCELLED": "ROLLED_BACK",
    "PAM_ERR_DUPLICATE_TRANS": "DUPLICATE_CONTENT",
    "PAM_ERR_API_TOKEN": "UNAUTHENTICATED",
}
UNKNOWN = ("PAM_ERR_UNDEFINED", "PAM_ERR_TIMEOUT")
SETTLED = "PAM_ERR_TRANS_ALREADY_SETTLED"


class Pam:
    def __init__(self, url, token, answer_seconds):
        self.url, self.token, self.answer_seconds = url.rstrip("/"), token, answer_seconds

    def bet(self, request):
        return self.result(request, self.send(request, "WITHDRAW", request.amount))

    def free_round(self, request):
        return self.result(request, self.send(request, "PROMOWITHDRAW", promo=request.stake))

    def win(self, request):
        kind = "PROMODEPOSIT" if request.round.campaign_id else "DEPOSIT"
        return self.result(request, self.send(request, kind, request.amount))

    def jackpot(self, request):
        # A jackpot is sent as a PROMODEPOSIT, because it may be paid after the round's close, when the PAM refuses a
        # DEPOSIT.
        jackpot = {"jackpotId": short(request.jackpot.pool_id), "jackpotReference": short(request.jackpot.award_id)}
        jackpot["jackpotAmount"] = major(request, request.amount)
        return self.result(request, self.send(request, "PROMODEPOSIT", request.amount, jackpots=[jackpot]))

    def refund(self, request):
        if request.amount == request.round.bet_total:
            answer = self.send(request, "CANCEL", request.amount)
            if code_of(answer) != SETTLED:
                return self.result(request, answer)
        return self.result(request, self.send(request, "PROMODEPOSIT", request.amount, betCode="refund"))

    def reversal(self, request):
        return self.result(request, self.send(request, "WITHDRAW", request.amount, betCode="reversal"))

    def close(self, request):
        answer = self.send(request, "PROMODEPOSIT" if request.round.campaign_id else "DEPOSIT")
        # SETTLED means that the PAM has already closed the round, for example if Motherlode voids a settled round.
        return done() if code_of(answer) == SETTLED else self.result(request, answer)

    def roll_back(self, request):
        free = request.transaction_id.startswith("open/")
        answer = self.send(request, "PROMOCANCEL" if free else "CANCEL", request.amount)
        if code_of(answer) == "PAM_ERR_CANCEL_NOT_FOUND":
            raise NotFound
        return done() if code_of(answer) == "PAM_ERR_TRANS_ALREADY_CANCELLED" else self.result(request, answer)

    def send(self, request, kind, cash=None, promo=None, **more):
        context, round = request.context, request.round
        if not context.operator_session:
            return {"status": "ERROR", "error": {"code": "PAM_ERR_SESSION_NOT_FOUND", "message": "no operator_session"}}
        if round.campaign_id:
            more["promos"] = [{"promoType": "FREEROUNDS", "promoCode": short(round.campaign_id)}]
        body = {
            "currency": request.account.currency_code,
            "provider": context.provider,
            "transactionType": kind,
            "cashAmount": major(request, cash),
            "bonusAmount": 0,
            "promoAmount": major(request, promo),
            "transactionDateTime": context.create_time.ToJsonString(),
            "providerTransactionId": context.transaction_uuid,
            "providerBetRef": opening_of(request),
            "providerGameId": round.game,
            "providerRoundId": round.round_uuid,
            "isGameOver": round.closed,
            **more,
        }
        path = f"/players/{quote(request.account.player_id, safe='')}/transactions?{urlencode({'provider': context.provider})}"
        headers = {"X-Player-Token": context.operator_session, "X-Correlation-ID": str(uuid.uuid4())}
        headers["Authorization"] = f"Bearer {self.token}"
        status, answer = post(self.url + path, json.dumps(body).encode(), headers, self.answer_seconds)
        if status not in (200, 401):
            raise Unanswered(f"HTTP status {status}")
        try:
            answer = json.loads(answer, parse_float=Decimal)
            code_of(answer)
            return answer
        except (ValueError, TypeError, AttributeError) as error:
            raise Unanswered(f"no JSON: {error}") from error

    def result(self, request, answer):
        code = code_of(answer)
        if code in UNKNOWN or not code and answer.get("status") != "OK":
            return unknown()
        if code:
            return refused(REASONS.get(code, "INVALID_REQUEST"), f"{code}: {answer['error'].get('message', '')}")
        try:
            made = answer.get("transactionResult") or {}
            balance = made.get("balance")
            return done(balance and minor(request, balance), made.get("transactionId") or "")
        except (AttributeError, KeyError, TypeError, ValueError, InvalidOperation) as error:
            raise Unanswered(f"an unreadable balance: {error}") from error


def code_of(answer):
    return (answer.get("error") or {}).get("code") or ""


def short(text):
    return text if len(text) <= 40 else uuid_of(text)


def major(request, money):
    return float(Decimal(money.amount_minor).scaleb(-request.context.currency_digits)) if money else 0


def minor(request, balance):
    return int((Decimal(balance["cashAmount"]) + Decimal(balance["bonusAmount"])).scaleb(request.context.currency_digits))


options = parser(__doc__)
options.add_argument("--token-file", type=Path, required=True, help="file with the PAM's API token")
given = options.parse_args()
serve(Pam(given.url, given.token_file.read_text().strip(), given.answer_seconds), given)
