#!/usr/bin/env python3
"""Verifies the proof of a round with Python's standard library and one package for Ed25519, and prints the facts of the
round.

    verify_round.py FILE VKEY

FILE is the output of `motherlode proof`; VKEY is the log's public key, from a trusted source. The script was written only
from the specifications: c2sp.org/signed-note, tlog-checkpoint and tlog-proof, RFC 6962, proof.proto and log.proto. It checks
each draw against its seal in the log. It does not recompute outcomes; `motherlode verify` does.
"""

import base64
import hashlib
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Unproven(Exception):
    """States which check of the proof failed."""


def check(holds, what):
    if not holds:
        raise Unproven(what)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def decode(text):
    return base64.b64decode(text, validate=True)


def checkpoint(note, vkey):
    """Checks a checkpoint's signature by the key, and returns the size and the root of the tree."""
    name, key_id, key = vkey.split("+", 2)
    key = decode(key)
    check(len(key) == 33 and key[0] == 1, "the key is not a log's public key")
    check(sha256(name.encode(), b"\n", key)[:4].hex() == key_id, "the key has the wrong id")
    text, _, lines = note.rpartition("\n\n")
    text += "\n"
    signed = False
    for line in lines.splitlines():
        dash, signer, signature = line.split(" ")
        signature = decode(signature)
        if (dash, signer, signature[:4].hex()) == ("\u2014", name, key_id):
            try:
                Ed25519PublicKey.from_public_bytes(key[1:]).verify(signature[4:], text.encode())
            except InvalidSignature:
                raise Unproven("the signature is invalid") from None
            signed = True
    check(signed, "the checkpoint is not signed with the key")
    origin, size, root = text.splitlines()[:3]
    check(origin == name, "the checkpoint belongs to another log")
    return int(size), decode(root)


def root_of(entry, index, size, path):
    """Returns the root of the tree, computed from an entry and its inclusion path (RFC 9162, section 2.1.3.2)."""
    check(0 <= index < size, "the entry is not in a tree of this size")
    last, reached = size - 1, sha256(b"\x00", entry)
    for sibling in path:
        check(last > 0, "the path is too long")
        if index & 1 or index == last:
            reached = sha256(b"\x01", sibling, reached)
            while not index & 1 and index > 0:
                index, last = index >> 1, last >> 1
        else:
            reached = sha256(b"\x01", reached, sibling)
        index, last = index >> 1, last >> 1
    check(last == 0, "the path is too short")
    return reached


def varint(message, at):
    """Returns a protobuf varint and the offset after it."""
    value = shift = 0
    while True:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return value, at


