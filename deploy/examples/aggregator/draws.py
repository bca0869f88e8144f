"""Checks sealed draws: no outcome was chosen after its request was known."""

import hashlib


def sha256(*lines):
    text = "".join(f"{line.hex() if isinstance(line, bytes) else line}\n" for line in lines)
    return hashlib.sha256(text.encode()).digest()


def faults(round, client_seeds):
    """`client_seeds` has the client seeds sent, by round and step."""
    found = []
    for step in round.steps:
        at, draw = (round.round_id, step.number), step.draw
        if sha256("motherlode/seal/v1", draw.dealt) != draw.seal:
            found.append(f"{at}: the dealt value is not the one that was sealed")
        if sha256("motherlode/seed/v1", draw.dealt, draw.client_seed, round.round_id, step.number) != step.seed:
            found.append(f"{at}: the seed is not that of the draw")
        if draw.client_seed != client_seeds.get(at, draw.client_seed):
            found.append(f"{at}: the client seed is not the one that was sent")
    return found
