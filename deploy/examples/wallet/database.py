"""Database of the wallet: a SQLite file or PostgreSQL.

A transaction first locks its player, so no other transaction can change the player's data meanwhile.
"""

import queue
import sqlite3
import threading
from contextlib import contextmanager

TABLES = [
    """CREATE TABLE IF NOT EXISTS balances (
        player TEXT NOT NULL, currency TEXT NOT NULL, minor BIGINT NOT NULL CHECK (minor >= 0), PRIMARY KEY (player, currency)
    )""",
    """CREATE TABLE IF NOT EXISTS transactions (
        id TEXT PRIMARY KEY, player TEXT NOT NULL, currency TEXT NOT NULL, minor BIGINT NOT NULL, ended TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS rounds (
        id TEXT PRIMARY KEY, player TEXT NOT NULL, currency TEXT NOT NULL, game TEXT NOT NULL, campaign TEXT NOT NULL,
        opened TEXT NOT NULL, closed TEXT NOT NULL, ended TEXT NOT NULL, voided TEXT NOT NULL,
        bet BIGINT NOT NULL, won BIGINT NOT NULL, jackpots BIGINT NOT NULL, refunded BIGINT NOT NULL,
        closings BIGINT NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS nonces (nonce TEXT PRIMARY KEY, ms BIGINT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS nonces_by_time ON nonces (ms)",
    "CREATE INDEX IF NOT EXISTS rounds_by_opening ON rounds (opened)",
]


def open_database(name):
    return Postgres(name) if name.startswith(("postgresql://", "postgres://")) else Sqlite(name)


class Sqlite:
    def __init__(self, file):
        self.connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self.lock = threading.Lock()
        for statement in ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", *TABLES]:
            self.connection.execute(statement)

    @contextmanager
    def transaction(self, player):
        with self.lock:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection.execute
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise


class Postgres:
    CONNECTIONS = 8

    def __init__(self, url):
        import psycopg

        self.connect = lambda: psycopg.connect(url)
        self.free = queue.SimpleQueue()
        for _ in range(self.CONNECTIONS):
            self.free.put(None)
        with self.transaction("") as execute:
            for statement in TABLES:
                execute(statement)

    @contextmanager
    def transaction(self, player):
        connection = self.free.get()
        try:
            if connection is None or connection.closed:
                connection = self.connect()
            with connection.transaction():
                execute = lambda query, values=(): connection.execute(query.replace("?", "%s"), values)
                execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (player,))
                yield execute
        finally:
            self.free.put(connection)
