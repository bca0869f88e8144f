"""Measures the cost of reads: a page relative to a gRPC call, and bets with readers relative to bets without readers.

    python3 tests/reading_figures.py MOTHERLODE SCRIPTED LONG_LOG [ROUNDS] [page|bets|readers|spinning|find|lengths ...]

SCRIPTED: the service built with scripted draws. LONG_LOG: the example long_log of services/audit. ROUNDS: length of
Find's log (default 10,000,000). If no figure is named, measures all except `spinning` and `lengths`.

`spinning` is the control of `readers`: two busy processes of the lowest priority replace the readers. Readers run with
SCHED_IDLE unless FIGURES_READERS is `equal`. `lengths` plays on the logs in FIGURES_LOGS, separated by colons, shortest
first. FIGURES_TURNS: number of turns (default 9). FIGURES_SECONDS: seconds per part of a turn (default 40).

Run it with tests/.venv/bin/python after `tests/run python`.
"""

import hashlib
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "python"), str(Path(__file__).parent / "python/gen")]

from client import Client  # noqa: E402
from motherlode.ledger.v1 import ledger_pb2  # noqa: E402
from motherlode.round.v1 import round_pb2  # noqa: E402
from motherlode.spin.v1 import spin_pb2  # noqa: E402

PLAYERS = 5_000
CONSOLES = 50
TURNS = int(os.environ.get("FIGURES_TURNS", 9))
SECONDS = int(os.environ.get("FIGURES_SECONDS", 40))
# Maximum p99 latency of bets with readers, relative to the latency without readers (median over all turns).
RATIO_MAX = 1.2
EQUAL = os.environ.get("FIGURES_READERS") == "equal"


@contextmanager
def serving(motherlode, data):
    command = [motherlode, "serve", "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0", "--data", data]
    quiet = {**os.environ, "RUST_LOG": "warn"}
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet)
    told = {}
    for line in service.stdout:
        if line.startswith("console: http://"):
            told["console"] = line.split("http://")[1].strip().rstrip("/")
        if "motherlode listens on " in line:
            told["address"] = line.split("listens on ")[1].split(",")[0]
            break
    try:
        yield told["address"], told["console"]
    finally:
        service.terminate()
        service.wait(timeout=300)
        service.stdout.close()


class Console:
    def __init__(self, console):
        self.connection = http.client.HTTPConnection(console)
        self.cookie = ""
        self.connection.request("POST", "/login", "", {"content-type": "application/x-www-form-urlencoded"})
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def get(self, path):
        self.connection.request("GET", path, headers={"cookie": self.cookie})
        answer = self.connection.getresponse()
        return answer.status, answer.headers.get("location", ""), answer.read()


def timed(calls):
    times = []
    for call in calls:
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1_000)
    return statistics.median(times), max(times)


def told(what, of, median, longest, base):
    print(f"{what}: median {median:.2f} ms, longest {longest:.2f} ms, {median / base:.1f} times {of} ({base:.2f} ms)", flush=True)


def page_of_sixty(scripted):
    with tempfile.TemporaryDirectory() as data, serving(scripted, data) as (address, console):
        client = Client(address)
        alice = client.fund("alice")
        stake = round_pb2.Stake(coin_value="0.01", lines=15, coins_per_line=1)
        bet = spin_pb2.SpinRequest(request_id="a", account=alice, game="bewitched", stake=stake, witch=round_pb2.WITCH_WHITE)
        played = client.spin(bet, metadata=[("motherlode-force", "pick")])
        pick = round_pb2.Choice(pick=round_pb2.Choice.Pick(numbers=[6, 2, 4]))
        played = client.choose("a.1", played.round_id, pick, metadata=[("motherlode-force", "left 60")])
        start = round_pb2.Choice(start_free_spins=round_pb2.Choice.StartFreeSpins())
        played = client.choose("a.2", played.round_id, start)
        if played.state == round_pb2.ROUND_STATE_OPEN:
            client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id="s", round_id=played.round_id))
        somebody = Console(console)
        status, _, page = somebody.get(f"/round/{played.round_id}")
        windows = page.count(b'<svg class="reels"')
        assert status == 200 and windows >= 60, (status, windows)
        print(f"page of a round with {windows} windows: {len(page)} bytes, {len(page) / 100_000:.2f} of 100 kB")
        base, _ = timed([lambda: client.round(played.round_id)] * 200)
        median, longest = timed([lambda: somebody.get(f"/round/{played.round_id}")] * 200)
        told("its page", "GetRound by gRPC", median, longest, base)
        print(f"  {median / 50:.2f} of 50 ms", flush=True)


