import re
import subprocess

import grpc
import pytest
from browsing import ALL_SIZES, CONSOLE, SHOTS, SIZES, assert_accessible, browser, enter, look, needs_chromium, patient
from conftest import BINARY
from forged import PARTLY, PROVEN, REFUSED, forged, proven

from motherlode.ledger.v1 import ledger_pb2
from motherlode.round.v1 import round_pb2
from motherlode.spin.v1 import spin_pb2
from test_page import STAKES

pytestmark = needs_chromium


@pytest.fixture
def console(start):
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
    with pytest.raises(grpc.RpcError):
        client.spin(spin_pb2.SpinRequest(request_id="no-stake", account=alice, game="neptune"))
    client.close()
    return service.console, rounds


def test_pl_19_pages_fit_and_axe_finds_nothing(browser, console):
    address, rounds = console
    context = patient(browser)
    page = enter(context, address)
    blocked = []
    page.on("console", lambda message: blocked.append(message.text) if message.type == "error" else None)
    paths = ["", "find", "players", "runbook", "jackpots", "jackpots/bewitched", "reports", "reports/revenue", "trust", "log", "log/0/3"]
    game = "games/neptune/" + version(page, address)
    paths += ["games", game, game + "/par", game + "/reels", game + "/returns"]
    paths += [f"round/{name}" for name in rounds]
    operator, player, _ = rounds[0].split("/")
    paths += [f"player/{operator}/{player}", f"player/{operator}/{player}/statement", f"round/{rounds[0]}/check", f"open/{operator}"]
    paths += [f"rounds?operator={operator}", f"rounds?operator={operator}&sort=win", f"rounds?operator={operator}&state=void", "refusals"]
    paths += [f"players?operator={operator}&sort=net", f"open/{operator}?sort=bet"]
    paths += [f"players?operator={operator}", f"switches?operator={operator}&game=neptune"]
    for path in paths:
        assert page.goto(address + path + ("&" if "?" in path else "?") + "live=off").status == 200, path
        assert page.locator(".help:visible").count() == 0, path
        look(page, re.sub(r"[/?=&]", "-", path) or "now", ALL_SIZES)
    assert blocked == [], "the content security policy must not block resources of the pages"
    context.close()


def version(page, address):
    page.goto(address + "games")
    return re.search(r"games/neptune/([0-9.]+)", page.content()).group(1)


def test_pl_20_support_works_by_keyboard_and_without_javascript(browser, console):
    address, rounds = console
    context = patient(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Now").wait_for()
    page.keyboard.press("Tab")
    assert page.locator("a.skip:focus").count() == 1
    page.get_by_label("Find a round, a player or a position").fill(rounds[3])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=f"Round {rounds[3]}").wait_for()
    page.get_by_label("Reason").fill("<b>reel 3</b> stuck")
    page.keyboard.press("Enter")
    page.get_by_text("Voided by").wait_for()
    assert page.get_by_text("<b>reel 3</b> stuck").count() == 1
    page.goto(f"{address}round/{rounds[1]}/check")
    assert page.get_by_role("button", name="Check it here").is_disabled()
    assert "motherlode verify" in page.locator(".notice").inner_text()
    page.get_by_role("button", name="Log out", exact=True).click()
    page.goto(f"{address}round/{rounds[3]}")
    assert page.get_by_role("heading", level=1).inner_text() == "Log in"
    context.close()


def verdict(page):
    page.get_by_role("button", name="Check it here").click()
    page.locator("#verdict.good, #verdict.bad, #verdict.part").wait_for()
    return page.locator("#verdict").inner_text()


