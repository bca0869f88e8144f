import json
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager

GAMES = ("bewitched", "dwarf-mine", "mystery-elves", "neptune", "witch-feature")
SIZE = 10_000_000
LINE = 45
AIM = 2_500


@contextmanager
def serving(motherlode, data):
    command = [motherlode, "serve", "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0", "--data", data]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    console = ""
    for line in service.stdout:
        if line.startswith("console: "):
            console = line.split(": ")[1].strip().rstrip("/")
        if "motherlode listens on " in line:
            break
    try:
        yield "http://" + line.split("listens on ")[1].split(",")[0], console
    finally:
        service.terminate()
        service.stdout.close()
        service.wait(timeout=60)


def proof_of(console, round_id, brief):
    body = json.dumps({"roundId": round_id, "brief": brief}).encode()
    request = urllib.request.Request(
        f"{console}/v1/ProofService/GetRoundProof", body, {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["proof"]


def at_ten_million(proof):
    lines = proof[: proof.index("\n\n")].split("\n")
    path = len([line for line in lines if line.endswith("=") and " " not in line])
    return len(proof) + LINE * (SIZE.bit_length() - path)


def main():
    motherlode, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000
    with tempfile.TemporaryDirectory() as data, serving(motherlode, data) as (target, console):
        for game in GAMES:
            played = [motherlode, "loadtest", "--target", target, "--game", game, "--operator", game]
            subprocess.run([*played, "--rounds", str(rounds)], stdout=subprocess.DEVNULL, check=True)
        listed = [motherlode, "export", "rounds", data, "--format", "jsonl"]
        ended = map(json.loads, subprocess.run(listed, capture_output=True, check=True).stdout.splitlines())
        sizes = {}
        for each in ended:
            if each["state"] == "settled":
                for brief in (False, True):
                    size = at_ten_million(proof_of(console, each["round_id"], brief))
                    sizes.setdefault((each["game"], brief), []).append(size)
    for (game, brief), of in sorted(sizes.items()):
        of.sort()
        within = sum(size <= AIM for size in of) / len(of)
        tenths = [of[len(of) * part // 100] for part in (50, 90, 99)]
        how = "brief" if brief else "whole"
        print(f"{game}, {how}: {len(of)} rounds, bytes at 50, 90 and 99 %: {tenths}, at most {of[-1]}, {within:.1%} within {AIM}")


if __name__ == "__main__":
    main()
