"""Sealed draws, checked with nothing but SHA-256: that no outcome was chosen once its request was known."""

import hashlib


def sha256(*lines):
    """Of lines of text, each with its line feed; bytes as lower-case hexadecimal digits."""
    text = "".join(f"{line.hex() if isinstance(line, bytes) else line}\n" for line in lines)
    return hashlib.sha256(text.encode()).digest()


def faults(round, client_seeds):
    """What is wrong with the draws of a round that is over: in words, none where all is right.

    `client_seeds` are those that were sent, by round and step. That the seal is the one that was told before, the request
    has the service check: it names it.
    """
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
