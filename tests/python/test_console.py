"""The console in a real browser: without JavaScript, by keyboard, on a telephone and on a desk, by day and by night (WCAG by axe).

Debian's chromium; without one these tests are skipped, and say so.
"""

import os
import re
import shutil

import pytest
from conftest import ROOT
from playwright.sync_api import sync_playwright

from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2
from test_page import STAKES

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
SHOTS = ROOT / "target" / "console"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")

CONSOLE = '[console]\nlisten = "127.0.0.1:0"\n'
SIZES = [(360, "light"), (360, "dark"), (1440, "light"), (1440, "dark")]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        # Root has no sandbox.
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def console(start):
    """A service with a round of each game; gives the console's address and the rounds' names."""
    service = start(CONSOLE)
    client = service.client()
    alice = client.fund("alice")
    rounds = []
    for game, (coin_value, lines, coins) in STAKES.items():
        stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins)
        witch = round_pb2.WITCH_WHITE if game == "bewitched" else round_pb2.WITCH_UNSPECIFIED
        stake.buy_feature = game == "mystery-elves"
        played = client.spin(spin_pb2.SpinRequest(request_id=game, account=alice, game=game, stake=stake, witch=witch))
        if played.state == round_pb2.ROUND_STATE_OPEN:
            client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id=f"skip-{game}", round_id=played.round_id))
        rounds.append(played.round_id)
    client.close()
    return service.console, rounds


def enter(context, address):
    """Opens the console as a person would."""
    page = context.new_page()
    page.goto(address)
    page.get_by_role("button", name="Open the console").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Now"
    return page


@pytest.mark.parametrize("width,scheme", SIZES)
def test_pl_19_pages_fit_and_axe_finds_nothing(browser, console, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    address, rounds = console
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = enter(context, address)
    blocked = []
    page.on("console", lambda message: blocked.append(message.text) if message.type == "error" else None)
    paths = ["", "find", "jackpots", "jackpots/bewitched", "reports", "reports/revenue", "trust", "log", "log/0/3"]
    paths += [f"round/{name}" for name in rounds]
    paths += [f"player/{rounds[0].rpartition('/')[0]}", "games/neptune/" + version(page, address)]
    for path in paths:
        assert page.goto(address + path).status == 200, path
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        violations = Axe().run(page).response["violations"]
        assert [(found["id"], found["nodes"][0]["html"]) for found in violations] == [], path
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{path.replace('/', '-') or 'now'}-{width}-{scheme}.png", full_page=True)
    assert blocked == [], "the policy blocks nothing that the pages need"
    context.close()


def version(page, address):
    """The newest version of a game, from the list of games."""
    page.goto(address + "games")
    return re.search(r"games/neptune/([0-9.]+)", page.content()).group(1)


def test_pl_20_support_works_by_keyboard_and_without_javascript(browser, console):
    address, rounds = console
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Now").wait_for()
    # The first key leads past the navigation, to the content.
    page.keyboard.press("Tab")
    assert page.locator("a.skip:focus").count() == 1
    page.get_by_label("Find a round, a player or a position").fill(rounds[3])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=f"Round {rounds[3]}").wait_for()
    page.get_by_label("Reason").fill("<b>reel 3</b> stuck")
    page.keyboard.press("Enter")
    page.get_by_text("Voided by").wait_for()
    assert page.get_by_text("<b>reel 3</b> stuck").count() == 1
    page.get_by_role("button", name="Log out").click()
    page.goto(f"{address}round/{rounds[3]}")
    assert page.get_by_role("heading", level=1).inner_text() == "Log in"
    context.close()
