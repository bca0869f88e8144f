"""Log of two operators, with events of yesterday and today, for the test of the console's twenty tasks."""

import hashlib
import os
import signal
import subprocess
import sys
import time

import grpc
from conftest import BINARY, HERE, ROOT, SCRIPTED, Service
from protected import Protected
from test_page import STAKES

from motherlode.jackpot.v1 import jackpot_pb2
from motherlode.ledger.v1 import ledger_pb2
from motherlode.report.v1 import report_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import campaign_pb2, spin_pb2

ROUNDS = int(os.environ.get("MOTHERLODE_TASKS_ROUNDS", "120"))
ROLES = {
    "acme/play": ["play", "wallet"],
    "acme/support": ["support"],
    "acme/sue": ["support"],
    "acme/sam": ["support"],
    "acme/finance": ["audit", "wallet"],
    "acme/auditor": ["audit"],
    "bravo/play": ["play", "wallet"],
    "bravo/support": ["support"],
    "platform/audit": ["audit"],
    "platform/anna": ["admin", "audit"],
    "platform/ben": ["admin", "audit"],
}


def account(name, currency="EUR"):
    operator, player = name.split("/")
    return round_pb2.Account(operator_id=operator, player_id=player, currency_code=currency)


def varint(number):
    low = bytes([number & 0x7F | (0x80 if number > 0x7F else 0)])
    return low + varint(number >> 7) if number > 0x7F else low


