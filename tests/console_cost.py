"""Measures the console's cost on a quiet machine, with a release build:

- processor time of the server per page (limit: 50 ms), and bytes per page (limit: 100 kB)
- p99 latency of bets while 50 front pages are open, relative to the latency without open pages (limit: 1.2)

usage: tests/.venv/bin/python tests/console_cost.py BINARY [SECONDS]
"""

import os
import re
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

BINARY, SECONDS = Path(sys.argv[1]).resolve(), float(sys.argv[2]) if len(sys.argv) > 2 else 20
os.environ["MOTHERLODE_BIN"] = str(BINARY)
sys.path.insert(0, str(Path(__file__).parent / "python"))

from browsing import CONSOLE  # noqa: E402
from conftest import Service  # noqa: E402
from test_page import STAKES  # noqa: E402

from motherlode.round.v1 import round_pb2  # noqa: E402
from motherlode.spin.v1 import spin_pb2  # noqa: E402

VISITS, CONSOLES, REFRESH_S, PAIRS = 20, 50, 3, 5
CPU_MS_MAX, KB_MAX, RATIO_MAX = 50, 100, 1.2
PLAYERS, BET_EVERY_S = 8, 0.02


def opened(address):
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    request = urllib.request.Request(address + "login", data=b"next=%2F", headers={"origin": address.rstrip("/")})
    visitor.open(request).read()
    return visitor


def spent(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pages(service, rounds):
    visitor, pid = opened(service.console), service.process.pid
    games = visitor.open(service.console + "games").read().decode()
    games = list(dict.fromkeys(re.findall(r'href="/(games/[a-z-]+/[^"/]+)"', games)))
    paths = ["", "find", "players", "rounds?operator=acme", "rounds?operator=acme&state=void", "refusals", "jackpots", "jackpots/bewitched", "reports", "reports/revenue", "trust", "log", "log/0/3", "games"]
    paths += [game + page for game in games for page in ("", "/par", "/reels", "/returns")]
    paths += [f"round/{rounds[0]}", f"player/{rounds[0].rpartition('/')[0]}", f"player/{rounds[0].rpartition('/')[0]}/statement"]
    print("| page | first visit, ms of CPU | later visits | kB | verdict |\n|---|---|---|---|---|")
    over = []
    for path in paths:
        begun = spent(pid)
        size = len(visitor.open(service.console + path).read()) / 1000
        first, begun = (spent(pid) - begun) * 1000, spent(pid)
        for _ in range(VISITS):
            visitor.open(service.console + path).read()
        later = (spent(pid) - begun) * 1000 / VISITS
        verdict = "good" if max(first, later) <= CPU_MS_MAX and size <= KB_MAX else "over the limit"
        over += [path] * (verdict != "good")
        print(f"| /{path} | {first:.0f} | {later:.1f} | {size:.1f} | {verdict} |", flush=True)
    return over


def bets(client, player, until, taken):
    account = client.fund(player)
    coin_value, lines, coins = STAKES["neptune"]
    stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins)
    number = 0
    while time.monotonic() < until:
        number += 1
        request = spin_pb2.SpinRequest(request_id=f"b{number}", account=account, game="neptune", stake=stake)
        begun = time.perf_counter()
        played = client.spin(request)
        taken.append(time.perf_counter() - begun)
        if played.state == round_pb2.ROUND_STATE_OPEN:
            client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id=f"s{number}", round_id=played.round_id))
        time.sleep(BET_EVERY_S)


def refreshes(service, visitor, until, delay):
    time.sleep(delay)
    while time.monotonic() < until:
        visitor.open(service.console + "live/now").read()
        time.sleep(REFRESH_S)


def p99(service, run, visitors):
    until, taken = time.monotonic() + SECONDS, []
    clients = [service.client() for _ in range(PLAYERS)]
    threads = [threading.Thread(target=bets, args=(client, f"r{run}-{at}", until, taken)) for at, client in enumerate(clients)]
    threads += [threading.Thread(target=refreshes, args=(service, visitor, until, REFRESH_S * at / CONSOLES)) for at, visitor in enumerate(visitors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statistics.quantiles(taken, n=100)[98] * 1000


def main():
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder) / "data", CONSOLE, BINARY)
        client = service.client()
        taken = []
        bets(client, "alice", time.monotonic() + 3, taken)
        over = pages(service, ["acme/alice/1"])
        visitors = [opened(service.console) for _ in range(CONSOLES)]
        ratios = []
        for pair in range(PAIRS):
            without, during = p99(service, f"{pair}a", []), p99(service, f"{pair}b", visitors)
            ratios.append(during / without)
            print(f"p99 of bets: {without:.2f} ms without consoles, {during:.2f} ms with {CONSOLES}", flush=True)
        ratio = statistics.median(ratios)
        print(f"pages over {CPU_MS_MAX} ms of CPU or {KB_MAX} kB: {len(over)}")
        print(f"median ratio: {ratio:.2f}, {'good' if ratio <= RATIO_MAX else f'over {RATIO_MAX}'}")
        service.end()
        sys.exit(bool(over) or ratio > RATIO_MAX)


if __name__ == "__main__":
    main()
