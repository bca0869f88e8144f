"""Honest and forged proofs of rounds, with the verdict that a verifier must return. The forger has a signing key with the
name of the log."""

import base64
import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from motherlode.log.v1 import log_pb2
from motherlode.proof.v1 import proof_pb2

PROVEN, PARTLY, REFUSED = "proven", "partly", "refused"


def written(proof):
    extra = proof.partition("\nextra ")[2].partition("\n")[0]
    return proof_pb2.RoundRecords.FromString(base64.b64decode(extra))


def proven(proof):
    records, text = written(proof), b""
    for record in [*records.sealing, *records.records]:
        own, begun = record.record, len(text)
        for more, start, length in zip(*[iter(record.copied)] * 3):
            text, own = text + own[:more], own[more:]
            text += text[start : start + length]
        record.record = before = text[begun:] + own
        text = hashlib.sha256(before).digest() + before
        del record.copied[:]
        record.position = log_pb2.Commit.FromString(before).position
    player = log_pb2.Commit.FromString(before).stream.removeprefix("player/")
    records.round_id, records.round = f"{player}/{records.round}", 0
    return records


def with_records(lines, records):
    return "\n".join([lines[0], "extra " + base64.b64encode(records.SerializeToString()).decode(), *lines[2:]])


def log_of(vkey, records, named=()):
    """Makes a log and signs it with a new key of the same name. For records at the positions `named`, the proof has no
    Merkle path."""
    name = vkey.partition("+")[0]
    signer = Ed25519PrivateKey.generate()
    public = b"\x01" + signer.public_key().public_bytes_raw()
    key_id = hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
    size = records.records[-1].position
    leaves = [hashlib.sha256(b"\0" + bytes(32)).digest()] * size
    for record in [*records.sealing, *records.records]:
        leaves[record.position - 1] = hashlib.sha256(b"\0" + hashlib.sha256(record.record).digest()).digest()
    for record in [*records.sealing, *records.records]:
        del record.path[:]
        record.path.extend([] if record.position in named else path(leaves, record.position - 1))
    head = ["c2sp.org/tlog-proof@v1", "", f"index {size - 1}"]
    head += [base64.b64encode(step).decode() for step in path(leaves, size - 1)]
    del records.records[-1].path[:]
    text = f"{name}\n{size}\n{base64.b64encode(root(leaves)).decode()}\n"
    signature = base64.b64encode(key_id + signer.sign(text.encode())).decode()
    proof = f"{with_records(head, records)}\n\n{text}\n\u2014 {name} {signature}\n"
    return proof, f"{name}+{key_id.hex()}+{base64.b64encode(public).decode()}"


def split(leaves):
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return leaves[:left], leaves[left:]


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    left, right = split(leaves)
    return hashlib.sha256(b"\1" + root(left) + root(right)).digest()


def path(leaves, index):
    if len(leaves) == 1:
        return []
    left, right = split(leaves)
    if index < len(left):
        return [*path(left, index), root(right)]
    return [*path(right, index - len(left)), root(left)]


def changed(record, change):
    commit = log_pb2.Commit.FromString(record.record)
    change(commit)
    record.record = commit.SerializeToString()


def draws_of(commit):
    return [event.step_resolved.draw for event in commit.events if event.HasField("step_resolved")]


def linked(records):
    before = None
    for record in [*records.sealing, *records.records]:

        def link(commit):
            for draw in draws_of(commit):
                draw.sealed_by = before or draw.sealed_by

        changed(record, link)
        commit = log_pb2.Commit.FromString(record.record)
        if draws_of(commit) or any(event.HasField("draw_sealed") for event in commit.events):
            before = hashlib.sha256(record.record).digest()