def fields(message):
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        number, kind = divmod(tag, 8)
        if kind == 0:
            value, at = varint(message, at)
            yield number, value
        else:
            length, at = varint(message, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            check(at + length <= len(message), "a message is truncated")
            yield number, message[at : at + length]
            at += length


def parts(message, *path):
    """Yields the messages or values at a path of field numbers."""
    for number, value in fields(message):
        if number == path[0]:
            yield from parts(value, *path[1:]) if path[1:] else (value,)


def one(message, *path):
    return next(parts(message, *path), None)


def records_of(extra, *kinds):
    """Returns one list per field number in `kinds`, with the position, bytes and inclusion path of each record in that
    field. ProvenRecord.copied specifies how bytes shared with earlier records are restored."""
    text, found = b"", []
    for kind in kinds:
        found.append([])
        for message in parts(extra, kind):
            check(not one(message, 5), "the proof omits outcomes, which only the games can compute: request the whole proof")
            own, copied = one(message, 2) or b"", one(message, 4) or b""
            runs, at, begun = [], 0, len(text)
            while at < len(copied):
                number, at = varint(copied, at)
                runs.append(number)
            check(len(runs) % 3 == 0 and sum(runs[2::3]) <= 4096, "a record copies more than 4,096 bytes")
            for more, start, length in zip(runs[::3], runs[1::3], runs[2::3]):
                text, own = text + own[:more], own[more:]
                check(start + length <= len(text), "a copied range is out of bounds")
                text += text[start : start + length]
            record = text[begun:] + own
            position, text = one(record, 2), sha256(record) + record
            check(one(message, 1) in (None, position), f"position {position}: the record has another position")
            found[-1].append((position, record, list(parts(message, 3))))
    return found


def whole(number, records):
    """Checks that the records contain the round's bet, all of its steps, and its end. Returns whether the round was
    settled."""
    events = [event for _, record in records for event in parts(record, 10)]
    steps = [one(event, 6, 2) for event in events if one(event, 6, 1) == number]
    started, settled, voided = (any(one(event, kind, 1) == number for event in events) for kind in (5, 8, 9))
    check(started, f"there is no bet of round {number} in the records")
    counted = steps and steps == list(range(1, len(steps) + 1))
    check(counted and (settled or voided), "the records are not the whole round: a step or the end is missing")
    return settled


def draws(round_id, records, sealing):
    """Returns, for each revealed draw of the round, its number, its seed, and the position of its seal (None if the proof
    lacks the seal)."""
    number, seals, used, dealt, lost = int(round_id.rpartition("/")[2]), {}, [], [], False
    settled = whole(number, records)
    for position, record in sealing + records:
        request = one(record, 7) or b""
        for event in parts(record, 10):
            draw = one(event, 6, 8)
            if draw is not None:
                if one(event, 6, 1) == number:
                    used.append((one(draw, 1), one(event, 6, 2), one(draw, 3) or request, position, one(draw, 6)))
                seal = one(draw, 1) + 1, one(draw, 5)
            else:
                seal = one(event, 43, 1), one(event, 43, 3)
            if seal[0]:
                check(seal[0] not in seals, f"draw {seal[0]} was sealed twice")
                seals[seal[0]] = position, seal[1], sha256(record)
            if one(event, 44, 1) == number:
                dealt += parts(event, 44, 2)
            lost = lost or one(event, 45, 1) == number
    # The draws of a settled round are revealed even if the round is voided later.
    check(lost and not settled or len(dealt) == len(used), "the random value of a draw was not revealed")
    found = []
    for (draw, step, client_seed, position, sealed_by), value in zip(used, dealt):
        where, seal, entry = seals.get(draw, (position, None, None))
        shown = where < position
        check(not shown or sealed_by in (None, entry), f"draw {draw}: the record that the step names did not seal it")
        check(not shown or sha256(f"motherlode/seal/v1\n{value.hex()}\n".encode()) == seal, f"draw {draw}: the dealt value does not match the seal")
        lines = ("motherlode/seed/v1", value.hex(), client_seed.hex(), round_id, step)
        seed = sha256("".join(f"{line}\n" for line in lines).encode())
        found.append((draw, seed, where if shown else None))
    return found


def verify(proof, vkey):
    """Returns the proven round, the size of the log, the position and bytes of each record, oldest first, and the draws."""
    try:
        return proven(proof, vkey)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unproven(f"malformed: {error!r}") from None


def proven(proof, vkey):
    header, _, rest = proof.partition("\n")
    check(header == "c2sp.org/tlog-proof@v1", "not a proof")
    lines, _, note = rest.partition("\n\n")
    extra, index, *path = lines.split("\n")
    check(extra.startswith("extra ") and index.startswith("index "), "not the proof of a round")
    size, root = checkpoint(note, vkey)
    extra = decode(extra.removeprefix("extra "))
    found = sealing, records = records_of(extra, 3, 1)
    for some in found:
        positions = [position for position, _, _ in some]
        check(positions == sorted(set(positions)), "the records are not in the log's order")
    # An inclusion path proves that the log includes the last record of the round. Each earlier record also has an
    # inclusion path, or its hash is in a proven record.
    last = int(index.removeprefix("index ")) + 1
    check(records and records[-1][0] == last and not records[-1][2], "the index of the proof belongs to another record")
    check(all(position < last for position, _, _ in sealing), "the index of the proof belongs to another record")
    stream = one(records[-1][1], 4).decode()
    round_id = (one(extra, 2) or b"").decode() or f"{stream.removeprefix('player/')}/{one(extra, 4)}"
    check(f"player/{round_id}".rpartition("/")[0] == stream, "the round belongs to another player")
    named = set()
    for position, record, own in sorted(sealing + records, reverse=True):
        entry, own = sha256(record), own if position < last else [decode(hash) for hash in path]
        if own or entry not in named:
            check(root_of(entry, position - 1, size, own) == root, f"position {position}: the record is not in the log")
        check(one(record, 4).decode() == stream, f"position {position}: the record belongs to another player")
        named.update(parts(record, 10, 6, 8, 6))
    sealing, records = ([(position, record) for position, record, _ in some] for some in found)
    return round_id, size, records, draws(round_id, records, sealing)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        try:
            round_id, size, records, drawn = verify(file.read(), sys.argv[2])
        except Unproven as error:
            sys.exit(f"NOT PROVEN: {error}")
    print(f"round {round_id} is in the log of {size} records that {sys.argv[2].split('+')[0]} has signed:")
    for position, record in records:
        print(f"  position {position}: {len(record)} bytes, SHA-256 {hashlib.sha256(record).hexdigest()}")
    for draw, seed, where in drawn:
        sealed = "the seal is not in the proof" if where is None else f"the dealt value matches the seal at position {where}"
        print(f"  draw {draw}: {sealed}; seed {seed.hex()}")
