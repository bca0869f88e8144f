import base64
import hashlib
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest
from conftest import BINARY, ROOT
from client import bet
from forged import PARTLY, PROVEN, REFUSED, forged
from test_page import STAKES
from tlog_scales import backend, reader, signing, tlog
from tlog_scales.tiles import leaf_hash

from motherlode.proof.v1 import proof_pb2, proof_pb2_grpc
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2

sys.path.insert(0, str(ROOT / "examples"))

import verify_round  # noqa: E402  (it's found where the line above says)


def motherlode(*arguments, code=0):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def prefix(service):
    return service.tiles.removesuffix("/checkpoint")


def proofs(client):
    return proof_pb2_grpc.ProofServiceStub(client.channel)


def round_proof(client, round_id):
    return proofs(client).GetRoundProof(proof_pb2.GetRoundProofRequest(round_id=round_id)).proof


@contextmanager
def witness(folder, log):
    key = folder / "witness.key"
    vkey = motherlode("key", "new", "witness.example/w1", "--witness", "--out", key).strip()
    command = [BINARY, "witness", "--listen", "127.0.0.1:0", "--key", key, "--log", log, "--data", folder / "seen"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said = [process.stdout.readline() for _ in range(2)]
        yield said[1].strip().removesuffix("/add-checkpoint"), vkey
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0
        process.stdout.close()


@pytest.fixture
def signed(tmp_path, start):
    key = tmp_path / "log.key"
    vkey = motherlode("key", "new", "example.com/motherlode", "--out", key).strip()
    assert motherlode("key", "show", key).strip() == vkey
    with witness(tmp_path, vkey) as (url, cosigner):
        service = start(
            f'[proofs]\nname = "example.com/motherlode"\nkey_file = "{key}"\nlisten = "127.0.0.1:0"\n'
            f'[[proofs.witnesses]]\nurl = "{url}"\nkey = "{cosigner}"\n'
        )
        client = service.client()
        account = client.fund("ann")
        rounds = [client.play_out(bet(f"spin-{number}", account))[0].round_id for number in range(300)]
        yield service, client, vkey, cosigner, rounds
        client.close()


def test_pl_30_a_foreign_verifier_checks_signature_inclusion_and_consistency_of_every_record(signed):
    service, client, vkey, cosigner, rounds = signed
    records = {}
    for round_id in rounds[::50]:
        _, _, found, _ = verify_round.verify(round_proof(client, round_id), vkey)
        records.update(found)
    log = reader.TilesReader(backend.make_backend(prefix(service)))
    checkpoint = log.get_checkpoint()
    position = client.position()
    while checkpoint.size < position:
        checkpoint = log.get_checkpoint()
    checkpoint.verify(signing.Vkey.from_string(vkey))
    assert checkpoint.origin == "example.com/motherlode/log/0"
    assert checkpoint.size > 300
    assert log.calculate_root_hash() == checkpoint.root_hash
    for index in range(checkpoint.size):
        entry = log.get_entry(index)
        log.get_inclusion_proof(index, checkpoint.size).check(leaf_hash(entry), checkpoint.root_hash)
        if index + 1 in records:
            assert entry == hashlib.sha256(records[index + 1]).digest()
    for old in range(1, checkpoint.size + 1):
        proof = log.get_consistency_proof(old, checkpoint.size)
        proof.check(log.mth(0, old), checkpoint.root_hash)
        own = proofs(client).GetConsistency(proof_pb2.GetConsistencyRequest(old_size=old))
        last = tlog.Checkpoint.from_text(own.checkpoint)
        last.verify(signing.Vkey.from_string(vkey))
        tlog.ConsistencyProof(old, last.size, list(own.hashes)).check(log.mth(0, old), last.root_hash)



def test_pl_06_a_round_is_proven_by_a_file_offline_by_the_tool_and_by_the_example(signed, tmp_path):
    service, client, vkey, cosigner, rounds = signed
    file, policy = tmp_path / "round.tlog-proof", tmp_path / "policy"
    file.write_text(motherlode("proof", rounds[7], "--target", f"http://{service.address}"))
    policy.write_text(f"log {vkey}\nwitness w1 {cosigner}\nquorum w1\n")
    assert len(file.read_text()) < 2500
    shown = motherlode("verify", file, "--key", vkey, "--policy", policy)
    assert "example.com/motherlode/log/0 signed a log of" in shown
    assert "1 of 1 witnesses have cosigned this checkpoint" in shown
    assert "reproduces the bytes of its record" in shown
    assert motherlode("verify", file, "--policy", policy) == shown
    example = [sys.executable, ROOT / "examples/verify_round.py", file, vkey]
    printed = subprocess.run(example, capture_output=True, text=True, check=True).stdout
    assert printed.startswith(f"round {rounds[7]} is in the log of ")
    sealed = re.search(r"step 1: draw (\d+) was sealed at position (\d+): ([0-9a-f]{64})", shown)
    assert f"draw {sealed[1]}: the dealt value matches the seal at position {sealed[2]}; seed " in printed
    short = motherlode("proof", rounds[7], "--without-seals", "--target", f"http://{service.address}")
    assert len(short) < len(file.read_text())
    _, _, _, drawn = verify_round.verify(short, vkey)
    assert [(str(draw), where) for draw, _, where in drawn][0] == (sealed[1], None)
    brief = motherlode("proof", rounds[7], "--brief", "--target", f"http://{service.address}")
    assert len(brief) < len(file.read_text())
    (tmp_path / "brief").write_text(brief)
    assert "reproduces the bytes of its record" in motherlode("verify", tmp_path / "brief", "--key", vkey)
    with pytest.raises(verify_round.Unproven, match="the proof omits outcomes"):
        verify_round.verify(brief, vkey)
    log = reader.TilesReader(backend.make_backend(prefix(service)))
    noted = log.get_checkpoint().__class__.from_text(file.read_text().split("\n\n", 1)[1])
    noted.verify(signing.Vkey.from_string(cosigner))

    changed = file.read_text().replace("index ", "index 1")
    file.write_text(changed)
    assert "is not in the signed log" in motherlode("verify", file, "--key", vkey, code=1)
    with pytest.raises(verify_round.Unproven):
        verify_round.verify(changed, vkey)

    assert service.terminate() == 0
    data = tmp_path / "data"
    if (data / "log").is_dir():
        file.write_text(motherlode("proof", rounds[9], "--data", data, "--log-key", vkey))
        assert "reproduces the bytes of its record" in motherlode("verify", file, "--key", vkey)
        brief = motherlode("proof", rounds[9], "--data", data, "--log-key", vkey, "--brief")
        assert len(brief) < len(file.read_text())
        file.write_text(brief)
        assert "reproduces the bytes of its record" in motherlode("verify", file, "--key", vkey)
        assert "checkpoints of this log: " in motherlode("audit", data, "--key", vkey)
        kept = tmp_path / "kept"
        kept.write_text((data / "proofs/0/checkpoint").read_text())
        motherlode("audit", data, "--key", vkey, "--checkpoint", kept)


def test_pl_06_the_tool_and_the_example_say_the_same_of_every_proof_honest_or_forged(start, tmp_path):
    client = start().client()
    account = client.fund("ann")
    rounds = []
    for number, (game, (coin_value, lines, coins)) in enumerate([*STAKES.items()][:3]):
        stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins, buy_feature=game == "mystery-elves")
        witch = round_pb2.WITCH_WHITE if game == "bewitched" else round_pb2.WITCH_UNSPECIFIED
        request = spin_pb2.SpinRequest(request_id=f"spin-{number}", account=account, game=game, stake=stake, witch=witch)
        played = client.spin(request)
        if played.state == round_pb2.ROUND_STATE_OPEN:
            client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id=f"skip-{number}", round_id=played.round_id))
        rounds.append(played.round_id)
    proof, other = round_proof(client, rounds[2]), round_proof(client, rounds[1])
    key = proofs(client).GetRoundProof(proof_pb2.GetRoundProofRequest(round_id=rounds[2])).verifier_key
    client.close()
    said, file = {}, tmp_path / "round.tlog-proof"
    for name, shown, by, expected in forged(proof, other, key):
        try:
            _, _, _, drawn = verify_round.verify(shown, by)
            example = PARTLY if any(where is None for _, _, where in drawn) else PROVEN
        except verify_round.Unproven:
            example = REFUSED
        file.write_text(shown)
        done = subprocess.run([BINARY, "verify", file, "--key", by], capture_output=True, text=True, timeout=60)
        is_shown = "whether each draw was sealed before the request" not in done.stdout
        tool = REFUSED if done.returncode else PROVEN if is_shown else PARTLY
        assert "panicked" not in done.stderr, name
        said[name] = example, tool, expected
    assert {name: verdicts for name, verdicts in said.items() if len(set(verdicts)) > 1} == {}
    assert len(said) > 40