def forged(proof, other, key):
    assert len(proven(proof).records) > 1 and len(proven(proof).sealing) == 1, "a round of several steps"
    head, note = proof.split("\n\n", 1)
    lines = head.split("\n")
    number = int(proven(proof).round_id.rpartition("/")[2])

    def beside(change):
        records = proven(proof)
        change(records)
        return with_records(lines, records) + "\n\n" + note, key

    def signed(change, relink=False, named=()):
        records = proven(proof)
        change(records)
        if relink:
            linked(records)
        return log_of(key, records, named)

    def rewritten(change):
        records = written(proof)
        change(records)
        return with_records(lines, records) + "\n\n" + note, key

    def events(of, change):
        return lambda records: changed(of(records), lambda commit: [change(commit, event) for event in list(commit.events)])

    def first(records):
        return records.records[0]

    def last(records):
        return records.records[-1]

    def sealing(records):
        return records.sealing[0]

    def flip(value, at=0):
        return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]

    def redealt(_, event):
        if event.draws_revealed.round == number:
            event.draws_revealed.dealt[0] = flip(event.draws_revealed.dealt[0])

    def unrevealed(commit, event):
        if event.HasField("draws_revealed"):
            commit.events.remove(event)

    def underdealt(_, event):
        if event.HasField("draws_revealed"):
            del event.draws_revealed.dealt[-1]

    def resealed(_, event):
        if event.HasField("step_resolved"):
            event.step_resolved.draw.next_seal = flip(event.step_resolved.draw.next_seal)
        if event.HasField("draw_sealed"):
            event.draw_sealed.seal = flip(event.draw_sealed.seal)

    def named_otherwise(_, event):
        if event.HasField("step_resolved"):
            event.step_resolved.draw.sealed_by = flip(event.step_resolved.draw.sealed_by)

    def unnamed(records):
        for record in [*records.sealing, *records.records]:
            changed(record, lambda commit: [draw.ClearField("sealed_by") for draw in draws_of(commit)])

    def unsettled(commit, event):
        if event.HasField("round_settled"):
            commit.events.remove(event)

    def renumbered(_, event):
        if event.HasField("step_resolved"):
            event.step_resolved.step += 1

    def sealed_twice(records):
        again = proof_pb2.ProvenRecord.FromString(records.sealing[0].SerializeToString())
        again.position -= 1
        changed(again, lambda commit: setattr(commit, "position", again.position))
        records.sealing.insert(0, again)

    def others(records):
        renamed = proven(other)
        renamed.round_id = records.round_id
        records.CopyFrom(renamed)

    def of_another_player(commit):
        commit.stream += "x"

    everywhere = [record.position for record in [*proven(proof).sealing, *proven(proof).records]]
    other_note = other.partition("\n\n")[2]
    renamed = proven(other)
    renamed.round_id = proven(proof).round_id
    otherwise = with_records(other.partition("\n\n")[0].split("\n"), renamed) + "\n\n" + other_note
    signature = base64.b64decode(note.rstrip("\n").splitlines()[-1].rpartition(" ")[2])
    false = base64.b64encode(flip(signature, 20)).decode()
    size = note.split("\n")[1]
    zeros = base64.b64encode(bytes(32)).decode()
    index = int(lines[2].removeprefix("index "))

    yield "as it is", proof, key, PROVEN
    yield "in another log, with a path for each record", *signed(lambda _: None), PROVEN
    yield "in another log, with no path but the last record's", *signed(lambda _: None, named=everywhere), PROVEN
    yield "of an older log, with no links and a path for each record", *signed(unnamed), PROVEN
    yield "of an older program, with each record whole, positions and the round's name", *beside(lambda _: None), PROVEN
    yield "without the record that sealed", *beside(lambda records: records.ClearField("sealing")), PARTLY
    yield "another round called this one", otherwise, key, REFUSED
    yield "another round's records", *signed(others), REFUSED
    yield "no records", *beside(lambda records: records.ClearField("records")), REFUSED
    yield "the bet is missing", *signed(lambda records: records.records.pop(0)), REFUSED
    if len(proven(proof).records) > 2:
        yield "a step is missing", *signed(lambda records: records.records.pop(1)), REFUSED
    yield "the end is missing", *signed(lambda records: records.records.pop()), REFUSED
    yield "the settlement is missing", *signed(events(last, unsettled)), REFUSED
    yield "the first step has another number", *signed(events(first, renumbered), relink=True), REFUSED
    yield "a record comes twice", *beside(lambda records: records.records.insert(0, records.records[0])), REFUSED
    yield "in another order", *beside(lambda records: records.records.insert(0, records.records.pop(1))), REFUSED
    yield "another player's", *signed(lambda records: changed(first(records), of_another_player), relink=True), REFUSED
    yield (
        "of another position",
        *signed(lambda records: changed(first(records), lambda commit: setattr(commit, "position", 1)), relink=True),
        REFUSED,
    )
    yield "of another position than it says", *beside(lambda records: setattr(first(records), "position", 1)), REFUSED
    copying = [record for record in [*written(proof).sealing, *written(proof).records] if record.copied]
    assert copying, "what records repeat is there once"
    for name, change in {
        "a run is copied from elsewhere": lambda copied: copied.__setitem__(1, copied[1] + 1),
        "a run is longer": lambda copied: copied.__setitem__(2, copied[2] + 1),
        "a run is copied to elsewhere": lambda copied: copied.__setitem__(0, copied[0] + 1),
        "a run is not there": lambda copied: copied.__setitem__(1, 1 << 31),
        "a run is behind the record": lambda copied: copied.__setitem__(0, 1 << 31),
        "a run without a length": lambda copied: copied.pop(),
        "no runs": lambda copied: copied.__delitem__(slice(None)),
        "more is copied than may be": lambda copied: copied.extend([0, 0, 32] * 129),
    }.items():
        yield name, *rewritten(lambda records, change=change: change(last(records).copied)), REFUSED
    yield "the first copies, and there is none before", *rewritten(lambda records: sealing(records).copied.__setitem__(slice(None), [0, 0, 1])), REFUSED
    yield "the record is missing that is copied from", *rewritten(lambda records: records.ClearField("sealing")), REFUSED
    yield "another round's number", *rewritten(lambda records: setattr(records, "round", number + 1)), REFUSED
    yield "no round's number", *rewritten(lambda records: records.ClearField("round")), REFUSED
    for name, of in {"the record that sealed": sealing, "the first record": first, "the last record": last}.items():
        yield f"a bit of {name}", *beside(lambda records, of=of: setattr(of(records), "record", flip(of(records).record, -20))), REFUSED
        yield f"a path too many at {name}", *beside(lambda records, of=of: of(records).path.append(bytes(32))), REFUSED
    yield "no path and no name", *signed(unnamed, named=everywhere), REFUSED
    yield "a record that is named otherwise", *signed(events(last, named_otherwise), named=everywhere), REFUSED
    yield "another index", "\n".join([*lines[:2], f"index {index + 1}", *lines[3:]]) + "\n\n" + note, key, REFUSED
    yield "a path that is too short", "\n".join(lines[:-1]) + "\n\n" + note, key, REFUSED
    yield "a path that is too long", "\n".join([*lines, zeros]) + "\n\n" + note, key, REFUSED
    yield "another path", "\n".join([*lines[:3], zeros, *lines[4:]]) + "\n\n" + note, key, REFUSED
    # In the following cases, the log's signatures are valid, but the rounds contradict their seals.
    yield "a dealt value is another", *signed(events(last, redealt)), REFUSED
    yield "a reveal is missing", *signed(events(last, unrevealed)), REFUSED
    yield "a dealt value is missing", *signed(events(last, underdealt)), REFUSED
    yield "a seal is another", *signed(events(sealing, resealed)), REFUSED
    yield "a seal is another, and the step names its record", *signed(events(sealing, resealed), relink=True), REFUSED
    yield "a step names another record", *signed(events(first, named_otherwise)), REFUSED
    yield "a draw is sealed twice", *signed(sealed_twice), REFUSED
    yield "a false signature", proof.replace(note.rstrip("\n").splitlines()[-1].rpartition(" ")[2], false), key, REFUSED
    yield "a larger log", head + "\n\n" + note.replace(f"\n{size}\n", f"\n{int(size) + 1}\n"), key, REFUSED
    yield "no signature", head + "\n\n" + note.partition("\n\n")[0] + "\n\n", key, REFUSED
    yield "another key", proof, log_of(key, proven(proof))[1], REFUSED
    yield "another log's key", proof, key.replace("/log/", "/logs/"), REFUSED
    yield "nothing", "nothing", key, REFUSED
    yield "another format", proof.replace("@v1", "@v2"), key, REFUSED
    yield "no base64", proof.replace("extra ", "extra *"), key, REFUSED
    yield "cut off", proof[: len(proof) // 3], key, REFUSED
    yield "an extra that is cut off", "\n".join([lines[0], lines[1][:-40], *lines[2:]]) + "\n\n" + note, key, REFUSED
