"""Where the wallet's books are: a SQLite file, or PostgreSQL. Both are durable when a transaction is over.

A transaction is of one player: it begins by taking the player's place, so what it reads stays true until its end, however many
threads, or wallets on the same PostgreSQL, work at the same time.
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
]


def open_database(name):
    """PostgreSQL where the name is a URL of it, else a file."""
    return Postgres(name) if name.startswith(("postgresql://", "postgres://")) else Sqlite(name)


class Sqlite:
    """One connection, one transaction after the other: plain, and fast enough for an example."""

    def __init__(self, file):
        self.connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self.lock = threading.Lock()
        for statement in ["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", *TABLES]:
            self.connection.execute(statement)

    @contextmanager
    def transaction(self, player):
        """All of it, or nothing."""
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
    """Some connections, each of one transaction at a time. One that is broken is made anew for the next."""

    CONNECTIONS = 8

    def __init__(self, url):
        import psycopg

        self.connect = lambda: psycopg.connect(url)
        self.free = queue.SimpleQueue()
        for _ in range(self.CONNECTIONS):
            self.free.put(None)
        # Of several wallets that start at once, one makes the tables.
        with self.transaction("") as execute:
            for statement in TABLES:
                execute(statement)

    @contextmanager
    def transaction(self, player):
        """All of it, or nothing."""
        connection = self.free.get()
        try:
            if connection is None or connection.closed:
                connection = self.connect()
            with connection.transaction():
                execute = lambda query, values=(): connection.execute(query.replace("?", "%s"), values)
                # Until the transaction ends, nobody else has one of this player.
                execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (player,))
                yield execute
        finally:
            self.free.put(connection)
