"""Reference wallet on SQLite or PostgreSQL, for an operator that keeps its players' money."""

import argparse
import hmac
import signal
import threading
from concurrent import futures
from pathlib import Path

import grpc
import stubs  # noqa: F401  (makes what is imported next)
import face
from books import Books
from database import open_database
from faults import Faults
from signed import Signatures

from motherlode.wallet.v1 import wallet_pb2, wallet_pb2_grpc


PAID = {"CREDIT_KIND_JACKPOT": "jackpots", "CREDIT_KIND_REFUND": "refunded"}


def ended(round):
    """How a round ended: PLAYED, ABANDONED or VOIDED; empty while the round is open."""
    return wallet_pb2.RoundEnd.Name(round.end).removeprefix("ROUND_END_") if round.closed else ""


class Wallet(wallet_pb2_grpc.WalletServiceServicer):
    def __init__(self, books, faults, token):
        self.books, self.faults, self.token = books, faults, token

    def GetBalance(self, request, context):
        self.admit(context)
        minor = self.books.balance(request.account.player_id, request.account.currency_code)
        return wallet_pb2.GetBalanceResponse(balance_minor=minor)

    def Debit(self, request, context):
        minor, end = self.amount(request, context), ended(request.round)
        if request.kind == wallet_pb2.DEBIT_KIND_REVERSAL:
            note = lambda account: account.note(request.transaction_id, request.round, end, "won", -minor)
            # The refusal of a reversal is not stored, because Motherlode repeats the reversal, which may then
            # succeed.
            return wallet_pb2.DebitResponse(result=self.apply(request, context, -minor, note, stores_refusal=False))
        note = lambda account: account.open(request.transaction_id, request.round, minor)
        return wallet_pb2.DebitResponse(result=self.apply(request, context, -minor, note))

    def Credit(self, request, context):
        minor, end = self.amount(request, context), ended(request.round)
        column = PAID.get(wallet_pb2.CreditKind.Name(request.kind), "won")
        note = lambda account: account.note(request.transaction_id, request.round, end, column, minor)
        return wallet_pb2.CreditResponse(result=self.apply(request, context, minor, note))

    def OpenFreeRound(self, request, context):
        note = lambda account: account.open(request.transaction_id, request.round, 0)
        return wallet_pb2.OpenFreeRoundResponse(result=self.apply(request, context, 0, note))

    def CloseRound(self, request, context):
        note = lambda account: account.note(request.transaction_id, request.round, ended(request.round))
        return wallet_pb2.CloseRoundResponse(result=self.apply(request, context, 0, note))

    def Rollback(self, request, context):
        account = request.account
        content = (request.transaction_id, account.player_id, account.currency_code, request.amount.amount_minor)
        roll_back = lambda: self.books.roll_back(*content, request.round.round_uuid)
        return wallet_pb2.RollbackResponse(result=self.answer(context, roll_back))

    def amount(self, request, context):
        amount = request.amount
        if amount.amount_minor <= 0 or amount.currency_code != request.account.currency_code:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "an amount above 0 in the account's currency")
        return amount.amount_minor

    def apply(self, request, context, minor, note, stores_refusal=True):
        account = request.account
        content = (request.transaction_id, account.player_id, account.currency_code, minor)
        return self.answer(context, lambda: self.books.apply(*content, request.round.round_uuid, note, stores_refusal))

    def answer(self, context, apply):
        self.admit(context)
        outcome, balance, reason = self.faults.around(context, apply)
        code = f"REASON_CODE_{reason}" if reason else "REASON_CODE_UNSPECIFIED"
        return wallet_pb2.Result(
            outcome=wallet_pb2.Outcome.Value(f"OUTCOME_{outcome}"),
            balance_minor=balance,
            reason=reason,
            reason_code=wallet_pb2.ReasonCode.Value(code),
        )

    def admit(self, context):
        shown = dict(context.invocation_metadata()).get("authorization", "")
        if self.token and not hmac.compare_digest(shown, f"Bearer {self.token}"):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token is wrong")


def options():
    parser = argparse.ArgumentParser(prog="wallet", description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:50061", help="address; port 0 for any")
    parser.add_argument("--database", default="wallet.sqlite", help="SQLite file, or a URL such as postgresql://...")
    parser.add_argument("--token-file", type=Path, help="file with the callers' token")
    parser.add_argument("--json", action="store_true", help="signed JSON requests instead of gRPC")
    parser.add_argument("--signing-key-file", type=Path, help="file with the key of JSON signatures")
    parser.add_argument("--connections-max", type=int, default=1024, help="concurrent JSON connections or gRPC calls")
    parser.add_argument("--certificate", type=Path, help="certificate (PEM), for TLS")
    parser.add_argument("--key", type=Path, help="private key of the certificate (PEM)")
    parser.add_argument("--give", action="append", default=[], metavar="PLAYER:CURRENCY:MINOR", help="initial balance")
    for fault in ["lose-answer", "lose-call", "double", "fail", "lie"]:
        parser.add_argument(f"--{fault}", type=int, default=0, metavar="N", help="about once in N calls")
    parser.add_argument("--delay-ms", type=int, default=0, help="average delay of answers")
    parser.add_argument("--seed", type=int, help="seed for reproducible faults")
    given = parser.parse_args()
    if given.json != (given.signing_key_file is not None) or given.json and given.token_file:
        parser.error("--json needs --signing-key-file and no --token-file, which is for gRPC")
    return given


def by_grpc(given, wallet, _):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), maximum_concurrent_rpcs=given.connections_max)
    wallet_pb2_grpc.add_WalletServiceServicer_to_server(wallet, server)
    if given.certificate:
        pair = (given.key.read_bytes(), given.certificate.read_bytes())
        port = server.add_secure_port(given.listen, grpc.ssl_server_credentials([pair]))
    else:
        port = server.add_insecure_port(given.listen)
    server.start()
    return port, lambda: server.stop(1).wait()


def in_json(given, wallet, books):
    signatures = Signatures(books, given.signing_key_file.read_bytes().strip())
    pair = (given.certificate, given.key) if given.certificate else None
    server = face.serve(wallet, signatures, given.listen, pair, given.connections_max)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port, server.shutdown


def main():
    given = options()
    books = Books(open_database(given.database))
    for gift in given.give:
        player, currency, minor = gift.split(":")
        books.give(player, currency, int(minor))
    faults = Faults(given.lose_answer, given.lose_call, given.double, given.fail, given.lie, given.delay_ms, given.seed)
    token = given.token_file.read_text().strip() if given.token_file else None
    serve = in_json if given.json else by_grpc
    port, close = serve(given, Wallet(books, faults, token), books)
    print(f"wallet listens on {given.listen.rsplit(':', 1)[0]}:{port}", flush=True)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    close()
    print("faults: " + ", ".join(f"{count} {what}" for what, count in faults.happened.items()), flush=True)


main()
