"""Verifies signed JSON requests: their sender, integrity and age (proto/README.md)."""

import hashlib
import hmac
import time

WINDOW_MS = 30_000
HEADERS = ("Motherlode-Timestamp", "Motherlode-Nonce", "Motherlode-Signature")


class Unsigned(Exception):
    """Raised if the request has no valid signature."""


class Signatures:
    """Checks signatures. Nonces are in the database, so they survive a restart."""

    def __init__(self, books, key):
        if len(key) < 32:
            raise SystemExit("a key must have at least 32 characters")
        self.books, self.key = books, key

    def check(self, method, path, headers, body):
        moment, nonce, signature = (headers.get(name, "") for name in HEADERS)
        digest = hashlib.sha256(body).hexdigest()
        text = f"motherlode/wallet/v1\n{method}\n{path}\n{moment}\n{nonce}\n{digest}\n"
        right = hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(right.encode(), signature.encode()):
            raise Unsigned("the signature does not match")
        now = time.time_ns() // 1_000_000
        if not moment.isdecimal() or abs(now - int(moment)) > WINDOW_MS:
            raise Unsigned("the timestamp is too old, or in the future")
        if not self.books.is_first(nonce, now, now - 2 * WINDOW_MS):
            raise Unsigned("the nonce was used before")