def test_nothing_in_a_proof_can_be_changed_by_the_examples_judgement(signed):
    _, client, vkey, _, rounds = signed
    honest = round_proof(client, rounds[3])
    other = round_proof(client, rounds[4])
    proven = verify_round.verify(honest, vkey)
    lines = honest.splitlines(keepends=True)
    extra = base64.b64decode(lines[1].removeprefix("extra "))
    believed = 0
    for at in range(len(extra)):
        changed = bytearray(extra)
        changed[at] ^= 1 << at % 8
        lines[1] = f"extra {base64.b64encode(changed).decode()}\n"
        try:
            found = verify_round.verify("".join(lines), vkey)
        except verify_round.Unproven:
            continue
        believed += 1
        assert found == proven or any(where is None for _, _, where in found[-1]), at
    assert believed < 10
    lines[1] = other.splitlines(keepends=True)[1]
    with pytest.raises(verify_round.Unproven):
        verify_round.verify("".join(lines), vkey)
    renamed = proof_pb2.RoundRecords.FromString(extra)
    renamed.round_id = rounds[4]
    lines[1] = f"extra {base64.b64encode(renamed.SerializeToString()).decode()}\n"
    with pytest.raises(verify_round.Unproven, match="there is no bet of round"):
        verify_round.verify("".join(lines), vkey)
    with pytest.raises(verify_round.Unproven):
        verify_round.verify(honest, vkey.replace("example.com", "example.org"))


def test_pl_06_the_documented_two_hashes_agree_with_the_round_just_played(start):
    service = start()
    motherlode("play", "bewitched", "--auto", "--rounds", "1", "--target", f"http://{service.address}")
    client = service.client()
    step = client.round("demo/alice/1").steps[0]
    values = os.environ | {"DEALT": step.draw.dealt.hex(), "CLIENT_SEED": step.draw.client_seed.hex()}
    lines = (ROOT / "proto/README.md").read_text().splitlines()
    begin = ("$ printf 'motherlode/seal/v1", "$ printf 'motherlode/seed/v1")
    commands = [line.removeprefix("$ ").partition("#")[0] for line in lines if line.startswith(begin)]
    run = [subprocess.run(["sh", "-c", command], env=values, capture_output=True, text=True, check=True) for command in commands]
    assert [done.stdout.split()[0] for done in run] == [step.draw.seal.hex(), step.seed.hex()]
    client.close()
