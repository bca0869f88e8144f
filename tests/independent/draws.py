"""Sealed draws as log.proto and round.proto define them; `python3 draws.py` prints the results that
draw_rules.rs expects."""

import hashlib
import hmac


def sha256(*lines) -> bytes:
    text = "".join(f"{line.hex() if isinstance(line, bytes) else line}\n" for line in lines)
    return hashlib.sha256(text.encode()).digest()


def epoch(key: bytes) -> bytes:
    return sha256("motherlode/epoch/v1", key)[:4]


def deal(key: bytes, stream: str, number: int) -> bytes:
    return hmac.digest(key, f"motherlode/deal/v1\n{stream}\n{number}\n".encode(), "sha256")


def seal(dealt: bytes) -> bytes:
    return sha256("motherlode/seal/v1", dealt)


def seed(dealt: bytes, client_seed: bytes, round_id: str, step: int) -> bytes:
    return sha256("motherlode/seed/v1", dealt, client_seed, round_id, step)


KNOWN = [
    (bytes(32), "acme", "alice", 1, b"r-1", 1, 1),
    (bytes(range(32)), "acme", "alice", 2, bytes(range(64)), 1, 2),
    (b"\xff" * 32, "a.b", "player~7", 2**64 - 1, b"", 2**63, 4_294_967_295),
]

if __name__ == "__main__":
    for key, operator, player, number, client_seed, round_number, step in KNOWN:
        dealt = deal(key, f"player/{operator}/{player}", number)
        print(epoch(key).hex(), dealt.hex(), seal(dealt).hex())
        print(seed(dealt, client_seed, f"{operator}/{player}/{round_number}", step).hex())
