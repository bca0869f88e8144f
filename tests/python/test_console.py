"""The console in a real browser: without JavaScript, by keyboard, on a telephone and on a desk, by day and by night (WCAG by axe).

Debian's chromium; without one these tests are skipped, and say so.
"""

import base64
import hashlib
import os
import re
import shutil

import pytest
from conftest import ROOT, SCRIPTED
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playwright.sync_api import sync_playwright

from motherlode.log.v1 import log_pb2
from motherlode.proof.v1 import proof_pb2
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


def patient(browser, **options):
    """A context of a browser that shares its machine with other tests: nothing is too slow for it."""
    context = browser.new_context(**options)
    context.set_default_timeout(180_000)
    return context


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
    context = patient(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
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


# What each game has besides a spin that is over at once, as the scripted dealer knows it.
FEATURES = {
    "bewitched": ["pick", "free-spins", "double"],
    "dwarf-mine": ["free-spins"],
    "mystery-elves": ["feature", "double"],
    "neptune": ["pick", "free-spins"],
    "witch-feature": ["free-spins"],
}


@pytest.fixture
def featured(start):
    """A service with a finished round of each feature of each game; gives the console's address and the rounds' names."""
    service = start(CONSOLE, SCRIPTED)
    client = service.client()
    alice = client.fund("alice")
    rounds = {}
    for game, (coin_value, lines, coins) in STAKES.items():
        for wish in FEATURES[game]:
            name = f"{game}-{wish}"
            stake = round_pb2.Stake(coin_value=coin_value, lines=lines, coins_per_line=coins)
            witch = round_pb2.WITCH_WHITE if game == "bewitched" else round_pb2.WITCH_UNSPECIFIED
            bet = spin_pb2.SpinRequest(
                request_id=name, account=alice, game=game, stake=stake, witch=witch, offer_double=wish == "double"
            )
            played = client.spin(bet, metadata=[("motherlode-force", wish)])
            assert played.state == round_pb2.ROUND_STATE_OPEN, name
            if wish == "double":
                red = round_pb2.Choice(double=round_pb2.CARD_RED_HEART)
                played = client.choose(f"{name}.1", played.round_id, red, metadata=[("motherlode-force", "right")])
                assert played.outcome.card.won, name
            if played.state == round_pb2.ROUND_STATE_OPEN:
                client.spins.SkipRound(spin_pb2.SkipRoundRequest(request_id=f"skip-{name}", round_id=played.round_id))
            rounds[name] = played.round_id
    client.close()
    return service.console, rounds


@pytest.mark.parametrize("width,scheme", SIZES[1:3])
def test_pl_19_rounds_with_each_feature_fit_and_axe_finds_nothing(browser, featured, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    address, rounds = featured
    context = patient(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = enter(context, address)
    SHOTS.mkdir(parents=True, exist_ok=True)
    paths = {name: f"round/{round_id}" for name, round_id in rounds.items()}
    paths |= {"player": "player/acme/alice", "window": paths["dwarf-mine-free-spins"] + "?frame=3"}
    for name, path in paths.items():
        assert page.goto(address + path).status == 200, name
        page.screenshot(path=SHOTS / f"feature-{name}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
        assert len(page.content()) <= 100_000, name
        violations = Axe().run(page).response["violations"]
        assert [(found["id"], found["nodes"][0]["html"]) for found in violations] == [], name
    context.close()


def test_pl_19_a_round_plays_and_is_stepped_through_without_javascript(browser, featured):
    address, rounds = featured
    context = patient(browser, java_script_enabled=False)
    page = enter(context, address)
    page.goto(f"{address}round/{rounds['dwarf-mine-free-spins']}")
    page.get_by_role("link", name="Step through it").click()
    first, last = map(int, re.search(r"Picture (\d+) of (\d+)", page.content()).groups())
    # The bet, its spin, ten free spins at the least, those once more beside each other, the end.
    assert first == 1 and last >= 14
    for number in range(2, last + 1):
        page.get_by_role("link", name="Next").click()
        page.get_by_text(f"Picture {number} of {last}").wait_for()
        page.get_by_role("main").locator("h2").wait_for()
    assert page.get_by_role("link", name="Next").count() == 0
    page.get_by_role("link", name="All at once").click()
    page.get_by_role("heading", name="The bet").wait_for()
    page.get_by_role("link", name="Play it").click()
    # Whichever picture it has come to when somebody looks.
    page.wait_for_url(re.compile(r"frame=[1-9]\d*&play=on$"))
    page.get_by_role("link", name="Stop").click()
    page.wait_for_url(re.compile(r"frame=[1-9]\d*$"))
    page.get_by_role("link", name="Play").wait_for()
    context.close()


def version(page, address):
    """The newest version of a game, from the list of games."""
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
    # What needs a script says so, and where to go.
    page.goto(f"{address}round/{rounds[1]}/check")
    assert page.get_by_role("button", name="Check it here").is_disabled()
    assert "motherlode verify" in page.locator(".notice").inner_text()
    page.get_by_role("button", name="Log out").click()
    page.goto(f"{address}round/{rounds[3]}")
    assert page.get_by_role("heading", level=1).inner_text() == "Log in"
    context.close()



def verdict(page):
    """Has the page check the proof that it shows; gives what it says of it."""
    page.get_by_role("button", name="Check it here").click()
    page.locator("#verdict.good, #verdict.bad, #verdict.part").wait_for()
    return page.locator("#verdict").inner_text()


@pytest.mark.parametrize("width,scheme", SIZES)
def test_pl_28_a_proof_is_checked_in_the_browser(browser, console, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    address, rounds = console
    context = patient(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = enter(context, address)
    asked = []
    # A browser gets a page's icon by itself, whenever it comes to it: that is not the script's doing.
    page.on("request", lambda request: None if request.url.endswith("/icon.svg") else asked.append(request.url))
    for name in rounds:
        page.goto(f"{address}round/{name}")
        page.get_by_role("link", name="Check it here").click()
        page.get_by_label("The proof").wait_for()
        # The script is here when it has enabled its button.
        page.locator("#check button:enabled").wait_for()
        del asked[:]
        assert verdict(page) == "All of it holds.", name
        assert asked == [], "the browser does it by itself"
        told = page.locator("#results li").all_inner_texts()
        assert told[0].startswith("Signature: "), told
        assert any(line.startswith("Inclusion: ") for line in told), told
        seals = [line for line in told if line.startswith("Seal: ")]
        assert seals and all("dealt as it had been sealed" in line for line in seals), told
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], found["nodes"][0]["html"]) for found in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.screenshot(path=SHOTS / f"check-{width}-{scheme}.png", full_page=True)
    context.close()


def test_pl_28_a_proof_that_was_changed_is_refused_with_what_fails(browser, console):
    address, rounds = console
    context = patient(browser)
    page = enter(context, address)
    page.goto(f"{address}round/{rounds[1]}/check")
    other = page.get_by_label("The proof").input_value()
    page.goto(f"{address}round/{rounds[0]}/check")
    key, proof = page.get_by_label("public key").input_value(), page.get_by_label("The proof").input_value()
    head, note = proof.split("\n\n", 1)
    lines, records = head.split("\n"), proven(proof)
    path = base64.b64encode(bytes(32)).decode()

    def told(proof, key=key):
        page.get_by_label("public key").fill(key)
        page.get_by_label("The proof").fill(proof)
        return verdict(page)

    assert told(proof) == "All of it holds."
    signature = base64.b64decode(note.rstrip("\n").rpartition(" ")[2])
    forged = base64.b64encode(signature[:-1] + bytes([signature[-1] ^ 1])).decode()
    size = re.search(r"\n(\d+)\n", note)[1]
    assert "the signature is false" in told(head + "\n\n" + note.replace(note.rstrip("\n").rpartition(" ")[2], forged))
    assert "the signature is false" in told(head + "\n\n" + note.replace(f"\n{size}\n", f"\n{int(size) + 1}\n"))
    assert "is not in the log" in told("\n".join([*lines[:3], path, *lines[4:]]) + "\n\n" + note)
    changed = proven(proof)
    changed.records[0].record = changed.records[0].record[:-1] + bytes([changed.records[0].record[-1] ^ 1])
    assert "is not in the log" in told(with_records(lines, changed) + "\n\n" + note)
    assert "of another round" in told(other)
    # Whatever a proof calls itself, it's of the round that its records tell: no key is needed to call it otherwise.
    renamed = proven(other)
    renamed.round_id = rounds[0]
    number = rounds[0].rpartition("/")[2]
    otherwise = with_records(other.partition("\n\n")[0].split("\n"), renamed) + "\n\n" + other.partition("\n\n")[2]
    assert f"there is no bet of round {number}" in told(otherwise)
    # Without the records that sealed, as `motherlode proof --without-seals` has it.
    short = proven(proof)
    del short.sealing[:]
    assert told(with_records(lines, short) + "\n\n" + note).startswith("What is there holds. Not shown: ")
    assert "is not a proof" in told("nothing")
    assert "something in it" in told(proof.replace("extra ", "extra *"))
    assert "the key's id is not its own" in told(proof, re.sub(r"\+[0-9a-f]{8}\+", "+00000000+", key))
    assert "the key is none" in told(proof, "nobody")
    # A log whose signer says otherwise than what was sealed: all is signed and included, and yet it's told.
    resigned, own = log_of(key, records)
    assert told(resigned, own) == "All of it holds."
    last = records.records[-1]
    (dealt,) = {bytes(value) for event in log_pb2.Commit.FromString(last.record).events for value in event.draws_revealed.dealt}
    last.record = last.record.replace(dealt, bytes([dealt[0] ^ 1]) + dealt[1:])
    resigned, own = log_of(key, records)
    assert "was not dealt as it was sealed" in told(resigned, own)
    context.close()


def proven(proof):
    """What the extra part of a round's proof has."""
    extra = proof.partition("\nextra ")[2].partition("\n")[0]
    return proof_pb2.RoundRecords.FromString(base64.b64decode(extra))


def with_records(lines, records):
    """The head of a proof, with other records."""
    return "\n".join([lines[0], "extra " + base64.b64encode(records.SerializeToString()).decode(), *lines[2:]])


def log_of(vkey, records):
    """A proof of these records in a log of their own, signed by a new key of the same name; with that key."""
    name = vkey.partition("+")[0]
    signer = Ed25519PrivateKey.generate()
    public = b"\x01" + signer.public_key().public_bytes_raw()
    key_id = hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
    size = records.records[-1].position
    leaves = [hashlib.sha256(b"\0" + bytes(32)).digest()] * size
    for record in [*records.sealing, *records.records]:
        leaves[record.position - 1] = hashlib.sha256(b"\0" + hashlib.sha256(record.record).digest()).digest()
    for record in [*records.sealing, *records.records]:
        del record.path[:]
        record.path.extend(path(leaves, record.position - 1))
    head = ["c2sp.org/tlog-proof@v1", "", f"index {size - 1}"]
    head += [base64.b64encode(step).decode() for step in path(leaves, size - 1)]
    del records.records[-1].path[:]
    text = f"{name}\n{size}\n{base64.b64encode(root(leaves)).decode()}\n"
    signature = base64.b64encode(key_id + signer.sign(text.encode())).decode()
    proof = f"{with_records(head, records)}\n\n{text}\n\u2014 {name} {signature}\n"
    return proof, f"{name}+{key_id.hex()}+{base64.b64encode(public).decode()}"


def split(leaves):
    """The leaves of both halves of a tree (RFC 6962, section 2.1)."""
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return leaves[:left], leaves[left:]


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    left, right = split(leaves)
    return hashlib.sha256(b"\1" + root(left) + root(right)).digest()


def path(leaves, index):
    if len(leaves) == 1:
        return []
    left, right = split(leaves)
    if index < len(left):
        return [*path(left, index), root(right)]
    return [*path(right, index - len(left)), root(left)]