def found(motherlode, long_log, rounds):
    with tempfile.TemporaryDirectory(dir=os.environ.get("FIGURES_DATA")) as data:
        subprocess.run([long_log, str(rounds), str(PLAYERS), data], check=True)
        with serving(motherlode, data) as (address, console):
            client, somebody = Client(address), Console(console)
            deadline = time.monotonic() + 3_600
            end = client.position()
            while tree_size(data) < end:
                assert time.monotonic() < deadline
                time.sleep(1)
            some = random.Random(7)
            names = [f"player-{some.randrange(PLAYERS):08}" for _ in range(200)]
            ids = [f"acme/{name}/{some.randrange(1, max(rounds // PLAYERS, 2))}" for name in names]
            positions = [some.randrange(1, end) for _ in names]
            hashes = [hashlib.sha256(record(client, position)).hexdigest() for position in positions]
            ids = [name for name in ids if somebody.get(f"/round/{name}")[0] == 200]
            assert len(ids) > 100, len(ids)
            base, _ = timed([lambda name=name: client.round(name) for name in ids])
            print(f"Find among {end} records:")
            for what, sought in [("a round", ids), ("a position", positions), ("a hash", hashes)]:
                def find(name):
                    status, to, _ = somebody.get("/find?q=" + urllib.parse.quote(str(name)))
                    assert status == 303, (what, name, status)
                    return to

                median, longest = timed([lambda name=name: find(name) for name in sought])
                told(f"  {what}", "a point read", median, longest, base)
                assert somebody.get(find(sought[0]))[0] == 200


def record(client, position):
    request = ledger_pb2.FollowLogRequest(after_position=position - 1)
    stream = client.ledger.FollowLog(request)
    for answer in stream:
        for one in answer.records:
            if one.position == position:
                stream.cancel()
                return one.record
    raise AssertionError(position)


def tree_size(data):
    try:
        return int(Path(data, "proofs/0/checkpoint").read_text().split("\n")[1])
    except (OSError, IndexError, ValueError):
        return 0


def bets_beside(motherlode, share, who, beside):
    with tempfile.TemporaryDirectory(dir=os.environ.get("FIGURES_DATA")) as data, serving(motherlode, data) as (address, console):
        most = highest_rate(motherlode, address)
        rate = int(most * share)
        print(f"bets at {rate} per second, {share:.0%} of the highest rate {most:.0f}, {rate * SECONDS} in each half of {TURNS} turns:", flush=True)
        ratios, all_p99, all_p50 = [], {False: [], True: []}, {False: [], True: []}
        for turn in range(TURNS):
            order = [False, True] if turn % 2 else [True, False]
            p99 = {}
            for watched in order:
                with beside(motherlode, address, console) if watched else nullcontext():
                    taken = load(motherlode, address, rate * SECONDS, rate)
                p99[watched] = taken["p99"]
                all_p99[watched].append(taken["p99"])
                all_p50[watched].append(taken["p50"])
            ratios.append(p99[True] / p99[False])
            print(f"  turn {turn + 1}: p99 {p99[True]:.2f} ms with {who}, {p99[False]:.2f} ms without: {ratios[-1]:.2f}", flush=True)
        for told, all_of in [("p50", all_p50), ("p99", all_p99)]:
            within, without = (statistics.median(all_of[watched]) for watched in [True, False])
            print(f"  {told}, median of the turns: {within:.2f} ms with {who}, {without:.2f} ms without: {within / without:.2f}")
        noise = [max(pair) / min(pair) for pair in zip(all_p99[False], all_p99[False][1:])]
        median, quarters = statistics.median(ratios), statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
        print(f"  ratio: median {median:.2f}, half of the turns {quarters[0]:.2f} to {quarters[2]:.2f}, all {min(ratios):.2f} to {max(ratios):.2f}")
        if noise:
            print(f"  noise: halves without other load differ by {statistics.median(noise):.2f} in the median, at most {max(noise):.2f}")
        print(f"  {'within' if median <= RATIO_MAX else 'ABOVE'} {RATIO_MAX} in the median")


def by_length(motherlode, folders):
    with ExitStack() as services:
        opened = [services.enter_context(serving(motherlode, folder)) for folder in folders]
        lengths = [Client(address).position() for address, _ in opened]
        rate = int(min(load(motherlode, address, 20_000, 0)["rate"] for address, _ in opened) * 0.3)
        print(f"bets at {rate} per second, {rate * SECONDS} on each log, {TURNS} turns:", flush=True)
        p99 = [[] for _ in opened]
        for turn in range(TURNS):
            for nth in range(len(opened)):
                nth = (turn + nth) % len(opened)
                p99[nth].append(load(motherlode, opened[nth][0], rate * SECONDS, rate)["p99"])
        for length, found in zip(lengths, p99):
            ratios = [one / first for one, first in zip(found, p99[0])]
            print(f"  {length} records: p99 {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) of the first's", flush=True)


