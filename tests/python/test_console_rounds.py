import base64
import http.server
import re
import threading
from contextlib import contextmanager

import pytest
from browsing import CONSOLE, SHOTS, browser, enter, look, needs_chromium, patient
from conftest import SCRIPTED, STORE
from playwright.sync_api import Error, expect
from protected import Protected
from scripted import SCRIPTS, play

from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2

pytestmark = needs_chromium

WANTED = [("dwarf-mine", "free-spins"), ("dwarf-mine", "collection-red"), ("bewitched", "free-spins"), ("bewitched", "jackpot")]


@pytest.fixture(scope="module")
def featured(start_once):
    service = start_once(CONSOLE, SCRIPTED)
    client = service.client()
    rounds = {f"{game}-{name}": play(client, f"{game}-{name}", game, SCRIPTS[game][name]) for game, name in WANTED}
    client.close()
    return service.console, rounds


def test_pl_19_pages_around_rounds_fit_and_axe_finds_nothing(browser, featured):
    address, rounds = featured
    context = patient(browser)
    page = enter(context, address)
    paths = {
        "player": "player/acme/dwarf-mine-collection-red",
        "player-of-witches": "player/acme/bewitched-free-spins",
        "window": f"round/{rounds['dwarf-mine-free-spins']}?frame=3",
        "pool": "jackpots/bewitched?live=off",
    }
    for name, path in paths.items():
        assert page.goto(address + path).status == 200, name
        assert len(page.content()) <= 100_000, name
        look(page, f"around-{name}")
    context.close()


def test_pl_19_a_small_window_opens_without_javascript(browser, featured):
    address, rounds = featured
    context = patient(browser, java_script_enabled=False)
    page = enter(context, address)
    page.goto(f"{address}round/{rounds['dwarf-mine-free-spins']}")
    page.locator(".windows figure a").nth(4).click()
    page.wait_for_url(re.compile(r"frame=\d+$"))
    page.get_by_role("heading", name="Step 2").wait_for()
    assert "Free spin 5" in page.locator("figcaption").inner_text()
    context.close()


def test_pl_19_a_round_plays_and_is_stepped_through_without_javascript(browser, featured):
    address, rounds = featured
    context = patient(browser, java_script_enabled=False)
    page = enter(context, address)
    page.goto(f"{address}round/{rounds['dwarf-mine-free-spins']}")
    page.get_by_role("link", name="Step through it").click()
    first, last = map(int, re.search(r"Picture (\d+) of (\d+)", page.content()).groups())
    assert first == 1 and last >= 14
    for number in range(2, last + 1):
        page.get_by_role("link", name="Next").click()
        page.get_by_text(f"Picture {number} of {last}").wait_for()
        page.get_by_role("main").locator("h2").wait_for()
    assert page.get_by_role("link", name="Next").count() == 0
    page.get_by_role("link", name="All steps").click()
    page.get_by_role("heading", name="The bet").wait_for()
    page.get_by_role("link", name="Play it").click()
    page.wait_for_url(re.compile(r"frame=[1-9]\d*&play=on$"))
    page.get_by_role("link", name="Stop").click()
    page.wait_for_url(re.compile(r"frame=[1-9]\d*$"))
    page.get_by_role("link", name="Play", exact=True).wait_for()
    context.close()


def test_bw_14_figures_count_and_the_logs_end_goes_on_by_themselves(browser, start):
    service = start(CONSOLE)
    client = service.client()
    alice = client.fund("alice")
    context = patient(browser)
    page = enter(context, service.console)
    page.goto(f"{service.console}log")
    page.get_by_role("region", name="Records, the latest first").wait_for()
    client.fund("bob-who-came-later")
    page.get_by_text("bob-who-came-later").first.wait_for()
    page.goto(f"{service.console}jackpots/bewitched")
    pooled = page.locator("dt", has_text="Contributions").first.locator("+ dd")
    before = pooled.inner_text()
    stake = round_pb2.Stake(coin_value="0.10", lines=15, coins_per_line=1)
    bet = spin_pb2.SpinRequest(request_id="a", account=alice, game="bewitched", stake=stake, witch=round_pb2.WITCH_WHITE)
    client.spin(bet)
    expect(pooled).not_to_have_text(before, timeout=180_000)
    page.get_by_role("link", name="Pause live updates").click()
    assert page.locator("[hx-get]").count() == 0
    client.close()
    context.close()


def test_pl_23_a_simulation_is_started_and_watched_in_the_browser(browser, start):
    service = start(CONSOLE)
    context = patient(browser)
    page = enter(context, service.console)
    page.goto(f"{service.console}games")
    page.get_by_role("link", name="neptune").first.click()
    page.get_by_label("Rounds").select_option("100000")
    page.get_by_role("button", name="Simulate").click()
    page.get_by_text("each figure is within").wait_for()
    look(page, "simulation")
    page.goto(f"{service.console}trust")
    audit = page.get_by_role("button", name="Audit the log now")
    if STORE:
        page.get_by_text("The log is not in this process's data folder").wait_for()
        assert audit.count() == 0
    else:
        audit.click()
        page.get_by_text("every step was resolved again").wait_for()
    look(page, "audit")
    context.close()


