"""Measures the console's search on a log of the given size, with a release build: milliseconds from the request to the last
byte of the found page (limit: 100 ms), for each kind of id.

Cold: after a restart of the service, without the service's files in the page cache. Warm: second search for the same ids.

usage: python3 tests/search_cost.py BINARY [ROUNDS]
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

from proof_sizes import serving

SAMPLES, ROUNDS_PER_PLAYER, PLAYERS_MIN, MS_MAX = 20, 1_000, 64, 100


def opened(console):
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    visitor.open(urllib.request.Request(console + "/login", data=b"next=%2F", headers={"origin": console})).read()
    return lambda path: visitor.open(console + path).read().decode()


def evict(data):
    os.sync()
    for file in Path(data).rglob("*"):
        if file.is_file():
            handle = os.open(file, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def ids(read, rounds):
    """Returns paths that search for each kind of id. The ids are spread over players and positions."""
    players = re.findall(r"/player/loadtest/([0-9a-z-]+)\"", read("/players?operator=loadtest"))[:SAMPLES]
    positions = [rounds * at // SAMPLES + 10 for at in range(SAMPLES)]
    hashes = [re.search(r"\b[0-9a-f]{64}\b", read(f"/log/0/{position}"))[0] for position in positions]
    found = {
        "player": [f"loadtest/{player}" for player in players],
        "round": [f"loadtest/{player}/1" for player in players],
        "request": [f"loadtest/{player} r1" for player in players],
        "request alone": [f"r{at + 1}" for at in range(SAMPLES)],
        "position": [f"0:{position + 1}" for position in positions],
        "hash": hashes,
        "unknown": [f"loadtest/nobody-{at}" for at in range(SAMPLES)],
    }
    paths = {kind: ["/find?q=" + urllib.parse.quote_plus(text) for text in texts] for kind, texts in found.items()}
    paths["suggestions"] = [f"/live/suggestions?q=loadtest/{player[:-1]}" for player in players]
    return paths


def taken(read, path):
    begun = time.perf_counter()
    try:
        read(path)
    except urllib.error.HTTPError as error:
        assert error.code == 404, path
        error.read()
    return (time.perf_counter() - begun) * 1000


def main():
    motherlode, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    with tempfile.TemporaryDirectory() as data:
        with serving(motherlode, data) as (target, console):
            played = [motherlode, "loadtest", "--target", target, "--rounds", str(rounds), "--seconds-max", "36000"]
            players = max(PLAYERS_MIN, rounds // ROUNDS_PER_PLAYER)
            subprocess.run([*played, "--players", str(players)], stdout=subprocess.DEVNULL, check=True)
            paths = ids(opened(console), rounds)
        evict(data)
        print(f"{rounds} rounds\n| id | cold, median ms | cold, highest | warm, median | warm, highest | verdict |\n|---|---|---|---|---|---|")
        over = 0
        with serving(motherlode, data) as (_, console):
            read = opened(console)
            for kind, asked in paths.items():
                cold, warm = ([taken(read, path) for path in asked] for _ in range(2))
                figures = [figure for times in (cold, warm) for figure in (statistics.median(times), max(times))]
                verdict = "good" if max(figures) <= MS_MAX else f"over {MS_MAX} ms"
                over += verdict != "good"
                print(f"| {kind} | {' | '.join(f'{figure:.1f}' for figure in figures)} | {verdict} |", flush=True)
    sys.exit(over > 0)


if __name__ == "__main__":
    main()
