"""Serves Motherlode's wallet calls, and stores how each bet ended, so that a rolled-back bet is never sent again."""

import argparse
import hashlib
import signal
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from concurrent import futures
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples/wallet"))
import stubs  # noqa: E402, F401  (makes what is imported next)

from motherlode.wallet.v1 import wallet_pb2, wallet_pb2_grpc  # noqa: E402

ROLLED_BACK = "ROLLED_BACK"
ANSWER_BYTES_MAX = 65_536


def done(balance=None, transaction_id=""):
    return wallet_pb2.Result(outcome=wallet_pb2.OUTCOME_DONE, balance_minor=balance, wallet_transaction_id=transaction_id)


def refused(code, why=""):
    reason_code = wallet_pb2.ReasonCode.Value(f"REASON_CODE_{code}")
    return wallet_pb2.Result(outcome=wallet_pb2.OUTCOME_REFUSED, reason_code=reason_code, reason=why[:200])


def unknown():
    return wallet_pb2.Result(outcome=wallet_pb2.OUTCOME_UNKNOWN)


def uuid_of(text):
    """Converts a text to a UUID (version 8), like `Context.transaction_uuid`."""
    digits = bytearray(hashlib.sha256(text.encode()).digest()[:16])
    digits[6], digits[8] = digits[6] & 0x0F | 0x80, digits[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(digits)))


def opening_of(request):
    return uuid_of(request.round.opening_transaction_id)


class NotFound(Exception):
    """Raised if the operator does not have the transaction to roll back."""


class Unanswered(Exception):
    """Raised if the operator's answer is missing or unreadable, so that the outcome is unknown."""


def post(url, body, headers, seconds):
    headers = {"Content-Type": "application/json", **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=seconds) as answer:
            return answer.status, answer.read(ANSWER_BYTES_MAX)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(ANSWER_BYTES_MAX)
    except OSError as error:
        raise Unanswered(str(error)) from error


class Bets:
    """SQLite file that records when each bet and free round was last sent, and how it ended."""

    def __init__(self, file):
        self.lock = threading.Lock()
        self.connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        table = "CREATE TABLE IF NOT EXISTS bets (id TEXT PRIMARY KEY, sent REAL NOT NULL, ended TEXT NOT NULL)"
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", table):
            self.connection.execute(statement)

    def send(self, name):
        """Records the time at which a bet is sent. Returns how the bet ended, or "" if it is open."""
        insert = "INSERT INTO bets VALUES (?, ?, '') ON CONFLICT (id) DO UPDATE SET sent = excluded.sent RETURNING ended"
        with self.lock:
            return self.connection.execute(insert, (name, time.time())).fetchone()[0]

    def end(self, name, ended):
        """Records how a bet ended: ROLLED_BACK, or the reason of a refusal. A refusal does not replace an end
        recorded earlier."""
        insert = "INSERT INTO bets VALUES (?, 0, ?) ON CONFLICT (id) DO UPDATE SET ended = excluded.ended"
        if ended != ROLLED_BACK:
            insert += " WHERE ended = ''"
        with self.lock:
            self.connection.execute(insert, (name, ended))

    def can_arrive(self, name, seconds):
        query = "SELECT 1 FROM bets WHERE id = ? AND ended = '' AND sent > ?"
        with self.lock:
            return self.connection.execute(query, (name, time.time() - seconds)).fetchone() is not None


class Adapter(wallet_pb2_grpc.WalletServiceServicer):
    """Forwards wallet calls to `api`, which has one method per kind of call; each method returns a Result."""

    def __init__(self, api, bets, late_seconds):
        self.api, self.bets, self.late_seconds = api, bets, late_seconds

    def Debit(self, request, context):
        if request.kind == wallet_pb2.DEBIT_KIND_REVERSAL:
            return wallet_pb2.DebitResponse(result=self.sent(self.api.reversal, request))
        return wallet_pb2.DebitResponse(result=self.opened(self.api.bet, request))

    def OpenFreeRound(self, request, context):
        return wallet_pb2.OpenFreeRoundResponse(result=self.opened(self.api.free_round, request))

    def Credit(self, request, context):
        kinds = {wallet_pb2.CREDIT_KIND_JACKPOT: self.api.jackpot, wallet_pb2.CREDIT_KIND_REFUND: self.api.refund}
        return wallet_pb2.CreditResponse(result=self.sent(kinds.get(request.kind, self.api.win), request))

    def CloseRound(self, request, context):
        return wallet_pb2.CloseRoundResponse(result=self.sent(self.api.close, request))

    def Rollback(self, request, context):
        name = request.transaction_id
        try:
            result = self.sent(self.api.roll_back, request)
        except NotFound:
            result = unknown() if self.bets.can_arrive(name, self.late_seconds) else done()
        if result.outcome == wallet_pb2.OUTCOME_REFUSED:
            # Motherlode repeats a refused rollback, and reports the rollback as overdue.
            print(f"the operator refused the rollback of {name}: {result.reason}", file=sys.stderr, flush=True)
            result = unknown()
        if result.outcome == wallet_pb2.OUTCOME_DONE:
            self.bets.end(name, ROLLED_BACK)
        return wallet_pb2.RollbackResponse(result=result)

    def opened(self, send, request):
        ended = self.bets.send(request.transaction_id)
        if ended:
            return refused(ended)
        result = self.sent(send, request)
        if result.outcome == wallet_pb2.OUTCOME_REFUSED:
            self.bets.end(request.transaction_id, wallet_pb2.ReasonCode.Name(result.reason_code).removeprefix("REASON_CODE_"))
        return result

    def sent(self, send, request):
        try:
            return send(request)
        except Unanswered as error:
            print(f"no answer from the operator: {error}", file=sys.stderr, flush=True)
            return unknown()


def parser(description):
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--listen", default="127.0.0.1:50061", help="address of the wallet service; port 0 for any")
    options.add_argument("--url", required=True, help="base URL of the operator's API")
    options.add_argument("--database", default="adapter.sqlite", help="SQLite file of the bets")
    options.add_argument("--answer-seconds", type=float, default=2, help="maximum time to wait for an answer of the operator")
    late = "time in which an unanswered bet can still reach the operator; its rollback is unknown until then"
    options.add_argument("--late-seconds", type=float, default=60, help=late)
    return options


def serve(api, given):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), maximum_concurrent_rpcs=1024)
    wallet_pb2_grpc.add_WalletServiceServicer_to_server(Adapter(api, Bets(given.database), given.late_seconds), server)
    port = server.add_insecure_port(given.listen)
    server.start()
    print(f"wallet listens on {given.listen.rsplit(':', 1)[0]}:{port}", flush=True)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    server.stop(1).wait()