@pytest.mark.parametrize("width,scheme", SIZES)
def test_pl_28_a_proof_is_checked_in_the_browser(browser, console, width, scheme):
    address, rounds = console
    context = patient(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = enter(context, address)
    asked = []
    page.on("request", lambda request: None if request.url.endswith("/icon.svg") else asked.append(request.url))
    for name in rounds:
        page.goto(f"{address}round/{name}")
        page.get_by_role("link", name="Check it here").click()
        page.get_by_label("The proof").wait_for()
        page.locator("#check button:enabled").wait_for()
        del asked[:]
        assert verdict(page) == "All checks passed.", name
        assert asked == [], "the page must verify the proof without a request"
        told = page.locator("#results li").all_inner_texts()
        assert told[0].startswith("Signature: "), told
        assert any(line.startswith("Inclusion: ") for line in told), told
        seals = [line for line in told if line.startswith("Seal: ")]
        assert seals and all("matches the seal" in line for line in seals), told
    assert_accessible(page, "check")
    page.screenshot(path=SHOTS / f"check-{width}-{scheme}.png", full_page=True)
    context.close()


@pytest.fixture
def links(start):
    service = start(CONSOLE + 'check_url = "http://127.0.0.1"\n')
    client = service.client()
    alice = client.fund("alice")
    links = []
    for game in ("bewitched", "mystery-elves"):
        coin_value, lines, coins = STAKES[game]
        stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins, buy_feature=game == "mystery-elves")
        witch = round_pb2.WITCH_WHITE if game == "bewitched" else round_pb2.WITCH_UNSPECIFIED
        played = client.spin(spin_pb2.SpinRequest(request_id=game, account=alice, game=game, stake=stake, witch=witch))
        if played.state == round_pb2.ROUND_STATE_OPEN:
            client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id=f"skip-{game}", round_id=played.round_id))
        shown = client.ledger.GetRound(ledger_pb2.GetRoundRequest(round_id=played.round_id)).round
        links.append((shown.check_url.replace("http://127.0.0.1/", service.console), shown))
    client.close()
    return links


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pl_28_a_player_checks_a_round_by_its_link(browser, links, scheme):
    context = patient(browser, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    errors, sent = [], []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: sent.append((request.url, request.headers.get("referer") or None)))
    for number, (link, shown) in enumerate(links):
        assert page.goto(link).status == 200
        del sent[:]
        assert verdict(page) == "All checks passed."
        assert [request for request in sent if not request[0].endswith("/icon.svg")] == [(link.replace("?", "/proof?"), None)], "only the proof is loaded, and no address is sent along"
        told = page.locator("#results li").all_inner_texts()
        assert sum("matches the seal" in line for line in told) == len(shown.steps), told
        assert_accessible(page, link)
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"link-{number}-390-{scheme}.png", full_page=True)
    assert errors == [], "the content security policy must not block resources of the page"
    assert context.cookies() == []
    context.close()


def test_pl_28_a_link_works_without_javascript_and_on_the_command_line(browser, links, tmp_path):
    context = patient(browser, java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    for number, (link, shown) in enumerate(links):
        page.goto(link)
        text = page.locator("main").inner_text()
        for step in shown.steps:
            for value in (step.draw.seal, step.draw.dealt, step.draw.client_seed, step.seed):
                assert value.hex() in text
        assert page.get_by_role("button", name="Check it here").is_disabled()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download proof").click()
        file = tmp_path / f"{number}.tlog-proof"
        download.value.save_as(file)
        key = page.get_by_label("public key").input_value()
        assert f"motherlode verify round.tlog-proof --key '{key}'" in text
        done = subprocess.run([BINARY, "verify", file, "--key", key], capture_output=True, text=True)
        assert done.returncode == 0 and "Verdict: PROVEN" in done.stdout, done
    context.close()


def test_pl_28_a_proof_that_was_changed_is_refused_with_what_fails(browser, console):
    address, rounds = console
    context = patient(browser)
    page = enter(context, address)
    shown = {}
    for name in rounds:
        page.goto(f"{address}round/{name}/check")
        shown[name] = page.get_by_label("The proof").input_value()
    several = max(rounds[1:], key=lambda name: len(proven(shown[name]).records))
    page.goto(f"{address}round/{several}/check")
    key, proof, other = page.get_by_label("public key").input_value(), shown[several], shown[rounds[0]]

    def told(proof, key=key):
        page.get_by_label("public key").fill(key)
        page.get_by_label("The proof").fill(proof)
        return verdict(page)

    starts = {PROVEN: "All checks passed.", PARTLY: "All checks passed, but ", REFUSED: "Not proven: "}
    for name, shown, by, said in forged(proof, other, key):
        found = told(shown, by)
        assert found.startswith(starts[said]), f"{name}: {found}"
        assert "the proof is malformed" not in found or name in {"no base64", "cut off", "an extra that is cut off"}, name
    assert "belongs to another round" in told(other)
    assert "the key is malformed" in told(proof, "nobody")
    assert "the key has the wrong id" in told(proof, re.sub(r"\+[0-9a-f]{8}\+", "+00000000+", key))
    for name, what in {
        "another round called this one": "there is no bet of round",
        "a false signature": "the signature is invalid",
        "another path": "is not in the log",
        "a dealt value is another": "does not match its seal",
    }.items():
        shown, by = next((shown, by) for of, shown, by, _ in forged(proof, other, key) if of == name)
        assert what in told(shown, by), name
    context.close()