ROLES = ["play", "wallet", "support", "audit", "admin"]


@pytest.fixture
def protected(start, tmp_path):
    protected = Protected(tmp_path, {f"acme/{role}": [role] for role in ROLES} | {"platform/all": ROLES})
    return start(protected.config + CONSOLE), protected.tokens


def test_pl_27_each_role_logs_in_and_sees_its_pages(browser, protected):
    service, tokens = protected
    pages = {"acme/play": 5, "acme/wallet": 6, "acme/support": 7, "acme/audit": 9, "acme/admin": 5, "platform/all": 7}
    for name, count in pages.items():
        context = patient(browser, ignore_https_errors=True)
        page = context.new_page()
        page.goto(service.console)
        page.get_by_label("Token").fill(tokens[name])
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Now").wait_for()
        links = page.get_by_role("navigation", name="Pages").get_by_role("link")
        assert links.count() == count, name
        for path in [link.get_attribute("href") for link in links.all()]:
            assert page.goto(service.console.rstrip("/") + path).status == 200, f"{path} as {name}"
        assert tokens[name] not in page.content()
        assert page.evaluate("document.cookie") == "", "scripts must not be able to read the session's cookie"
        (cookie,) = context.cookies()
        assert cookie["httpOnly"] and cookie["secure"] and cookie["sameSite"] == "Strict"
        with pytest.raises(Error):
            context.request.get(service.console.replace("https", "http"))
        page.get_by_role("button", name="Log out", exact=True).click()
        page.get_by_role("heading", name="Log in").wait_for()
        context.close()


@contextmanager
def another_site(content):

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()


def test_pl_27_a_page_of_another_site_frames_nothing_sends_nothing_and_reads_nothing(browser, start):
    service = start(CONSOLE)
    client = service.client()
    alice = client.fund("alice")
    bet = spin_pb2.SpinRequest(
        request_id="a",
        account=alice,
        game="neptune",
        stake=round_pb2.Stake(coin_value="0.01", lines=15, coins_per_line=1),
    )
    played = client.spin(bet)
    context = patient(browser)
    page = enter(context, service.console)
    void = f"{service.console}round/{played.round_id}/void"
    switch = f"{service.console}switches"
    form = f'<form method="post" action="{{}}"><input name="reason" value="stolen"><input name="request" value="x"><button>{{}}</button></form>'
    content = f'<iframe src="{service.console}trust"></iframe>' + form.format(void, "void") + form.format(switch, "switch")
    with another_site("<!DOCTYPE html>" + content) as site:
        page.goto(site)
        frame = page.frames[1]
        frame.wait_for_load_state()
        assert "Trust" not in frame.content() and "Switch off" not in frame.content(), "the page must not be shown in a frame"
        for button in ["void", "switch"]:
            page.goto(site)
            with page.expect_navigation():
                page.get_by_role("button", name=button).click()
            assert page.get_by_role("heading", level=1).inner_text() in ["Not allowed", "Log in"]
        page.goto(site)
        read = "url => fetch(url, {credentials: 'include'}).then(answer => answer.text(), error => String(error))"
        assert "Failed to fetch" in page.evaluate(read, f"{service.console}trust")
    assert client.round(played.round_id).state != round_pb2.ROUND_STATE_VOIDED
    for path in ["login?next=https://evil.example/", "login?next=//evil.example/", "login?next=/%5Cevil.example"]:
        page.goto(service.console + path)
        page.get_by_role("button", name="Open the console").click()
        assert page.url == service.console
    client.close()
    context.close()


def test_pl_19_pictures_for_the_readme(browser, featured):
    address, rounds = featured
    folder = SHOTS / "readme"
    folder.mkdir(parents=True, exist_ok=True)
    context = patient(browser, viewport={"width": 1040, "height": 720}, color_scheme="light")
    page = enter(context, address)
    # Playwright cannot write WebP, so the DevTools protocol takes the screenshot.
    devtools = context.new_cdp_session(page)
    for name, path in {"round": f"round/{rounds['bewitched-free-spins']}", "jackpot": "jackpots/bewitched?live=off"}.items():
        assert page.goto(address + path).status == 200
        if name == "round":
            page.get_by_role("heading", name="Step 1").evaluate("heading => heading.scrollIntoView()")
        for quality in [80, 65, 50, 35]:
            shot = devtools.send("Page.captureScreenshot", {"format": "webp", "quality": quality})
            picture = base64.b64decode(shot["data"])
            if len(picture) <= 60_000:
                break
        assert len(picture) <= 60_000, "small"
        (folder / f"{name}.webp").write_bytes(picture)
    context.close()
