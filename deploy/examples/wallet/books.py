"""The wallet's books: balances and transactions in one SQLite file, each call one transaction of the database.

A transaction's id is kept for ever with its content and its end: applied, refused or rolled back. So a call that comes twice has one
effect and the same answer, and a debit that comes after its rollback is refused.
"""

import sqlite3
import threading

DONE, DONE_BEFORE, REFUSED = "DONE", "DONE_BEFORE", "REFUSED"

SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS balances (
    player TEXT NOT NULL, currency TEXT NOT NULL, minor INTEGER NOT NULL CHECK (minor >= 0), PRIMARY KEY (player, currency)
);
CREATE TABLE IF NOT EXISTS transactions (
    id TEXT PRIMARY KEY, player TEXT NOT NULL, currency TEXT NOT NULL, minor INTEGER NOT NULL, ended TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS nonces (nonce TEXT PRIMARY KEY, ms INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS nonces_by_time ON nonces (ms);
"""


class Books:
    def __init__(self, file):
        # One connection, one call after the other: plain, and fast enough for an example.
        self.database = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self.database.executescript(SCHEMA)
        self.lock = threading.Lock()

    def give(self, player, currency, minor):
        """Money from outside: a deposit of the operator's own."""
        with self.transaction():
            self.move(player, currency, minor)

    def balance(self, player, currency):
        query = "SELECT minor FROM balances WHERE player = ? AND currency = ?"
        row = self.database.execute(query, (player, currency)).fetchone()
        return row[0] if row else 0

    def apply(self, transaction, player, currency, minor):
        """A debit (below 0) or a credit: the outcome, the balance after it, and the reason of a refusal."""
        with self.transaction():
            known = self.known(transaction)
            if known:
                *content, ended = known
                if ended == "rolled back":
                    return REFUSED, self.balance(player, currency), "ROLLED_BACK"
                if content != [player, currency, minor]:
                    return REFUSED, self.balance(player, currency), "OTHER_CONTENT"
                outcome, reason = (DONE_BEFORE, "") if ended == "applied" else (REFUSED, ended)
                return outcome, self.balance(player, currency), reason
            enough = self.balance(player, currency) + minor >= 0
            self.end(transaction, player, currency, minor, "applied" if enough else "INSUFFICIENT_FUNDS")
            if not enough:
                return REFUSED, self.balance(player, currency), "INSUFFICIENT_FUNDS"
            self.move(player, currency, minor)
            return DONE, self.balance(player, currency), ""

    def roll_back(self, transaction, player, currency, minor):
        """Undoes a debit, or sees to it that it's never applied."""
        with self.transaction():
            known = self.known(transaction)
            if known and known[3] == "rolled back":
                return DONE_BEFORE, self.balance(player, currency), ""
            if known and known[3] == "applied":
                self.move(known[0], known[1], -known[2])
            self.end(transaction, player, currency, -minor, "rolled back")
            return DONE, self.balance(player, currency), ""

    def is_first(self, nonce, ms, oldest_ms):
        """Whether a nonce is new, among those since a time; older ones are forgotten."""
        with self.transaction():
            self.database.execute("DELETE FROM nonces WHERE ms < ?", (oldest_ms,))
            return self.database.execute("INSERT OR IGNORE INTO nonces VALUES (?, ?)", (nonce, ms)).rowcount == 1

    def transaction(self):
        return Transaction(self)

    def known(self, transaction):
        query = "SELECT player, currency, minor, ended FROM transactions WHERE id = ?"
        return self.database.execute(query, (transaction,)).fetchone()

    def end(self, *row):
        self.database.execute("INSERT OR REPLACE INTO transactions VALUES (?, ?, ?, ?, ?)", row)

    def move(self, player, currency, minor):
        values = (player, currency, self.balance(player, currency) + minor)
        self.database.execute("INSERT OR REPLACE INTO balances VALUES (?, ?, ?)", values)


class Transaction:
    """All of a call, or nothing of it; durable when it's over."""

    def __init__(self, books):
        self.books = books

    def __enter__(self):
        self.books.lock.acquire()
        self.books.database.execute("BEGIN IMMEDIATE")

    def __exit__(self, failed, *_):
        try:
            self.books.database.execute("ROLLBACK" if failed else "COMMIT")
        finally:
            self.books.lock.release()
