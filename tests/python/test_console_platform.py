import subprocess

import pytest
from browsing import CONSOLE, browser, enter, look, needs_chromium, patient
from client import Client, account
from conftest import BINARY, SCRIPTED, STORE, Service
from protected import Protected
from scripted import LEAVE, Script, kinds_of, play
from test_page import cash

from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2

pytestmark = needs_chromium
of_files = pytest.mark.skipif(bool(STORE), reason="the old log is made in files")

HITS = Script("BW-16", "pick", (("pick", "jackpot"),), coins=10)


def void(client, round_id):
    request = ledger_pb2.VoidRoundRequest(request_id="void", round_id=round_id, reason="reel 3 stuck", actor="ann")
    client.ledger.VoidRound(request)


@pytest.fixture(scope="module")
def played(start_once):
    service = start_once(CONSOLE, SCRIPTED)
    client = service.client()
    rounds = {
        "voided": play(client, "voided", "neptune", Script("PL-04", "win LINE, over")),
        "voided-open": play(client, "voided-open", "neptune", Script("PL-04", "pick", end=LEAVE)),
        "free-round": play(client, "free-round", "neptune", Script("PL-18", "win LINE, over", campaign=True)),
        "play-money": of_a_session(client, account("play-money", "XTS"), spin_pb2.PLAY_MODE_DEMO),
        "paid": play(client, "paid", "bewitched", HITS),
        "of-a-session": of_a_session(client, client.fund("of-a-session"), spin_pb2.PLAY_MODE_REAL),
    }
    for name in ["voided", "voided-open"]:
        void(client, rounds[name])
    yield service, {name: client.round(round_id) for name, round_id in rounds.items()}
    client.close()


def of_a_session(client, player, mode):
    opened = client.spins.OpenSession(
        spin_pb2.OpenSessionRequest(request_id="session", account=player, game="neptune", jurisdiction="uk", mode=mode)
    )
    stake = round_pb2.Stake(coin_value="0.01", lines=15, coins_per_line=1)
    request = spin_pb2.SpinRequest(request_id="a", account=player, game="neptune", stake=stake, session_id=opened.session_id)
    return client.spin(request, metadata=[("motherlode-force", "loss")]).round_id


def test_pl_04_pl_18_rounds_that_the_platform_touched_say_all_of_it(browser, played):
    service, rounds = played
    context = patient(browser)
    page = enter(context, service.console)
    says = {
        "voided": ["State\nvoid", "Voided by", "reel 3 stuck", "Refunded", "Win taken back"],
        "voided-open": ["State\nvoid", "reel 3 stuck", "Refunded"],
        "free-round": ["Free round of campaign\nwelcome", "promotion/acme"],
        "play-money": ["XTS"],
        "paid": ["jackpot-payable/bewitched", "exchange", "pool bewitched, hit at log position", "contributions-due/bewitched"],
        "of-a-session": ["Session", "Jurisdiction\nuk"],
    }
    assert set(says) == set(rounds)
    for name, round in rounds.items():
        assert page.goto(f"{service.console}round/{round.round_id}").status == 200, name
        text = page.get_by_role("main").inner_text()
        for words in [*says[name], cash(round.bet), cash(round.balance_before), cash(round.balance_after), "Postings"]:
            assert words in text, f"{name} says {words}"
        look(page, f"platform-{name}")
    void = rounds["voided"].void
    page.goto(f"{service.console}round/{rounds['voided'].round_id}")
    assert cash(void.refund) in page.content() and cash(void.win_taken_back) in page.content()
    context.close()


def test_pl_24_pools_reports_and_players_of_these_rounds_are_shown(browser, played):
    service, rounds = played
    context = patient(browser)
    page = enter(context, service.console)
    won = rounds["paid"].jackpots[0]
    pages = {
        "jackpots/bewitched": [cash(won.amount), "Booked as paid", rounds["paid"].round_id],
        "reports/reconciliation": ["bewitched", "Difference", "0.00 EUR"],
        "player/acme/free-round": ["welcome", "2 of 3"],
        "player/acme/voided": ["voided"],
        "log": ["round settled"],
        "": ["Alerts"],
    }
    for path, says in pages.items():
        assert page.goto(f"{service.console}{path}?live=off").status == 200, path
        text = page.get_by_role("main").inner_text()
        for words in says:
            assert words in text, f"{path} says {words}"
        look(page, "platform-page-" + (path.replace("/", "-") or "now"))
    for form in ["csv", "jsonl", "parquet"]:
        with page.expect_download() as download:
            page.goto(f"{service.console}reports/reconciliation")
            page.get_by_role("link", name={"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet"}[form]).click()
        assert download.value.suggested_filename == f"reconciliation.{form}"
    context.close()


