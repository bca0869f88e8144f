"""Checks that the service fixed its part of each draw before it received the request."""

import hashlib


def sha256(*lines):
    text = "".join(f"{line.hex() if isinstance(line, bytes) else line}\n" for line in lines)
    return hashlib.sha256(text.encode()).digest()


def faults(round, client_seeds):
    """Returns a text per fault. `client_seeds` maps each round and step to the client seed that was sent."""
    found = []
    for step in round.steps:
        at, draw = (round.round_id, step.number), step.draw
        if sha256("motherlode/seal/v1", draw.dealt) != draw.seal:
            found.append(f"{at}: the dealt value does not match its seal")
        if sha256("motherlode/seed/v1", draw.dealt, draw.client_seed, round.round_id, step.number) != step.seed:
            found.append(f"{at}: the seed was not computed from the draw")
        if draw.client_seed != client_seeds.get(at, draw.client_seed):
            found.append(f"{at}: the client seed differs from the one that was sent")
    return found