def filling(folder, days):
    """Task D1: writes a day of history in which the use of the disk grows so fast that it will be full in the given number
    of days."""
    disk = os.statvfs(folder)
    free, total = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
    now = int(time.time()) // 60

    def points(first, count, every):
        # Each row of the history, in postcard's format: minute, rounds, stakes, wins, pools, refusals, latency, and free and
        # total bytes.
        for minute in range(first, first + count * every, every):
            left = free + free * (now - minute) // (days * 1440)
            yield varint(2 * minute) + bytes(6) + varint(left) + varint(total)

    hour, day = list(points(now - 60, 60, 1)), list(points((now // 15 - 95) * 15, 95, 15))
    body = b"".join([varint(len(hour)), *hour, varint(len(day)), *day])
    (folder / "history").write_bytes(b"MLHIST01" + hashlib.sha256(body).digest() + body)


def shifted(folder, seconds):
    library = folder / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "clock.c"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_SHIFT_S": str(seconds)}


class Daily:
    def __init__(self, folder):
        self.folder = folder
        self.protected = Protected(folder, ROLES)
        self.clients = {}
        self.wallet = self.service = None
        self.start_wallet()
        yesterday = shifted(folder, -86_400)
        self.start(yesterday)
        self.set_aside(yesterday)
        self.history()
        self.voids()
        self.switch_off()
        self.stop()
        filling(folder / "data", days=3)
        self.start()
        self.today()
        self.sessions()
        self.gina()
        self.pool()
        self.follower()

    def start_wallet(self):
        (self.folder / "wallet.token").write_text("the wallet's own\n")
        gifts = [word for player in ["gina", "hugo", *[f"g{n}" for n in range(6)]] for word in ("--give", f"{player}:EUR:{2_000}")]
        command = [sys.executable, ROOT / "deploy/examples/wallet", "--listen", "127.0.0.1:0", "--database", self.folder / "wallet.sqlite"]
        self.wallet = subprocess.Popen([*command, "--token-file", self.folder / "wallet.token", *gifts], stdout=subprocess.PIPE, text=True)
        address = self.wallet.stdout.readline().removeprefix("wallet listens on ").strip()
        seamless = f"{{ url = 'http://{address}', token_file = '{self.folder}/wallet.token', answer_ms_max = 200, debit_ms_max = 400, overdue_ms = 1000 }}"
        self.config = self.protected.config.replace('id = "bravo"\n', f"id = \"bravo\"\nwallet = 'seamless'\nseamless = {seamless}\n", 1)
        self.config += '[console]\nlisten = "127.0.0.1:0"\n'

    def start(self, environment=None):
        self.service = Service(self.folder / "data", self.config, SCRIPTED, environment)

    def stop(self):
        self.service.terminate()
        self.service.end()
        for client in self.clients.values():
            client.close()
        self.clients.clear()

    def client(self, name):
        if name not in self.clients:
            self.clients[name] = self.protected.client(self.service.address, name)
        return self.clients[name]

    def end(self):
        for client in self.clients.values():
            client.close()
        self.service.end()
        self.wallet.kill()
        self.wallet.wait()
        self.wallet.stdout.close()

    def fund(self, name, minor):
        client, of = self.client(name.split("/")[0] + "/play"), account(name)
        client.ledger.OpenAccount(ledger_pb2.OpenAccountRequest(request_id="open", account=of))
        if minor:
            client.ledger.Deposit(ledger_pb2.DepositRequest(request_id="deposit", account=of, amount_minor=minor))

    def spin(self, name, game, request_id, wish, coins=0, **more):
        coin_value, lines, one = STAKES[game]
        stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins or one, buy_feature=more.pop("buys", False))
        witch = round_pb2.WITCH_WHITE if game == "bewitched" else round_pb2.WITCH_UNSPECIFIED
        if "campaign_id" in more:
            stake = None
        request = spin_pb2.SpinRequest(request_id=request_id, account=account(name), game=game, stake=stake, witch=witch, **more)
        played = self.client(name.split("/")[0] + "/play").spins.Spin(request, metadata=[("motherlode-force", wish)] if wish else None).played
        return played

    def over(self, name, game, request_id, wish, **more):
        played = self.spin(name, game, request_id, wish, **more)
        if played.state == round_pb2.ROUND_STATE_OPEN:
            self.client(name.split("/")[0] + "/play").spins.SkipRound(spin_pb2.SkipRoundRequest(request_id=f"skip-{request_id}", round_id=played.round_id))
        return played.round_id

    def round(self, round_id):
        client = self.client(round_id.split("/")[0] + "/play")
        return client.ledger.GetRound(ledger_pb2.GetRoundRequest(round_id=round_id)).round

    def balance(self, name):
        request = ledger_pb2.GetAccountRequest(account=account(name))
        return self.client("acme/play").ledger.GetAccount(request).balance

    def set_aside(self, environment):
        """Task J1: an account whose balance is so near its maximum that the jackpot award does not fit."""
        self.fund("acme/erin", 1_000_000)
        opened = self.spin("acme/erin", "bewitched", "full", "pick", coins=10)
        round = self.round(opened.round_id)
        due = sum(step.win.amount_minor for step in round.steps)
        room = 2**63 - 1 - round.balance_after.amount_minor - due
        self.stop()
        command = [BINARY.with_name("deposit-of-old"), self.service.place, "acme", "erin", str(room)]
        subprocess.run(command, check=True, timeout=60, env=os.environ | environment)
        self.start(environment)
        pick = round_pb2.Choice(pick=round_pb2.Choice.Pick(numbers=[6, 2, 4]))
        request = spin_pb2.ChooseRequest(request_id="hit", round_id=opened.round_id, choice=pick)
        self.client("acme/play").spins.Choose(request, metadata=[("motherlode-force", "jackpot")])
        self.j1 = opened.round_id
        while self.round(self.j1).jackpots[0].state != round_pb2.JackpotWin.STATE_SET_ASIDE:
            pass

    def history(self):
        for name, minor in {"alice": 5_000, "bob": 5_000, "carol": 1_000, "dave": 100_000, "frank": 10_000, "gwen": 2_000}.items():
            self.fund(f"acme/{name}", minor)
        self.r1 = self.over("acme/alice", "neptune", "req-7741", "win LINE, over")
        self.r3 = self.over("acme/bob", "neptune", "bob-1", "win LINE, over")
        self.r4 = self.over("acme/bob", "neptune", "bob-2", "win LINE, over")
        self.grant("acme/carol")
        self.r5 = self.over("acme/carol", "neptune", "carol-1", "win LINE, over", campaign_id="spring-26")
        opened = self.spin("acme/dave", "bewitched", "dave-1", "pick", coins=10)
        pick = round_pb2.Choice(pick=round_pb2.Choice.Pick(numbers=[6, 2, 4]))
        request = spin_pb2.ChooseRequest(request_id="dave-2", round_id=opened.round_id, choice=pick)
        self.client("acme/play").spins.Choose(request, metadata=[("motherlode-force", "jackpot")])
        self.r6 = opened.round_id
        for number in range(min(ROUNDS // 4, 100)):
            self.over("acme/alice", "neptune", f"more-{number}", "loss")
        games = [game for game in STAKES if game != "dwarf-mine"]
        players = min(12 + ROUNDS // 100, 200)
        for number in range(ROUNDS - min(ROUNDS // 4, 100)):
            player = f"acme/p{number % players:02}"
            if number < players:
                self.fund(player, 100_000)
            self.over(player, games[number % len(games)], f"filler-{number}", "")
        self.currencies()
        self.out_of_band()

    def today(self):
        self.neighbour = self.over("acme/alice", "neptune", "alice-2", "win LINE, over")
        self.r2 = self.spin("acme/alice", "mystery-elves", "alice-open", "feature", buys=True).round_id
        self.client("acme/play").ledger.Withdraw(
            ledger_pb2.WithdrawRequest(request_id="withdrawal", account=account("acme/alice"), amount_minor=2_000)
        )
        correction = ledger_pb2.DepositRequest(request_id="correction-1", account=account("acme/alice"), amount_minor=100)
        self.client("acme/play").ledger.Deposit(correction)

    def currencies(self):
        anna, client = self.client("platform/anna"), self.client("acme/play")
        for currency, rate in {"SEK": "0.0875", "JPY": "0.0061"}.items():
            rate = ledger_pb2.SetExchangeRateRequest(request_id=f"rate-{currency}", currency_code=currency, eur_per_unit=rate, source="test")
            anna.ledger.SetExchangeRate(rate)
            of = account("acme/carol", currency)
            client.ledger.OpenAccount(ledger_pb2.OpenAccountRequest(request_id=f"open-{currency}", account=of))
            client.ledger.Deposit(ledger_pb2.DepositRequest(request_id=f"deposit-{currency}", account=of, amount_minor=100_000))
            told = client.spins.GetGame(spin_pb2.GetGameRequest(game="neptune", currency_code=currency))
            stake = round_pb2.Stake(coin_value=told.coin_values[0], lines=15, coins_per_line=1)
            request = spin_pb2.SpinRequest(request_id=f"carol-{currency}", account=of, game="neptune", stake=stake)
            client.spins.Spin(request, metadata=[("motherlode-force", "loss")])

    def out_of_band(self):
        """Task G1: forced wins, until a return is outside its band."""
        self.fund("acme/rich", 100_000)
        audit = self.client("platform/audit")
        for number in range(300):
            self.over("acme/rich", "dwarf-mine", f"rich-{number}", "free-spins, rows 7")
            if number % 10 == 9 and audit.reports.ListReturns(report_pb2.ListReturnsRequest(out_of_band_only=True)).returns:
                return
        raise AssertionError("no return is out of its band")

    def grant(self, name):
        coin_value, lines, coins = STAKES["neptune"]
        stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins)
        grant = campaign_pb2.GrantCampaignRequest(
            request_id="grant", account=account(name), campaign_id="spring-26", game="neptune", stake=stake, rounds=3
        )
        grant.expire_time.FromSeconds(int(time.time()) + 30 * 86_400)
        self.client("acme/play").spins.GrantCampaign(grant)

    def voids(self):
        for who, round_id, reason, ticket in [("sue", self.r3, "reel froze", "TCK-12"), ("sam", self.r4, "duplicate", "TCK-13")]:
            request = ledger_pb2.VoidRoundRequest(request_id=f"void-{ticket}", round_id=round_id, reason=reason, actor=ticket)
            self.client(f"acme/{who}").ledger.VoidRound(request)

    def sessions(self):
        limits = spin_pb2.SessionLimits(loss_max_minor=10)
        session = spin_pb2.OpenSessionRequest(request_id="session", account=account("acme/frank"), game="neptune", limits=limits)
        opened = self.client("acme/play").spins.OpenSession(session)
        self.b1 = self.refused(lambda: self.spin("acme/frank", "neptune", "req-9001", "", session_id=opened.session_id))

    def refused(self, call):
        try:
            call()
        except grpc.RpcError as error:
            return error
        raise AssertionError("it is not refused")

    def gina(self):
        for player in ["gina", "hugo", *[f"g{n}" for n in range(6)]]:
            self.fund(f"bravo/{player}", 0)
        opened = self.spin("bravo/hugo", "neptune", "hugo-1", "pick")
        self.over("bravo/gina", "neptune", "gina-1", "loss")
        self.b2 = self.refused(lambda: self.spin("bravo/gina", "neptune", "req-9002", "", coins=20))
        self.wallet.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.wallet.pid, os.WSTOPPED)
        self.w2 = self.refused(lambda: self.spin("bravo/gina", "neptune", "gina-2", ""))
        self.wallet.send_signal(signal.SIGCONT)
        request = ledger_pb2.GetRequestRequest(account=account("bravo/gina"), request_id="gina-2")
        deadline = time.monotonic() + 60
        while self.client("bravo/play").ledger.GetRequest(request).outcome.state != ledger_pb2.RequestOutcome.STATE_REFUSED:
            assert time.monotonic() < deadline
        self.wallet.kill()
        self.client("bravo/play").spins.SkipRound(spin_pb2.SkipRoundRequest(request_id="hugo-2", round_id=opened.round_id))
        for number in range(6):
            self.refused(lambda number=number: self.spin(f"bravo/g{number}", "neptune", f"g-{number}", ""))

    def switch_off(self):
        anna = self.client("platform/anna")
        switch = ledger_pb2.Switch(operator_id="acme", game="witch-feature", rules_version=self.version("witch-feature"))
        request = ledger_pb2.SetSwitchRequest(request_id="off", switch=switch, state=ledger_pb2.SetSwitchRequest.STATE_OFF, reason="wild reels stick")
        anna.ledger.SetSwitch(request)

    def pool(self):
        anna = self.client("platform/anna")
        anna.jackpot.SuspendPool(jackpot_pb2.SuspendPoolRequest(request_id="suspend", pool_id="bewitched", reason="meter check"))
        anna.jackpot.ResumePool(jackpot_pb2.ResumePoolRequest(request_id="resume", pool_id="bewitched"))

    def follower(self):
        """Task P1: a reader that stops reading, so that its copy of the log falls behind."""
        self.behind = self.client("platform/audit").ledger.FollowLog(ledger_pb2.FollowLogRequest())
        next(self.behind)

    def version(self, game):
        games = self.client("platform/anna").spins.ListGames(spin_pb2.ListGamesRequest()).games
        return max((of for of in games if of.game == game), key=lambda of: [int(part) for part in of.rules_version.split(".")]).rules_version


def cash(money):
    return f"{money.amount_minor / 100:,.2f} {money.currency_code}"