def test_bw_16_an_award_that_is_pending_and_then_paid_says_so(browser, tmp_path):
    started = []

    def process(name, config):
        started.append(Service(tmp_path / name / "data", config, SCRIPTED))
        return started[-1]

    (tmp_path / "ledger").mkdir()
    ledger = process("ledger", 'role = "ledger"\n')
    at_ledger = f'[ledger]\ntargets = ["http://{ledger.address}"]\n'
    for name in ["spin", "console", "jackpot"]:
        (tmp_path / name).mkdir()
    spin = process("spin", 'role = "spin"\n[limits]\naward_wait_ms_max = 0\n' + at_ledger)
    pages = process("console", f'role = "console"\n{CONSOLE}spin = "http://{spin.address}"\njackpot = "http://{spin.address}"\n{at_ledger}')
    client = Client(ledger.address)
    client.spins = Client(spin.address).spins
    try:
        round_id = play(client, "pending", "bewitched", HITS)
        round = client.round(round_id)
        assert round.jackpots[0].state == round_pb2.JackpotWin.STATE_PENDING
        context = patient(browser)
        page = enter(context, pages.console)
        page.goto(f"{pages.console}round/{round_id}")
        assert "the award is pending, pool bewitched" in page.get_by_role("main").inner_text()
        look(page, "platform-pending")
        process("jackpot", 'role = "jackpot"\n' + at_ledger)
        while client.round(round_id).jackpots[0].state != round_pb2.JackpotWin.STATE_PAID:
            pass
        page.reload()
        assert cash(client.round(round_id).jackpots[0].amount) in page.get_by_role("main").inner_text()
        context.close()
    finally:
        for one in reversed(started):
            one.end()


def set_aside(start, client_of, config):
    service = start(config + CONSOLE, SCRIPTED)
    client = client_of(service)
    round_id = play(client, "full", "bewitched", Script("BW-16", "pick", coins=10, end=LEAVE))
    opened = client.round(round_id)
    due = sum(step.win.amount_minor for step in opened.steps)
    room = 2**63 - 1 - opened.balance_after.amount_minor - due
    client.close()
    service.terminate()
    deposit = BINARY.with_name("deposit-of-old")
    subprocess.run([deposit, service.place, "acme", "full", str(room)], check=True, timeout=60)
    service = start(config + CONSOLE, SCRIPTED)
    client = client_of(service)
    pick = round_pb2.Choice(pick=round_pb2.Choice.Pick(numbers=[6, 2, 4]))
    client.choose("hit", round_id, pick, metadata=[("motherlode-force", "jackpot")])
    while client.round(round_id).jackpots[0].state != round_pb2.JackpotWin.STATE_SET_ASIDE:
        pass
    return service, client, round_id


@of_files
def test_uf_01_an_award_that_is_set_aside_says_so(browser, start):
    service, client, round_id = set_aside(start, Service.client, "")
    context = patient(browser)
    page = enter(context, service.console)
    assert "award set aside" in page.get_by_role("main").inner_text().lower(), "the message must have the role alert"
    page.goto(f"{service.console}round/{round_id}")
    assert "set aside until it fits below the account's maximum balance" in page.get_by_role("main").inner_text()
    look(page, "platform-set-aside")
    context.close()
    client.close()


@of_files
def test_pl_38_an_award_that_is_held_and_then_not_paid_says_so(browser, start, tmp_path):
    protected = Protected(tmp_path, {"acme/all": ["play", "wallet", "support"], "platform/ann": ["admin"]})
    service, client, round_id = set_aside(start, lambda service: protected.client(service.address, "acme/all"), protected.config)
    bet = client.round(round_id).bet.amount_minor
    client.ledger.Withdraw(ledger_pb2.WithdrawRequest(request_id="room", account=account("full"), amount_minor=bet))
    context = patient(browser, ignore_https_errors=True)
    page = context.new_page()
    page.goto(service.console)
    page.get_by_label("Token").fill(protected.tokens["acme/all"])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Now").wait_for()

    request = ledger_pb2.VoidRoundRequest(request_id="void", round_id=round_id, reason="reel 3 stuck")
    change = client.ledger.VoidRound(request).change_id
    assert client.round(round_id).jackpots[0].state == round_pb2.JackpotWin.STATE_HELD
    page.goto(f"{service.console}round/{round_id}")
    assert "held until the platform decides whether to void the round" in page.get_by_role("main").inner_text()
    look(page, "platform-held")

    platform = protected.client(service.address, "platform/ann")
    platform.ledger.ApproveChange(ledger_pb2.ApproveChangeRequest(request_id="approve", change_id=change))
    assert client.round(round_id).jackpots[0].state == round_pb2.JackpotWin.STATE_VOIDED
    page.reload()
    assert "not paid because the round is void" in page.get_by_role("main").inner_text()
    look(page, "platform-award-voided")
    context.close()
    client.close()
    platform.close()


def test_pl_19_the_platforms_kinds_have_their_rounds():
    assert kinds_of("platform") == {
        "state VOIDED",
        "jackpot SET_ASIDE",
        "jackpot PENDING",
        "jackpot HELD",
        "jackpot VOIDED",
    }