@contextmanager
def readers(motherlode, address, console):
    over = threading.Event()

    def stand_behind():
        if not EQUAL:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    def call(method, message):
        body = json.dumps(message).encode()
        request = urllib.request.Request(f"http://{console}/v1/{method}", body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            if refused.code != 429:
                raise
            return {}

    def audits():
        while not over.is_set():
            call("JobService/StartJob", {"requestId": f"audit-{time.time_ns()}", "audit": {}})
            while not over.wait(0.5):
                jobs = call("JobService/ListJobs", {}).get("jobs")
                if jobs and jobs[0]["state"] != "STATE_RUNNING":
                    break

    def reports():
        while not over.wait(0.5):
            call("ReportService/ListReturns", {})
            call("ReportService/ListRevenue", {})

    def histories():
        while not over.wait(0.02):
            events = call("ReportService/ListTransactions", {"operatorId": "loadtest", "currencyCode": "EUR", "pageSize": 20})
            for transaction in events.get("transactions", [])[:5]:
                account = transaction["account"]
                call("LedgerService/ListRounds", {"account": account, "pageSize": 100})

    with tempfile.TemporaryDirectory(dir=os.environ.get("FIGURES_DATA")) as copy:
        follow = [motherlode, "follow", "--target", f"http://{address}", "--to", copy]
        subprocess.run([*follow, "--once"], check=True, capture_output=True)
        follower = subprocess.Popen(follow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def behind(read):
            stand_behind()
            read()

        reading = [threading.Thread(target=behind, args=(one,)) for one in [audits, reports, *[histories] * 4]]
        [one.start() for one in reading]
        try:
            yield
        finally:
            over.set()
            [one.join() for one in reading]
            assert follower.poll() is None, "the copy was followed to the end"
            follower.terminate()
            follower.wait(timeout=60)


@contextmanager
def spinning(_motherlode, _address, _console):
    count = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nprint(flush=True)\nwhile True: pass"
    counting = [subprocess.Popen([sys.executable, "-c", count], stdout=subprocess.PIPE) for _ in range(2)]
    [one.stdout.readline() for one in counting]
    try:
        yield
    finally:
        [one.kill() for one in counting]
        [one.wait() for one in counting]


@contextmanager
def consoles(_motherlode, _address, console):
    over = threading.Event()

    def watch(number):
        somebody = Console(console)
        over.wait(number * 3 / CONSOLES)
        while not over.is_set():
            path = ["/live/now", "/live/jackpots/bewitched", "/live/log"][number % 3]
            status, _, _ = somebody.get(path)
            assert status == 200, path
            over.wait(3)

    watching = [threading.Thread(target=watch, args=(number,)) for number in range(CONSOLES)]
    [one.start() for one in watching]
    yield
    over.set()
    [one.join() for one in watching]


def highest_rate(motherlode, address):
    load(motherlode, address, 20_000, 0)
    low, high = 0, load(motherlode, address, 20_000, 0)["rate"]
    for _ in range(6):
        rate = (low + high) / 2
        held = load(motherlode, address, int(rate * 5) + 1, rate)["rate"] >= rate * 0.97
        low, high = (rate, high) if held else (low, rate)
    return low


def load(motherlode, address, rounds, rate):
    command = [motherlode, "loadtest", "--target", f"http://{address}", "--rounds", str(rounds), "--concurrency", "32"]
    command += ["--players", "500", "--format", "json", *(["--rate", str(rate)] if rate else [])]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"rate": said["rounds_per_second"], "p50": said["latency_ms"]["p50"], "p99": said["latency_ms"]["p99"]}


def main(motherlode, scripted, long_log, rounds="10000000", *figures):
    wanted = figures or ("page", "bets", "readers", "find")
    if "page" in wanted:
        page_of_sixty(scripted)
    if "bets" in wanted:
        bets_beside(motherlode, 0.3, f"{CONSOLES} consoles", consoles)
    if "readers" in wanted:
        bets_beside(motherlode, 0.5, "all readers", readers)
    if "spinning" in wanted:
        bets_beside(motherlode, 0.5, "two that count", spinning)
    if "lengths" in wanted:
        by_length(motherlode, os.environ["FIGURES_LOGS"].split(":"))
    if "find" in wanted:
        found(motherlode, long_log, int(rounds))


if __name__ == "__main__":
    main(*sys.argv[1:])
